"""Rules of what is added to zeros at positions: an index that is known makes it a choice, or pieces side by side."""

from math import prod
from operator import is_

import numpy as np

from ...core.symbol import Symbol
from ...ops.images.bands import band
from .. import cost
from ..graph.infer import called
from ..index.elements import are_within
from .algebra import added_to_zero
from .index import (
    WHOLE,
    Index,
    SteppedAxis,
    checked,
    column,
    from_front,
    has_step,
    in_row_major_order,
    may_have_arrays,
    may_have_steps,
)

#: Lines are chosen by what they come to if what is computed then is at most so many times as much.
_MOST_CHOSEN = 3


def added_in_steps(call):
    """An array added side by side, to zeros with an axis more for each that has steps."""
    x, shape, written = call.args
    if not may_have_steps(written) or not isinstance(x, Symbol) or x.dtype != call.dtype or not x.size:
        return None
    index = Index.of(written, len(shape))
    if index is None or not index.has_steps:
        return None
    parts = list(index.parts)
    last = parts[-1]
    if has_step(last):
        # Neighbours in memory: one vector is chosen for all of them.
        x, parts[-1] = _chosen(x, shape[-1], -1, np.arange(shape[-1])[last]), WHOLE
    axes = [SteppedAxis.of(part, size) for part, size in zip(parts, shape, strict=True)]
    kept = [axis for axis, part in zip(axes, parts, strict=True) if isinstance(part, slice)]
    backwards = tuple([i for i, axis in enumerate(kept) if axis.is_backwards])
    # Pieces go forwards only.
    x = called("flip", x, backwards) if backwards else x
    found = called("scatter_add", x, tuple([n for a in axes for n in a.shape]), tuple([part for a in axes for part in a.index]))
    whole = tuple([a.size for a in axes])
    found = called("reshape", found, whole)
    return call.as_is(found if whole == tuple(shape) else called("getitem", found, tuple([slice(n) for n in shape])))


def added_at_known_positions(call):
    """A choice for each element of what comes to it, where few do."""
    index, shape = _index_of(call), call.shape
    if index is None or len(index.arrays) != 1:
        return None
    (axis,), x = index.arrays, call.args[0]
    positions, size = index.parts[axis], shape[axis]
    if not isinstance(positions, np.ndarray) or not positions.size or call.dtype.kind != "f":
        return None
    positions = from_front(positions.reshape(-1), size)
    most = np.bincount(positions).max() if are_within(positions, size) else cost.CHOICES + 1
    # A choice computes all elements, also those that nothing comes to; and each of the most that come to one is a pass over
    # all.
    if most > cost.CHOICES or most * size > _MOST_CHOSEN * len(positions):
        return None
    lines = (*shape[:axis], len(positions), *shape[axis + 1 :])
    x = added_to_zero(x if x.shape == lines else called("reshape", x, lines))
    return call.as_is(_chosen(x, size, axis, positions))


def added_along_one_axis(call):
    """The same with nothing behind the array of positions, as the kernel reads it."""
    index = _index_of(call)
    if index is None or len(index.arrays) != 1:
        return None
    x, shape, written = call.args
    short = tuple(index.parts[: index.arrays[0] + 1])
    is_short = isinstance(written, tuple) and len(written) == len(short) and all(map(is_, written, short))
    return None if is_short else call._replace(args=(x, shape, short))


def added_to_each_row(call):
    """A choice of a number or zero for each element of its row."""
    index, shape, x = _index_of(call), call.shape, call.args[0]
    if index is None or not index.is_each_row(shape) or x.shape != shape[:1]:
        return None
    positions = column(from_front(index.parts[1], shape[1]))
    is_there = called("equal", positions, np.arange(shape[1], dtype=positions.dtype))
    return call.by("where", is_there, column(added_to_zero(x)), np.zeros((), call.dtype))


def added_along_the_first_axes(call):
    """Lines added at positions in row-major order."""
    index, shape = _index_of(call), call.shape
    if index is None or len(index.arrays) < 2 or not index.is_of_first_axes:
        return None
    count = len(index.arrays)
    positions = in_row_major_order(index.parts[:count], shape)
    lines = called("scatter_add", call.args[0], (prod(shape[:count]), *shape[count:]), (positions,))
    return call.by("reshape", lines, shape)


def few_added_along_lines(call):
    """For each element of a line the sum of those whose position it is."""
    if _count_of_each_line(call) not in range(1, cost.CHOICES + 1):
        return None
    (x, _, positions, axis), shape, found = call.args, call.shape, None
    axis, x = axis % len(shape), added_to_zero(x)
    elements = np.arange(shape[axis], dtype=positions.dtype).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    positions = from_front(positions, shape[axis])
    for k in range(x.shape[axis]):
        part = (WHOLE,) * axis + (slice(k, k + 1),)
        number, position = (a[part] if isinstance(a, np.ndarray) else called("getitem", a, part) for a in (x, positions))
        # Each of the few is compared with all elements of its line: no number waits for another one, and no zeros lie in
        # memory.
        found_here = called("where", called("equal", position, elements), number, np.zeros((), call.dtype))
        found = found_here if found is None else called("add", found, found_here)
    return call.as_is(found)


def many_added_along_lines(call):
    """Numbers of one long line, added one by one: the axis is brought to the end."""
    if _count_of_each_line(call) <= cost.CHOICES:
        return None
    (x, _, positions, axis), shape = call.args, call.shape
    axis %= len(shape)
    order = (*[i for i in range(len(shape)) if i != axis], axis)
    lines, size = [shape[i] for i in order], shape[axis]
    # Lines follow each other in one long one; a position in its line becomes one in that.
    starts = (np.arange(prod(lines[:-1])) * size).reshape(*lines[:-1], 1)
    x, positions = (_permuted(a, order) for a in (x, positions))
    flat = called("add", checked(positions, size), starts)
    x = x.reshape(-1) if isinstance(x, np.ndarray) else called("reshape", x, (-1,))
    line = called("scatter_add", x, (prod(shape),), (called("reshape", flat, (-1,)),))
    return call.as_is(_permuted(called("reshape", line, tuple(lines)), tuple(np.argsort(order).tolist())))


def _index_of(call):
    """The `Index` of a sum at arrays of positions that leaves all other axes as they are; None of others."""
    if not may_have_arrays(call.args[2]) or getattr(call.args[0], "dtype", None) != call.dtype or 0 in call.shape:
        return None
    index = Index.of(call.args[2], len(call.shape))
    return index if index is not None and index.arrays and index.is_whole else None


def _count_of_each_line(call):
    """How many numbers are added to each line at positions of their own; 0 where that is not what is done."""
    x, _, positions, axis = call.args
    if getattr(x, "dtype", None) != call.dtype or x.shape != positions.shape or positions.dtype.kind != "i":
        return 0
    axis %= len(call.shape)
    # Positions of one line may be repeated for others.
    are_of_each = (*positions.shape[:axis], *positions.shape[axis + 1 :]) == (*call.shape[:axis], *call.shape[axis + 1 :])
    return positions.shape[axis] if are_of_each else 0


def _chosen(x, size, axis, positions):
    """Zeros with the lines of `x` along `axis` added at `positions` of `size`: each element chooses those that come to it."""
    count, found = len(positions), None
    columns, weights = band(positions, np.arange(count), np.ones(count), (size, count))
    for chosen, weight in zip(columns, weights, strict=True):
        part = called("take", x, chosen, axis)
        if not weight.all():
            is_met = (weight != 0).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
            part = called("where", is_met, part, np.zeros((), x.dtype))
        found = part if found is None else called("add", found, part)
    return found


def _permuted(x, order):
    if isinstance(x, np.ndarray):
        return x.transpose(order)
    return x if order == tuple(range(len(order))) else called("permute_dims", x, order)
