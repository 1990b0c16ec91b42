"""Gathering: elements chosen by arrays of positions along one axis."""

from math import prod

import numpy as np

from ...errors import OutOfRangeError, ShapeError
from ...shapes import one_axis
from .._families import elementwise, indexing
from .._native import small
from .._samples import call
from ..elementary.comparisons import equal, where
from ..elementary.conversions import narrowed, widened
from .movements import expand_dims
from .selections import scatter_add

_ROWS = np.array([[2, 0], [1, 1]])


@indexing(keeps_sizes=True, makes_views=False, samples=(
    call((4, 3), indices=np.array([0, 2, 2])), call((4, 3), indices=_ROWS, axis=0), call((4, 3), indices=2, axis=-1),
    call((2, 3, 2), indices=np.array([0, 2, 0]), axis=1)))
def take(x, /, indices, axis=None):
    r"""The elements of `x` at the positions `indices` along `axis`; None counts in row-major order.

    The axis is replaced by the axes of `indices`. A position out of range raises an OutOfRangeError.

    $z_{\dots k \dots} = x_{\dots i_k \dots}$, so $\bar x$ is zero but for $\bar z$ added at the positions: an element that
    is chosen twice receives both cotangents.
    """
    return np.take(x, indices, axis)


def _take_rule(g, x_shape, indices, axis):
    if axis is None:
        return scatter_add(g, (int(np.prod(x_shape, dtype=int)),), (indices,)).reshape(x_shape)
    return scatter_add(g, x_shape, (slice(None),) * one_axis(axis, len(x_shape)) + (indices,))


take.defvjp(_take_rule)


@indexing(keeps_sizes=True, makes_views=False, samples=(
    call((2, 3), indices=np.array([[0, 2], [1, 1]]), axis=1), call((3, 2), indices=np.array([[2, 0]]), axis=0),
    call((4,), indices=np.array([3, 3, 0]))))
def take_along_axis(x, /, indices, axis=-1):
    r"""For each line of `x` along `axis` the elements at the positions that the same line of `indices` gives.

    $z_{r k} = x_{r\, i_{r k}} \;\Rightarrow\; \bar x_{r j} = \sum_{k :\, i_{r k} = j} \bar z_{r k}$
    """
    found = _along(x, x.shape, indices, axis, "take_along")
    return np.take_along_axis(x, indices, axis) if found is None else found


def _along(x, shape, indices, axis, kernel):
    """What a kernel gives for lines of an array of `shape` along `axis` and the `indices` of each line; None if there is none."""
    if axis.__class__ is not int or not -len(shape) <= axis < len(shape):
        return None
    axis = axis % len(shape)
    if x.__class__ is not np.ndarray or indices.__class__ is not np.ndarray or indices.dtype != np.int64:
        return None
    around = shape[:axis], shape[axis + 1 :]
    if len(indices.shape) != len(shape) or (indices.shape[:axis], indices.shape[axis + 1 :]) != around:
        return None
    result = np.empty(indices.shape, x.dtype) if kernel == "take_along" else np.zeros(shape, x.dtype)
    sizes = prod(around[0]), shape[axis], prod(around[1]), indices.shape[axis]
    return result if small(kernel, sizes, (x, indices), (result,)) else None


take_along_axis.defvjp(lambda g, x_shape, indices, axis: add_along_axis(g, x_shape, indices, axis))


def _fitting(x, shape, indices, axis=-1):
    """The `shape` of `add_along_axis`, where `indices` fit it but along `axis`, and `x` fits these."""
    axis, shape = one_axis(axis, len(shape)), tuple(shape)
    if len(np.shape(indices)) != len(shape):
        raise ShapeError(f"indices must have as many axes as the array, {len(shape)}, got {len(np.shape(indices))}")
    lines = (*shape[:axis], 1, *shape[axis + 1 :])
    try:
        places = np.broadcast_shapes(np.shape(indices), lines)
        fits = np.broadcast_shapes(np.shape(x), places) == places
    except ValueError:
        fits = False
    if not fits:
        found = f"x of shape {np.shape(x)} and indices of shape {np.shape(indices)}"
        raise ShapeError(f"{found} must fit an array of shape {shape} but along axis {axis}")
    return shape


@indexing(result_shape=_fitting, result_dtype=lambda x, *_: x.dtype, makes_views=False, samples=(
    call((2, 2), shape=(2, 3), indices=np.array([[0, 2], [1, 1]]), axis=1), call((3,), shape=(4,), indices=np.array([3, 3, 0]))))
def add_along_axis(x, /, shape, indices, axis=-1):
    r"""Zeros of `shape` with `x` added, line by line, at the positions `indices` along `axis`.

    The transpose of `take_along_axis`: $\bar x_{r k} = \bar z_{r\, i_{r k}}$. An array that fits no line of
    `shape` raises a ShapeError.
    """
    if np.shape(x) == indices.shape and (found := _along(x, tuple(shape), indices, axis, "add_along")) is not None:
        return found
    shape, wide = _fitting(x, shape, indices, axis), widened(x)
    result = np.zeros_like(wide, shape=shape, order="C")
    grid, size = _grid(shape, indices, axis), shape[axis]
    if indices.size and -size <= indices.min() and indices.max() < size:
        # NumPy adds at positions of a line five times as fast as at those of a table.
        places = np.ravel_multi_index(np.broadcast_arrays(*grid), shape, mode="wrap")
        np.add.at(np.reshape(result, -1), np.reshape(places, -1), np.reshape(np.broadcast_to(wide, places.shape), -1))
    else:
        np.add.at(result, grid, wide)
    return narrowed(result, x)


add_along_axis.defvjp(lambda g, indices, axis: take_along_axis(g, indices, axis))


def _grid(shape, indices, axis):
    """The index that pairs `indices` along `axis` with every other axis of `shape`."""
    axis, ndim = one_axis(axis, len(shape)), len(shape)
    return tuple([
        indices if i == axis else np.arange(n).reshape([-1 if j == i else 1 for j in range(ndim)])
        for i, n in enumerate(shape)
    ])


@elementwise(is_public=False, is_differentiable=False, told="", samples=(call(np.array([0, 2]), size=3),),
             emit=lambda k, i, size: k.in_range(i, size), result_dtype=lambda indices, _: indices.dtype)
def checked_positions(indices, /, size):
    """The `indices` themselves; one that is negative or not below `size` raises an OutOfRangeError."""
    if not indices.size:
        return indices
    if indices.__class__ is np.ndarray and indices.dtype == np.int64:
        # As numbers without a sign negative ones are the greatest: one pass in place of two.
        is_out = np.maximum.reduce(indices.view(np.uint64), axis=None) >= size
    else:
        is_out = indices.min() < 0 or indices.max() >= size
    if is_out:
        low, high = indices.min(), indices.max()
        raise OutOfRangeError(positions_error(size, low if low < 0 else high))
    return indices


def positions_error(size, found):
    """The message for a position that is `found`."""
    return f"indices must lie between 0 and {size - 1}, got {found}"


def _pick_in_ops(x, indices, axis):
    return where(_one_hot(x.shape, indices, axis), x, 0).sum(axis=axis)


def _unpick_in_ops(x, shape, indices, axis):
    return where(_one_hot(shape, indices, axis), expand_dims(x, one_axis(axis, len(shape))), 0)


def _one_hot(shape, indices, axis):
    """Where along `axis` the positions are."""
    axis = one_axis(axis, len(shape))
    places = np.arange(shape[axis]).reshape((-1,) + (1,) * (len(shape) - axis - 1))
    return equal(places, expand_dims(checked_positions(indices, shape[axis]), axis))


@indexing(is_public=False, makes_views=False, expansion=_pick_in_ops, told="", samples=(
    call((2, 3), indices=np.array([2, 0]), axis=1), call((2, 3, 2), indices=np.array([[2, 0], [1, 1]]), axis=1),
    call((4,), indices=np.array(3), axis=0)))
def pick(x, /, indices, axis=-1):
    r"""One element of each line of `x` along `axis`, which goes: that at the position in `indices`.

    Positions count from the front only; one that is negative or too great raises an OutOfRangeError.

    $z_r = x_{r\, i_r} \;\Rightarrow\; \bar x_{r j} = \bar z_r\,[j = i_r]$
    """
    return x[_checked(np.shape(x), indices, axis)]


pick.defvjp(lambda g, x_shape, indices, axis: unpick(g, x_shape, indices, axis))


@indexing(is_public=False, makes_views=False, expansion=_unpick_in_ops, told="", samples=(
    call((2,), shape=(2, 3), indices=np.array([2, 0]), axis=1), call((), shape=(4,), indices=np.array(3), axis=0)))
def unpick(x, /, shape, indices, axis=-1):
    r"""Zeros of `shape` with one element of `x` in each line along `axis`, at the position in `indices`.

    The transpose of `pick`: $\bar x_r = \bar z_{r\, i_r}$.
    """
    result = np.zeros_like(x, shape=shape)
    result[_checked(shape, indices, axis)] = x
    return result


unpick.defvjp(lambda g, indices, axis: pick(g, indices, axis))


def _checked(shape, indices, axis):
    """The index of `pick`, or an error where it does not fit."""
    indices, axis = np.asarray(indices), one_axis(axis, len(shape))
    others = (*shape[:axis], *shape[axis + 1 :])
    if indices.shape != others:
        raise ShapeError(f"indices must have the shape {others}, got {indices.shape}")
    return lines(shape, checked_positions(indices, shape[axis]), axis)


def lines(shape, indices, axis):
    """The index of one element of each line along `axis`, which counts from the front: that at the position in `indices`."""
    others = (*shape[:axis], *shape[axis + 1 :])
    ndim = len(others)
    grid = [np.arange(n).reshape([-1 if j == i else 1 for j in range(ndim)]) for i, n in enumerate(others)]
    return (*grid[:axis], indices, *grid[axis:])
