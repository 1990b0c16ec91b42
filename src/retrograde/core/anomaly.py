"""Anomalies: where the first NaN or infinity came from."""

import sys

from ..errors import AnomalyError
from .value import Value

_PACKAGE = __name__.partition(".")[0]
_HINT = ("; if rg.where selects another branch here, use where inside as well, so that the branch not taken stays "
         "finite: where(m, f(where(m, x, 1)), 0)")


def call_site():
    """The innermost line outside this package that led here, as `file:line in function`."""
    return told_place(*call_place())


def call_place():
    """(code, line) of that line; costs less than its text."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return (None, 0) if frame is None else (frame.f_code, frame.f_lineno)


def told_place(code, line):
    """The text of a place."""
    return "an unknown place" if code is None else f"{code.co_filename}:{line} in {code.co_name}"


def check_forward(op, operands, data):
    """Raise an AnomalyError if `op` made the first NaN or infinity of `data`."""
    for result in data if op.is_multiple else (data,):
        index = op.algebra.find_anomaly(result)
        if index is not None and any(_is_anomalous(x) for x in operands):
            index = op.algebra.find_nan(result)  # from an infinity, which may be meant, to a NaN is a step of its own
            if any(_has_nan(x) for x in operands):
                continue
        if index is None:
            continue
        inputs = "; ".join(f"input {i} {_shown(x, index)}" for i, x in enumerate(operands) if x is not None)
        error = AnomalyError(f"{op.name} made {_element(result, index)} at index {index}, called from {call_site()}: {inputs}")
        error.names_op = True  # so that the dispatch does not name it again
        raise error


def check_backward(record, position, cotangent):
    """Raise an AnomalyError if the rule of `record` made a NaN or infinity: it is the first, since all are checked."""
    algebra = record.parents[position].algebra
    data = cotangent.raw if isinstance(cotangent, Value) else cotangent
    index = algebra.find_anomaly(data)
    if index is None:
        return
    site = getattr(record, "site", "a forward pass outside detect_anomaly; wrap that too to see the line")
    inputs = [a for rule in (record.saved or ()) for a in (rule or ()) if hasattr(a, "shape")]
    seen = "; ".join(f"the rule read {_shown(a, index)}" for a in inputs)
    raise AnomalyError(f"the gradient of {record.op.name} in input {position} has {_element(data, index)} at index {index}; "
                       f"the op was called from {site}; {seen}{_HINT}")


def _is_anomalous(x):
    return isinstance(x, Value) and x.algebra.find_anomaly(x.raw) is not None


def _has_nan(x):
    return isinstance(x, Value) and x.algebra.find_nan(x.raw) is not None


def _element(data, index):
    return str(data[index]) if index else str(data)


def _shown(x, index):
    data = x.raw if isinstance(x, Value) else x
    shape = getattr(data, "shape", ())
    if not shape:
        return f"is {data}"
    if len(index) >= len(shape) and shape == shape:
        place = tuple(0 if n == 1 else i for i, n in zip(index[len(index) - len(shape):], shape, strict=True))
        if all(i < n for i, n in zip(place, shape, strict=True)):
            return f"is {data[place]} at index {place}"
    return f"has shape {tuple(shape)}"
