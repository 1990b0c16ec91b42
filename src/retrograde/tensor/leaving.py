"""Leaving the graph: what becomes of a value that something turns into plain numbers, which have no gradient."""

import sys
import warnings
from importlib import import_module
from typing import Any

import numpy as np

from ..core.callers import function_called, outside_libraries
from ..core.leaving import DIFFERENTIATED, argument_behind
from ..core.mode import is_lazy, is_recording, is_tracing
from ..errors import LeavesGraphWarning, LostGradientError, TraceError
from .boxes import MANY, boxed

_PACKAGE = __name__.partition(".")[0]
_LAZY = f"{__package__}.lazy"
#: What is nobody's own program: what such code calls is called for the sake of whoever called it.
_LIBRARIES = frozenset(["numpy", "scipy", "pandas", "xarray", "matplotlib", "seaborn", "plotly", "sklearn", "statsmodels", "numba",
                        "dask"])
#: Modules that show values, or compare them: nothing is computed with what they read.
_SHOWING = ("matplotlib", "seaborn", "plotly", "numpy.testing", "logging", "string", "pprint", "reprlib", "unittest", "IPython",
            "tqdm")
#: What SciPy's sparse matrices do with operands that they do not know: they leave the operation to them.
_DEFERRING = frozenset(["__matmul__", "__mul__", "__rmul__", "__truediv__"])
_LEAVES = ("a tensor that requires gradients is turned into an array, which has none; compute with the tensor itself, or say "
           "x.detach() if it is meant")
#: BINARY_OP and its arguments for `%`, by which Python formats a string.
_REMAINDERS = (6, 19)


def as_objects(x, dtype):
    """An array of values for `__array__` of `x`, where a gradient would be lost with its numbers; None where these will do."""
    frame = _reader()
    module = frame.f_globals.get("__name__", "")
    if module.startswith("scipy.sparse.") and _is_deferring(frame):
        return _whole(x)
    if module.partition(".")[0] == _PACKAGE:
        return None
    if x.is_traced:
        return _as_objects_in_trace(x, dtype)
    if not _has_history(x) or _is_shown(frame):
        return None
    if dtype is not None and np.dtype(dtype).kind in "biu":  # as x.astype(dtype), which has no gradient either
        return None
    number = argument_behind(x.record)
    if number is None:
        _warn()
        return None
    caller = _user()
    if dtype not in (None, object) or not _may_be_boxed(caller):
        raise _lost(x, number, caller)
    if x.size > MANY:
        raise _lost(x, number, caller, f"it has more than {MANY:,} elements, too many to be taken one by one; ")
    return boxed(x)


def check_number(x):
    """Raise a LostGradientError if a gradient is lost with the numbers of `x`, which are about to be read."""
    if not DIFFERENTIATED or x.is_traced or not _has_history(x):
        return
    frame = _reader()
    if frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE or _is_formatting(frame) or _is_shown(frame):
        return
    number = argument_behind(x.record)
    if number is not None:
        raise _lost(x, number, _user())


def _reader():
    """The frame that reads a tensor, by one of its methods."""
    frame: Any = sys._getframe(3)
    while frame.f_globals.get("__name__") == _LAZY:  # which computes a lazy tensor before it is read
        frame = frame.f_back
    return frame


def _is_deferring(frame):
    """Whether a sparse matrix asks for an operator whether it knows the operand: it leaves it to one of a single object."""
    if frame.f_globals["__name__"].startswith("scipy.sparse.linalg."):
        return False
    while frame is not None and frame.f_globals.get("__name__", "").startswith("scipy.sparse."):
        if frame.f_code.co_name in _DEFERRING:
            return True
        frame = frame.f_back
    return False


def check_copied(x):
    """Raise a LostGradientError if a gradient is lost with a copy of the numbers of `x`, such as `rg.tensor` makes."""
    if is_differentiated(x):
        raise _lost(x, argument_behind(x.record), _user(), "use rg.asarray(x), x.clone(), or rg.stack(values), which keep it; ")


def check_left(x):
    """As `np.asarray(x)` by the user: raise a LostGradientError, or warn, if a gradient is lost with the numbers of `x`."""
    if not _has_history(x):
        return
    number = argument_behind(x.record)
    if number is not None:
        raise _lost(x, number, _user())
    _warn()


def _has_history(x):
    """Whether numbers of `x` lose a history that is kept now."""
    return x.record is not None and not x.record.lends_data and is_recording()


def _warn():
    """Warn at the user's line that a tensor becomes an array."""
    warnings.warn(_LEAVES, LeavesGraphWarning, stacklevel=_user().level - 1)


def is_differentiated(x):
    """Whether a transform differentiates in what `x` is made of, or in `x`."""
    return bool(DIFFERENTIATED) and x.record is not None and is_recording() and argument_behind(x.record) is not None


def _whole(x):
    """An array of one object, which is `x`."""
    found = np.empty((), object)
    found[()] = x
    return found


def _as_objects_in_trace(x, dtype):
    """As `as_objects`, for a value that is traced: an array of values if it is one number."""
    caller = _user()
    is_one = x.ndim == 0 or (_is_product_of_table(caller) and x.size <= MANY)
    if not is_one or x.dtype.kind not in "fc" or dtype not in (None, object) or not is_tracing() or is_lazy():
        return None
    return boxed(x) if _may_be_boxed(caller) else None


def told(error):
    """A TraceError with the user's line, and what to write there instead."""
    caller = _user()
    return TraceError(f"{error} ({_told(caller)}){_advice(caller)}")


def _may_be_boxed(caller):
    """Whether NumPy alone, or a product with a table of pandas', is about to compute with the values of an array."""
    if _is_product_of_table(caller):
        return True
    names = [frame.f_globals["__name__"] for frame in caller.inner]
    is_numpys = all([name.partition(".")[0] == "numpy" for name in names])
    is_of_objects = all([not name.startswith(("numpy.linalg", "numpy.fft")) for name in names]) or "norm" in _names(caller)
    return is_numpys and is_of_objects


def _names(caller):
    return [frame.f_code.co_name for frame in caller.inner]


def _is_product_of_table(caller):
    innermost = caller.inner[-1] if caller.inner else None
    return innermost is not None and innermost.f_code.co_name == "dot" and innermost.f_globals["__name__"].startswith("pandas.")


def _is_shown(frame):
    """Whether a frame, or one that called it, before the user's, belongs to what shows or compares values."""
    modules = [f.f_globals.get("__name__", "") for f in (frame, *_user().inner)]
    return any([module == name or module.startswith(f"{name}.") for module in modules for name in _SHOWING])


def _is_formatting(frame):
    """Whether the instruction of a frame is `text % values`."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return _BINARY is not None and code[at] == _BINARY and code[at + 1] in _REMAINDERS


def _binary():
    """The number of the instruction for binary operators."""
    def example(x, y):
        return x % y

    code = example.__code__.co_code
    return next((code[i] for i in range(0, len(code), 2) if code[i + 1] == _REMAINDERS[0]), None)


_BINARY = _binary()


def _user():
    """The line of the user's that led to here."""
    return outside_libraries(_LIBRARIES)


def _told(caller):
    called = function_called(caller)
    name = None if called is None else ".".join(filter(None, called)).removeprefix("builtins.")
    line = f": {caller.line}" if caller.line else ""
    return f"{f'by {name}, ' if name else ''}at {caller.place}{line}"


def _advice(caller):
    called = function_called(caller)
    instead = None if called is None else import_module(".outside", __package__).instead_of(*called)
    return f"; use {instead}" if instead else ""


def _lost(x, number, caller, why=""):
    return LostGradientError(
        f"a value, {x.algebra.describe(x.raw)}, that depends on argument {number} of the function that is differentiated is "
        f"turned into plain numbers, which have no gradient ({_told(caller)}); {why}"
        f"{_advice(caller).removeprefix('; ') + '; or' if _advice(caller) else 'keep the computation in functions of tensors, or'} "
        "say x.detach() if it is meant to be a constant")
