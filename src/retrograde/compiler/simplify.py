"""Simplifying: what constants make known, ops that do nothing, and ops that a cheaper one does as well."""

from itertools import pairwise

import numpy as np

from ..core import registry
from ..core.symbol import Symbol
from .constants import SMALL, first, is_uniform
from .index_arrays import added_along, added_at, chosen_at
from .infer import called
from .views import index_map

_SAME_SHAPE = frozenset(["reshape", "broadcast_to", "expand_dims", "squeeze", "transpose", "permute_dims", "moveaxis"])
#: What the extrema of truth values are.
_OF_TRUTHS = {"max": "any", "min": "all"}
#: What leaves a sum and a product as they are.
_UNITS = {"sum": 0, "prod": 1}
#: Ops that put axes in another order.
_REORDERING = frozenset(["transpose", "permute_dims", "moveaxis"])
#: Products of at most so many rows and at least so many columns gain more from one large product than it costs to copy rows.
_FEW_ROWS, _MANY_COLUMNS = 64, 64
#: Powers that are one product or two, which lose no more than a step by rounding: whether the last one is a square.
_PRODUCTS = {2: True, 3: False, 4: True}
_SAME = frozenset(["positive", "contiguous", "contiguous_backward", "copy_to_device"])


def folded(op, args, shape, dtype):
    """The array of `dtype` that `op` makes of constants; None where it is too large."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    if (op.broadcasts or op.name == "broadcast_to") and arrays and all([is_uniform(a) for a in arrays]):
        scalars = [first(a) if isinstance(a, np.ndarray) else a for a in args]
        with np.errstate(all="ignore"):
            value = first(arrays[0]) if op.name == "broadcast_to" else op.kernel(*map(np.asarray, scalars))
        return np.broadcast_to(np.asarray(value).astype(dtype), shape) if all([a.size for a in arrays]) else None
    size = int(np.prod(shape))
    if size > SMALL:
        return None
    with np.errstate(all="ignore"):
        found = np.asarray(op.kernel(*args)).astype(dtype, copy=False)
    return np.broadcast_to(first(found), shape) if found.size and is_uniform(found) else found


def simplified(op, args, shape, dtype):
    """(op, args) for the same values at less cost, or one of `args` where nothing is to be done."""
    source = args[0] if args else None
    change = _CHANGES.get(op.name)
    if change is not None:
        return change(op, args, shape, dtype)
    if not isinstance(source, Symbol):
        return op, args
    if op.name in _SAME or (op.name == "astype" and source.dtype == dtype):
        return source
    if op.name in _SAME_SHAPE and source.shape == shape and _keeps_order(op, args[1:], shape):
        return source
    return op, args


def _keeps_order(op, rest, shape):
    """Whether a movement to the same shape moves nothing."""
    if op.name in ("reshape", "broadcast_to") or sum(n != 1 for n in shape) < 2:
        return True
    axes = range(len(shape))
    return index_map(op, shape, rest) == [(0, tuple([int(i == axis and shape[i] > 1) for i in axes])) for axis in axes]


def _power(op, args, shape, dtype):
    base, exponent = args
    if getattr(base, "dtype", None) != dtype:
        return op, args
    if _is_number(exponent, 1) and isinstance(base, Symbol):
        return base if base.shape == shape else (registry.get("broadcast_to"), (base, shape))
    if isinstance(base, Symbol) and base.shape == shape:
        for whole, is_of_square in _PRODUCTS.items():
            if _is_number(exponent, whole):
                square = called("multiply", base, base) if whole > 2 else base
                return registry.get("multiply"), (square, square if is_of_square else base)
    return op, args


def _multiply(op, args, shape, dtype):
    for x, y in (args, args[::-1]):
        if isinstance(x, Symbol) and _is_number(y, 1) and x.dtype == dtype:
            return x if x.shape == shape else (registry.get("broadcast_to"), (x, shape))
    return op, args


def _divide(op, args, shape, dtype):
    x, y = args
    return x if isinstance(x, Symbol) and _is_number(y, 1) and (x.shape, x.dtype) == (shape, dtype) else (op, args)


def _where(op, args, shape, dtype):
    """A choice between a number and itself, as where derivatives alone must choose."""
    _, x, y = args
    return x if x is y and isinstance(x, Symbol) and (x.shape, x.dtype) == (shape, dtype) else (op, args)


def _matmul(op, args, shape, dtype):
    """An outer product is elementwise, and a product with a matrix of equal numbers a sum; rows that lie apart are brought
    together where each few of them would meet the whole matrix anew.
    """
    x, y = args
    if x.shape[-1] == 1 and x.ndim > 1 < y.ndim and dtype.kind not in "iu":
        return _multiply(registry.get("multiply"), args, shape, dtype)
    for known, other, axis in ((x, y, -2), (y, x, -1)) if dtype.kind == "f" and x.dtype == y.dtype else ():
        if isinstance(known, np.ndarray) and isinstance(other, Symbol) and known.ndim > 1 and is_uniform(known):
            total = called("sum", other, axis=axis, keepdims=True)
            scaled = total if _is_number(known, 1) else called("multiply", total, float(first(known)))
            return registry.get("broadcast_to"), (scaled, shape)
    if y.ndim == 2 and y.shape[1] >= _MANY_COLUMNS and x.ndim > 2 and 1 < x.shape[-2] <= _FEW_ROWS and _lies_apart(x):
        return registry.get("reshape"), (called("matmul", called("reshape", x, (-1, x.shape[-1])), y), shape)
    return op, args


def _lu_solve(op, args, *_):
    """Equations of a transposed matrix are solved by the factors of the matrix, which others may need too."""
    factors, y, is_transposed = args
    x = factors.args[0] if isinstance(factors, Symbol) and factors.op is registry.get("lu_factor") else None
    if not _is_reordered(x):
        return op, args
    source = np.empty(x.args[0].shape, np.bool_)
    moved, turned = x.op.kernel(source, *x.args[1:]), np.swapaxes(source, -1, -2)
    if (moved.shape, moved.strides) != (turned.shape, turned.strides):
        return op, args
    return op, (called("lu_factor", x.args[0]), y, not is_transposed)


def _lies_apart(x):
    """Whether the rows of `x` are those of another array in another order."""
    if not _is_reordered(x) or not x.size:
        return False
    moved = x.op.kernel(np.empty(x.args[0].shape, np.bool_), *x.args[1:])
    axes = [(n, step) for n, step in zip(moved.shape[:-1], moved.strides[:-1], strict=True) if n > 1]
    return any([outer != n * step for (_, outer), (n, step) in pairwise(axes)])


def _is_reordered(x):
    """Whether `x` is another array of the graph with its axes in another order."""
    return isinstance(x, Symbol) and x.op is not None and x.op.name in _REORDERING and isinstance(x.args[0], Symbol)


def _is_number(argument, value):
    if isinstance(argument, np.ndarray):
        return is_uniform(argument) and first(argument) == value
    return argument.__class__ in (int, float) and argument == value


def _reduction(op, args, shape, dtype):
    """Elements are selected, and turned into the dtype of the result, before they are folded; over axes of length 1 they only
    move.
    """
    x = args[0]
    if not isinstance(x, Symbol) or x.dtype.kind not in "fib":
        return op, args
    if dtype.kind == "b" and op.name in _OF_TRUTHS:
        op = registry.get(_OF_TRUTHS[op.name])
    named = dict(zip(op.arguments, args, strict=True))
    where = named.get("where")
    if where is not None:
        if op.name not in _UNITS or np.broadcast_shapes(np.shape(where), x.shape) != x.shape:
            return op, args
        x, named["where"] = called("where", where, x, np.full((), _UNITS[op.name], x.dtype)), None
    if x.dtype != dtype:
        x = called("not_equal", x, 0) if dtype.kind == "b" else called("astype", x, dtype)
    if x.size == _size(shape) and x.size:
        return registry.get("reshape"), (x, shape)
    named[op.arguments[0]] = x
    return op, tuple(named.values())


def _running(op, args, _, dtype):
    """Running sums and products are along one axis, of numbers that have the dtype of the result already."""
    x, axis = args[:2]
    if not isinstance(x, Symbol):
        return op, args
    x = x if x.dtype == dtype else called("astype", x, dtype)
    return op, (called("reshape", x, (-1,)) if axis is None and x.ndim != 1 else x, 0 if axis is None else axis, *args[2:])


def _random(op, args, *_):
    """Where a state is some blocks behind another, these are left out: so each draw needs the first state only."""
    state, *others, skip = args
    is_later = isinstance(state, Symbol) and state.op is not None and state.op.name == "add"
    if not is_later or not isinstance(state.args[0], Symbol) or not _is_place(state.args[1]):
        return op, args
    return _random(op, (state.args[0], *others, skip + int(state.args[1][1])))


def _is_place(argument):
    """Whether an argument is a number of blocks, as it is added to a state."""
    return isinstance(argument, np.ndarray) and (argument.shape, argument.dtype) == ((2,), np.int64) and argument[0] == 0


def _invert(op, args, _, dtype):
    return (registry.get("logical_not"), args) if dtype.kind == "b" else (op, args)


def _size(shape):
    size = 1
    for n in shape:
        size *= n
    return size


_CHANGES = {"power": _power, "multiply": _multiply, "divide": _divide, "matmul": _matmul, "lu_solve": _lu_solve,
            "bitwise_invert": _invert, "where": _where, "cumsum": _running, "cumprod": _running,
            "getitem": chosen_at, "scatter_add": added_at, "add_along_axis": added_along,
            **dict.fromkeys(["random_bits", "random_mask", "random_uniform", "random_normal", "random_integers"], _random),
            **dict.fromkeys(["sum", "prod", "max", "min", "any", "all"], _reduction)}
