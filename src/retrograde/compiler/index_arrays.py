"""Index arrays: what an index with arrays chooses, told in a way that kernels can follow."""

from math import prod

import numpy as np

from ..core import registry
from ..core.symbol import Symbol
from .elements import are_within
from .infer import called
from .scatter_steps import collected, parts_of, unstrided

_ALL = slice(None)
#: So many numbers of each line are looked for at each place of it; more are added one by one.
_FEW = 8
#: Lines are chosen by what they come to if these are at most so many times as many, and each gets at most so many.
_MOST_CHOSEN, _MOST_FOR_ONE = 3, 8


def chosen_at(op, args, shape, _):
    """(op, args) for a `getitem` by positions along one axis, of one element of each row, or by positions along the first axes."""
    x, parts = args[0], _slices_and_positions(args[1], args[0].ndim)
    axes = [] if parts is None or not isinstance(x, Symbol) or not x.size else _arrays_in(parts)
    if len(axes) == 1:
        rest = tuple([slice(None) if _is_array(part) else part for part in parts])
        x = x if _is_whole(parts) else called("getitem", x, rest)
        return registry.get("take"), (x, parts[axes[0]], axes[0])
    if not axes or not _is_whole(parts):
        return op, args
    if _is_each_row(parts, x.shape):
        chosen = called("take_along_axis", x, _column(parts[1]), 1)
        return registry.get("reshape"), (chosen, shape)
    if axes == list(range(len(axes))):
        lines = called("reshape", x, (-1, *x.shape[len(axes) :]))
        return registry.get("take"), (lines, _in_row_major_order(parts[: len(axes)], x.shape), 0)
    return op, args


def added_at(op, args, shape, dtype):
    """(op, args) for a `scatter_add` of a number to each row at its own position, of lines along the first axes, or in steps."""
    x, _, index = args
    found = unstrided(x, shape, index) if isinstance(x, Symbol) and x.dtype == dtype and x.size else None
    if found is not None:
        return found.op, found.args
    parts = _slices_and_positions(index, len(shape))
    axes = [] if parts is None or 0 in shape else _arrays_in(parts)
    if not axes or not _is_whole(parts) or getattr(x, "dtype", None) != dtype:
        return op, args
    if len(axes) == 1:
        found = _collected(x, shape, axes[0], parts[axes[0]], dtype)
        return (op, (x, shape, tuple(parts[: axes[0] + 1]))) if found is None else (found.op, found.args)
    if _is_each_row(parts, shape) and x.shape == shape[:1]:
        places = _column(_from_front(parts[1], shape[1]))
        is_there = called("equal", places, np.arange(shape[1], dtype=places.dtype))
        return registry.get("where"), (is_there, _column(x), np.zeros((), dtype))
    if axes != list(range(len(axes))):
        return op, args
    places = _in_row_major_order(parts[: len(axes)], shape)
    lines = called("scatter_add", x, (prod(shape[: len(axes)]), *shape[len(axes) :]), (places,))
    return registry.get("reshape"), (lines, shape)


def _collected(x, shape, axis, positions, dtype):
    """Lines added at `positions` that are constants: each place chooses those that come to it. None where it does not pay."""
    size = shape[axis]
    if not isinstance(positions, np.ndarray) or not positions.size or dtype.kind != "f":
        return None
    positions = _from_front(positions.reshape(-1), size)
    most = np.bincount(positions).max() if are_within(positions, size) else _MOST_FOR_ONE + 1
    if most > _MOST_FOR_ONE or most * size > _MOST_CHOSEN * len(positions):
        return None
    lines = (*shape[:axis], len(positions), *shape[axis + 1 :])
    x = x if x.shape == lines else called("reshape", x, lines)
    return collected(x, size, axis, positions)


def added_along(op, args, shape, dtype):
    """(op, args) for an `add_along_axis` of a few numbers to each line: at each place the sum of those whose position it is; and of
    many, which are added one by one.
    """
    x, _, positions, axis = args
    count = positions.shape[axis] if positions.ndim == len(shape) and positions.ndim else 0
    if not count or getattr(x, "dtype", None) != dtype or x.shape != positions.shape or positions.dtype.kind != "i":
        return op, args
    axis, found = axis % len(shape), None
    if count > _FEW:
        return _added_one_by_one(x, shape, positions, axis)
    places = np.arange(shape[axis], dtype=positions.dtype).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    positions = _from_front(positions, shape[axis])
    for k in range(count):
        part = (_ALL,) * axis + (slice(k, k + 1),)
        number, position = (a[part] if isinstance(a, np.ndarray) else called("getitem", a, part) for a in (x, positions))
        found_here = called("where", called("equal", position, places), number, np.zeros((), dtype))
        found = found_here if found is None else called("add", found, found_here)
    return found.op, found.args


def _added_one_by_one(x, shape, positions, axis):
    """(op, args) that add numbers at positions along an axis, which is brought to the end, as numbers of one long line."""
    order = (*[i for i in range(len(shape)) if i != axis], axis)
    lines, size = [shape[i] for i in order], shape[axis]
    starts = (np.arange(prod(lines[:-1])) * size).reshape(*lines[:-1], 1)
    x, positions = (_permuted(a, order) for a in (x, positions))
    places = called("add", _checked(positions, size), starts)
    x = x.reshape(-1) if isinstance(x, np.ndarray) else called("reshape", x, (-1,))
    line = called("scatter_add", x, (prod(shape),), (called("reshape", places, (-1,)),))
    found = _permuted(called("reshape", line, tuple(lines)), tuple(np.argsort(order).tolist()))
    return found.op, found.args


def _permuted(x, order):
    if isinstance(x, np.ndarray):
        return x.transpose(order)
    return x if order == tuple(range(len(order))) else called("permute_dims", x, order)


def _in_row_major_order(positions, shape):
    """Where elements at `positions` along the first axes of `shape` are in row-major order; checked for each axis."""
    found = None
    for part, size in zip(positions, shape, strict=False):
        part = _checked(part, size)
        found = part if found is None else called("add", called("multiply", found, size), part)
    return found


def _checked(positions, size):
    """Positions counted from the front, which stop the program where they are out of range."""
    return called("checked_positions", called("astype", _from_front(positions, size), np.dtype(np.int64)), size)


def _column(x):
    return x[:, None] if isinstance(x, np.ndarray) else called("reshape", x, (-1, 1))


def _from_front(positions, size):
    """Positions that are not counted from the end."""
    if isinstance(positions, np.ndarray):
        return np.where(positions < 0, positions + size, positions)
    return called("where", called("less", positions, 0), called("add", positions, size), positions)


def _slices_and_positions(index, ndim):
    """The slices and arrays of positions of an index, one for each axis; None of an index with anything else."""
    parts = parts_of(index, ndim)
    if parts is None:
        return None
    parts = [np.asarray(p, dtype=int) if isinstance(p, list) and p and all([type(i) is int for i in p]) else p for p in parts]
    return parts if all([isinstance(part, slice) or _is_array(part) for part in parts]) else None


def _is_array(part):
    """Whether a part of an index is an array of positions."""
    return isinstance(part, (Symbol, np.ndarray)) and part.dtype.kind == "i" and part.ndim > 0


def _arrays_in(parts):
    """The axes of an index that have arrays of positions."""
    return [axis for axis, part in enumerate(parts) if _is_array(part)]


def _is_whole(parts):
    """Whether an index leaves all axes without arrays as they are."""
    return all([_is_array(part) or part == _ALL for part in parts])


def _is_each_row(parts, shape):
    """Whether an index chooses one element of each row of a matrix, in order."""
    if len(shape) != 2 or len(_arrays_in(parts)) != 2 or not isinstance(parts[0], np.ndarray):
        return False
    return parts[0].shape == parts[1].shape == shape[:1] and np.array_equal(parts[0], np.arange(shape[0]))
