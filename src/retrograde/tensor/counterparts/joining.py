"""Joining: functions of NumPy that put a sequence of arrays together, or make an array of nested lists."""

from ...errors import ArgumentError, DTypeError
from ...ops.elementary.comparisons import where
from ...ops.elementary.conversions import contiguous
from ...ops.manipulation.joins import concatenate, stack
from ...ops.manipulation.movements import reshape
from .operands import cast, data_of, refuse, stacked
from .shaping import atleast_1d, atleast_2d, atleast_3d


def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, **_):
    """A tensor of the values in `object`, which stay in the graph."""
    made = cast(stacked(object), dtype)
    made = reshape(made, (1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made
    return contiguous(made) if copy and made is object else made


def asarray(a, dtype=None, order=None, **_):
    """Like `array`, without a copy where none is needed."""
    return array(a, dtype, copy=False)


def join(arrays, axis=0, out=None, dtype=None, **_):
    """The `arrays` one after another along `axis`."""
    refuse("concatenate", out=out)
    return cast(concatenate(_each(arrays), axis), dtype)


def pile(arrays, axis=0, out=None, dtype=None, **_):
    """The `arrays` side by side along a new `axis`."""
    refuse("stack", out=out)
    return cast(stack(_each(arrays), axis), dtype)


def vstack(tup, *, dtype=None, **_):
    """The arrays as rows, one below the other."""
    return cast(concatenate(_every(atleast_2d, tup), 0), dtype)


def hstack(tup, *, dtype=None, **_):
    """The arrays side by side: along the second axis, or the only one."""
    parts = _every(atleast_1d, tup)
    return cast(concatenate(parts, 0 if parts[0].ndim == 1 else 1), dtype)


def dstack(tup):
    """The arrays one behind the other, along the third axis."""
    return concatenate(_every(atleast_3d, tup), 2)


def column_stack(tup):
    """The arrays as columns; vectors become one column each."""
    return concatenate([reshape(x, (-1, 1)) if x.ndim < 2 else x for x in _each(tup)], 1)


def append(arr, values, axis=None):
    """`values` at the end of `arr`; without an axis the elements of both."""
    return concatenate([stacked(arr), stacked(values)], axis)


def block(arrays):
    """An array made of nested lists of blocks: the innermost are joined along the last axis."""
    depth, ndim = _depth(arrays), max(x.ndim for x in _blocks(arrays))
    return _joined(arrays, max(ndim, depth), depth)


def select(condlist, choicelist, default=0):
    """For each element the choice of the first condition that holds, `default` where none does."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ArgumentError(f"select needs as many choices as conditions, one or more, got {len(choicelist)} and {len(condlist)}")
    if any([stacked(condition).dtype.kind != "b" for condition in condlist]):
        raise DTypeError("the conditions of select must be truth values, as of a comparison")
    found = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        found = where(data_of(condition), choice, found)
    return found


def _each(arrays):
    return [stacked(x) for x in arrays]


def _every(function, arrays):
    return [function(x) for x in _each(arrays)]


def _depth(arrays):
    return 1 + max(map(_depth, arrays)) if isinstance(arrays, list) else 0


def _blocks(arrays):
    return [x for part in arrays for x in _blocks(part)] if isinstance(arrays, list) else [stacked(arrays)]


def _joined(arrays, ndim, depth):
    if not isinstance(arrays, list):
        x = stacked(arrays)
        return reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape))
    return concatenate([_joined(part, ndim, depth - 1) for part in arrays], -depth)




FUNCTIONS = {
    "array": array, "asarray": asarray, "asanyarray": asarray, "ascontiguousarray": asarray, "concatenate": join, "concat": join,
    "stack": pile, "vstack": vstack, "row_stack": vstack, "hstack": hstack, "dstack": dstack, "column_stack": column_stack,
    "append": append, "block": block, "select": select,
}
