"""Indexing: elements chosen or written by NumPy's indices: integers, slices, ellipsis, newaxis, integer and boolean
arrays.
"""

from math import prod

import numpy as np

from .._arrays import shape_of
from .._families import indexing
from .._native import small
from .._samples import call
from ..elementary.comparisons import where
from ..elementary.conversions import astype, narrowed, widened
from .movements import broadcast_to, pad, reshape, unbroadcast

_SAMPLES = (call((4, 3), index=1), call((4, 3), index=(slice(None, None, -2), None)), call((4, 3), index=(..., [0, 2, 0])),
            call((4, 3), index=np.array([True, False, True, True])), call((4, 3), index=([0, 0, 3], [1, 1, 2])))


@indexing(is_public=False, samples=_SAMPLES)
def getitem(x, /, index):
    r"""The elements `x[index]`; a view where NumPy gives a view. An index out of range raises an OutOfRangeError.

    $\bar x$ is zero but for $\bar z$ added at the index: an element chosen twice receives both cotangents.
    """
    return x[_usable(index)]


getitem.defvjp(lambda g, x_shape, index: scatter_add(g, x_shape, index))


@indexing(result_shape=lambda x, shape, index: tuple(shape), result_dtype=lambda x, *_: x.dtype,
          samples=tuple(call(shape, shape=(4, 3), index=c.kwargs["index"])
                        for c, shape in zip(_SAMPLES, [(3,), (2, 1, 3), (4, 3), (3, 3), (3,)], strict=True)))
def scatter_add(x, /, shape, index):
    r"""Zeros of `shape` with `x` added at `index`; elements that meet in one place add up.

    $\bar x = \bar z[\text{index}]$
    """
    index = _usable(index)
    if _is_basic(index):
        result = np.zeros_like(x, shape=shape)
        result[index] = x
        return result
    found = _added_rows(x, tuple(shape), index)
    if found is not None:
        return found
    wide = widened(x)
    result = np.zeros_like(wide, shape=shape)
    np.add.at(result, index, wide)
    return narrowed(result, x)


def _added_rows(x, shape, index):
    """`scatter_add` at positions along one axis, where a kernel does it; else None."""
    *before, places = index if index.__class__ is tuple else (index,)
    axis = len(before)
    are_whole = all([part.__class__ is slice and part == slice(None) for part in before])
    if not are_whole or places.__class__ is not np.ndarray or places.dtype != np.int64:
        return None
    if axis >= len(shape) or x.__class__ is not np.ndarray or x.shape != (*shape[:axis], *places.shape, *shape[axis + 1 :]):
        return None
    result = np.zeros(shape, x.dtype)
    sizes = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]), places.size
    return result if small("add_rows", sizes, (x, places), (result,)) else None


scatter_add.defvjp(lambda g, x_shape, index: unbroadcast(getitem(g, index), x_shape))


def _set_in_ops(x, y, index):
    """The new elements in a border of nothing, and chosen where the index says; for a box, which steps of 1 cut out."""
    box = _box(index, x.shape)
    if box is None:
        return NotImplemented
    sizes = [stop - start for start, stop, _ in box]
    shape = tuple([n for n, (_, _, is_kept) in zip(sizes, box, strict=True) if is_kept])
    part = broadcast_to(fitting(y, len(shape)), shape)
    widths = tuple([(start, n - stop) for n, (start, stop, _) in zip(x.shape, box, strict=True)])
    inside = pad(np.broadcast_to(np.True_, sizes), widths)
    return where(inside, pad(reshape(astype(part, x.dtype), tuple(sizes)), widths), x)


def fitting(y, ndim):
    """`y` as NumPy writes it to `ndim` axes: further ones in front, which are of length 1, are left out."""
    shape = shape_of(y)
    extra = len(shape) - ndim
    return y if extra <= 0 or any([n != 1 for n in shape[:extra]]) else reshape(y, shape[extra:])


def _box(index, shape):
    """(start, stop, whether the axis stays) for each axis of `shape`, if `index` cuts out such a box and it is not empty."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if not _is_basic(tuple(parts)) or None in parts or not shape:
        return None
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts[at : at + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
    parts += [slice(None)] * (len(shape) - len(parts))
    found = []
    for part, size in zip(parts, shape, strict=True):
        start, stop, step = part.indices(size) if isinstance(part, slice) else (part % size, part % size + 1, 1)
        if step != 1 or start >= stop:
            return None
        found.append((start, stop, isinstance(part, slice)))
    return found


@indexing(expansion=_set_in_ops, told="setitem",
          samples=(call((4, 3), (3,), index=1), call((4, 3), (2, 1), index=([0, 3],)), call((4, 3), (), index=slice(1, 3))))
def set_at(x, y, /, index):
    r"""A copy of `x` in which `y`, broadcast, stands at `index`; written twice, the last one counts.

    $\bar x = \bar z$ but zero at the index, $\bar y = \bar z[\text{index}]$ where it was not overwritten.
    """
    result = np.array(x, copy=True, subok=True)
    result[_usable(index)] = y
    return result


set_at.defvjp(lambda g, index: set_at(g, np.zeros((), g.dtype), index), lambda g, y_shape, index: _written(g, y_shape, index))


@indexing(is_public=False, samples=(call((2, 3), (2,), positions=np.array([4, 1])),))
def put(x, y, /, positions):
    r"""A copy of `x` in which the elements of `y` stand at `positions`, counted in row-major order; none occurs twice.

    $\bar x = \bar z$ but zero at the positions, $\bar y$ is $\bar z$ at the positions.
    """
    result = np.array(x, copy=True, subok=True, order="C")
    result.reshape(-1)[positions] = y
    return result


put.defvjp(lambda g, positions: put(g, np.zeros((), g.dtype), positions),
           lambda g, positions: getitem(g.reshape(-1), positions))


@indexing(is_public=False, is_differentiable=False, makes_views=False, result_shape=lambda x, *_: x.shape,
          result_dtype=lambda x, *_: x.dtype,
          samples=(call((4, 3), (3, 3), positions=np.array([2, 0, 2]), counts=np.array([False, True, True])),))
def put_rows(x, y, /, positions, counts):
    """A copy of `x` in which the rows of `y` stand at `positions` along the first axis, those that are among `counts`; no position
    of these occurs twice, and none is negative.
    """
    result = np.array(x, copy=True, subok=True)
    result[positions[counts]] = y[counts]
    return result


def _written(g, y_shape, index):
    taken = getitem(g, index)
    if not _is_basic(_usable(index)):
        numbers = np.arange(taken.size).reshape(taken.shape)
        last = getitem(set_at(np.zeros(g.shape, int), numbers, index), index)
        taken = taken * (last == numbers)
    extra = max(len(y_shape) - taken.ndim, 0)
    return reshape(unbroadcast(taken, y_shape[extra:]), y_shape)


def _usable(index):
    """`index` with lists as arrays, as NumPy takes them inside a tuple."""
    if isinstance(index, tuple):
        return tuple([np.asarray(i, dtype=None if i else int) if isinstance(i, list) else i for i in index])
    return np.asarray(index, dtype=None if index else int) if isinstance(index, list) else index


def _is_basic(index):
    parts = index if isinstance(index, tuple) else (index,)
    return all([i is None or i is Ellipsis or isinstance(i, (slice, int, np.integer)) and not isinstance(i, bool) for i in parts])
