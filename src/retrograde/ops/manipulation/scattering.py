"""Gathering and scattering along one axis. Unlike `take_along_axis`, the indices may be fewer than the elements along every
axis, as in PyTorch.
"""

import numpy as np

from ...errors import ArgumentError, DTypeError, ShapeError
from ...shapes import one_axis, row_major
from .._families import composite
from .._samples import call, distinct, of
from ..elementary.comparisons import where
from ..elementary.conversions import as_floats, astype
from .gathering import take_along_axis
from .joins import concatenate
from .movements import broadcast_to, reshape
from .segments import segment_max, segment_mean, segment_min, segment_prod, segment_sum
from .selections import getitem, set_at

_PLACES, _DISTINCT = np.array([[2, 0], [1, 2]]), np.array([[2, 0], [1, 1]])
_MEETING = np.array([1, 1, 0])


def _index(shape, indices, axis):
    """The index that pairs each of `indices`, along `axis`, with its own place along all other axes."""
    if not hasattr(indices, "shape") or hasattr(axis, "shape") and axis.shape:
        raise DTypeError("indices must be an array and axis an integer, in this order: x.gather(indices, axis), "
                         "x.scatter(y, indices, axis)")
    axis = one_axis(axis, len(shape))
    sizes = list(zip(indices.shape, shape, strict=False))
    if len(indices.shape) != len(shape) or any(m > n for a, (m, n) in enumerate(sizes) if a != axis):
        raise ShapeError(f"indices must have {len(shape)} axes, and only axis {axis} longer than in {tuple(shape)}; got shape "
                         f"{indices.shape}")
    lines = np.ogrid[tuple(map(slice, indices.shape))]
    return tuple(indices if a == axis else line for a, line in enumerate(lines))


def _part(y, shape):
    """The first elements of `y` along each axis; a number as it is."""
    return getitem(y, tuple(map(slice, shape))) if np.ndim(y) else y


@composite(samples=(call((2, 3), indices=_PLACES, axis=1), call((3, 3), indices=_PLACES, axis=0),
                    call((4,), indices=np.array([3, 3]))))
def gather(x, /, indices, axis=-1):
    r"""The elements of `x` at the positions `indices` along `axis`, each at its own place along the other axes.

    $z_{r k} = x_{r\, i_{r k}}$: $\bar x$ is zero but for $\bar z$ added at the positions.
    """
    if axis.__class__ is int and -x.ndim <= axis < x.ndim and hasattr(indices, "shape") and len(indices.shape) == x.ndim:
        along = axis % x.ndim
        others = [tuple(shape[:along]) + tuple(shape[along + 1 :]) for shape in (indices.shape, x.shape)]
        if others[0] == others[1]:
            return take_along_axis(x, indices, along)
    return getitem(x, _index(x.shape, indices, axis))


@composite(samples=(call((2, 3), (2, 2), indices=_DISTINCT, axis=1), call((3, 3), (), indices=_PLACES, axis=0),
                    call((4,), (3,), indices=_MEETING), call((3, 3), (3, 4), indices=_PLACES, axis=0)))
def scatter(x, y, /, indices, axis=-1):
    r"""A copy of `x` in which the elements of `y`, a number or at least as many as `indices`, stand at the positions `indices`.

    Positions are counted along `axis`; the last element written to one counts. $\bar x = \bar z$ but zero at the positions,
    $\bar y$ is $\bar z$ at the positions where it was not overwritten.
    """
    return set_at(x, _part(y, indices.shape), _index(x.shape, indices, axis))


_REDUCTIONS = {"sum": segment_sum, "mean": segment_mean, "prod": segment_prod, "max": segment_max, "min": segment_min}


@composite(samples=(
    call((2, 3), (2, 2), indices=_PLACES, axis=1), call((3, 3), (2, 2), indices=_PLACES, axis=0, reduce="mean"),
    call((4,), of((3,), distinct(1, 2)), indices=_MEETING, reduce="prod"),
    call(of((4,), distinct(4, 5)), of((3,), distinct()), indices=_MEETING, reduce="min"),
    call((4,), of((3,), distinct()), indices=_MEETING, reduce="max", include_self=False)))
def scatter_reduce(x, y, /, indices, axis=-1, reduce="sum", include_self=True):
    r"""`x` with the elements of `y` joined to what stands at the positions `indices` along `axis`, by `reduce`.

    `reduce` is "sum", "mean", "prod", "max" or "min". Without `include_self` what stood at such a position does not count; an
    element that nothing comes to stays. The derivative is that of the reduction of each position (see `segment_sum` and its
    like).
    """
    if reduce not in _REDUCTIONS:
        raise ArgumentError(f"reduce must be one of {', '.join(_REDUCTIONS)}, got {reduce!r}")
    x, y = as_floats(x, y) if reduce == "mean" else (x, y)
    places, steps = 0, row_major(x.shape)
    for part, size, step in zip(_index(x.shape, indices, axis), x.shape, steps, strict=True):
        places = places + where(part < 0, part + size, part) * step
    places = reshape(places, -1)
    y = reshape(broadcast_to(_part(y, indices.shape), indices.shape), -1)
    if include_self:
        places, y = concatenate([np.arange(x.size), places]), concatenate([reshape(x, -1), y])
        return reshape(_joined(reduce, y, places, x.size), x.shape)
    is_met = segment_sum(np.ones(places.shape), places, x.size) > 0
    return reshape(where(is_met, _joined(reduce, y, places, x.size), reshape(x, -1)), x.shape)


def _joined(reduce, y, places, count):
    """Elements reduced by place, in their type: what is written into an array of integers has that of the array."""
    found = _REDUCTIONS[reduce](y, places, count)
    return found if found.dtype == y.dtype else astype(found, y.dtype)
