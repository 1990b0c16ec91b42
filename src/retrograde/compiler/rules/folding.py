"""Rules of reductions, running reductions and draws: the forms that loops and kernels know."""

from math import prod

import numpy as np

from ...core import registry
from ...core.symbol import Symbol
from ...shapes import axis_tuple
from .. import cost
from ..graph.infer import called
from .algebra import added_to_zero

#: What the extrema of truth values are.
OF_TRUTHS = {"max": "any", "min": "all"}
#: What leaves a sum and a product as they are.
UNITS = {"sum": 0, "prod": 1}


def extremum_of_truths(call):
    """`any` and `all`, for the extrema of truth values."""
    return call._replace(op=registry.get(OF_TRUTHS[call.op.name])) if call.dtype.kind == "b" and _is_known(call) else None


def fold_of_selected(call):
    """A fold of all elements, in which those that `where` leaves out change nothing."""
    x, named = call.args[0], _named(call)
    where = named.get("where")
    # A mask that makes the result larger by broadcasting is no choice among the elements.
    if where is None or not _is_known(call) or np.broadcast_shapes(np.shape(where), x.shape) != x.shape:
        return None
    named["where"] = None
    return _of(call, named, called("where", where, x, np.full((), UNITS[call.op.name], x.dtype)))


def fold_in_the_dtype_of_the_result(call):
    """A fold of elements that were cast before. What selects elements must be gone."""
    x, named = call.args[0], _named(call)
    if not _is_known(call) or x.dtype == call.dtype or named.get("where") is not None:
        return None
    # A cast to bool would be the same; `not_equal` is what loops compare with, and NaN counts as true in both.
    return _of(call, named, called("not_equal", x, 0) if call.dtype.kind == "b" else called("astype", x, call.dtype))


def fold_of_single_elements(call):
    """A new shape, where the axes that are folded have one element; a sum starts from +0, so -0 becomes +0."""
    x = call.args[0]
    if not _is_known(call) or _named(call).get("where") is not None or x.dtype != call.dtype or not x.size:
        return None
    # As many results as elements: each is folded alone. An empty axis would give what the fold starts from.
    if x.size != _size(call.shape):
        return None
    moved = called("reshape", x, call.shape)
    return call.as_is(added_to_zero(moved) if call.op.name == "sum" else moved)


def sum_of_runs_that_lie_apart(call):
    """The sum of sums of runs of numbers that lie side by side, where kept axes stand between these and other axes of the sum."""
    x, named = call.args[0], _named(call)
    if not _is_known(call) or call.dtype.kind != "f" or x.dtype != call.dtype or named.get("where") is not None:
        return None
    axes = axis_tuple(named["axis"], x.ndim)
    kept = [a for a in range(x.ndim) if a not in axes and x.shape[a] > 1]
    inner = tuple([a for a in axes if kept and a > kept[-1]])
    outer = tuple([a for a in axes if kept and a < kept[-1] and x.shape[a] > 1])
    run = prod([x.shape[a] for a in inner])
    if not outer or run < cost.LONG_RUN or x.size < cost.TILED_NUMBERS:
        return None
    total = called(call.op.name, called(call.op.name, x, inner, True), outer, True)
    return call.as_is(total if total.shape == call.shape else called("reshape", total, call.shape))


def running_in_the_dtype_of_the_result(call):
    """Running sums and products of elements that were cast before."""
    x = call.args[0]
    is_other = isinstance(x, Symbol) and x.dtype != call.dtype
    return call._replace(args=(called("astype", x, call.dtype), *call.args[1:])) if is_other else None


def running_along_an_axis(call):
    """Running sums and products along one axis."""
    x, axis = call.args[:2]
    if axis is not None or not isinstance(x, Symbol):
        return None
    return call._replace(args=(x if x.ndim == 1 else called("reshape", x, (-1,)), 0, *call.args[2:]))


def draw_from_the_first_state(call):
    """A draw from the first state, some blocks later, where a state is so many blocks behind another."""
    state, *others, skip = call.args
    is_later = isinstance(state, Symbol) and state.op is not None and state.op.name == "add"
    if not is_later or not isinstance(state.args[0], Symbol) or not _is_number_of_blocks(state.args[1]):
        return None
    # Two draws of one state then have one operand, and neither waits for an addition of the other.
    return call._replace(args=(state.args[0], *others, skip + int(state.args[1][1])))


def _is_number_of_blocks(argument):
    """Whether an argument is a number of blocks, as it is added to a state."""
    return isinstance(argument, np.ndarray) and (argument.shape, argument.dtype) == ((2,), np.int64) and argument[0] == 0


def _is_known(call):
    x = call.args[0]
    return isinstance(x, Symbol) and x.dtype.kind in "fib"


def _named(call):
    return dict(zip(call.op.arguments, call.args, strict=True))


def _of(call, named, x):
    """A fold of `x` with the arguments that it has by name."""
    named[call.op.arguments[0]] = x
    return call._replace(args=tuple(named.values()))


def _size(shape):
    size = 1
    for n in shape:
        size *= n
    return size
