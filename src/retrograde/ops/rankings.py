"""Ranks: the greatest elements, the middle one, and those that a part of the others lies below."""

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..shapes import axis_tuple, kept, one_axis
from ._families import composite, search
from ._samples import call, distinct, of
from .comparisons import isnan, where
from .gathering import take, take_along_axis
from .movements import moveaxis, reshape
from .searches import any
from .sorting import argsort, sort

_TABLE = of((4, 3), distinct())
_SOLID = of((2, 3, 4), distinct())


def topk(x, /, k, axis=-1, largest=True):
    """The `k` greatest elements of `x` along `axis` in descending order, and where they are; the least with `largest=False`.

    The gradient goes to the elements that were chosen.

    >>> values, places = rg.topk(rg.tensor([1.0, 4.0, 2.0]), 2)
    >>> values, places
    (tensor([4., 2.]), tensor([1, 2]))
    """
    places = top_places(x, k, axis, largest)
    return take_along_axis(x, places, axis), places


@search(samples=(call(_TABLE, 2), call(_TABLE, k=3, axis=0, largest=False), call(_TABLE, k=0, axis=1)))
def top_places(x, /, k, axis=-1, largest=True):
    """The positions along `axis` of the `k` greatest (or least) elements, in order; of equal ones the first come first."""
    size = x.shape[one_axis(axis, x.ndim)]
    if not 0 <= k <= size:
        raise ArgumentError(f"k must lie between 0 and the size of the axis, {size}, got {k}")
    return np.take(argsort(x, axis, largest), np.arange(k), axis)


#: How each method picks between the neighbours of the exact place.
METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


@composite(samples=(call(_TABLE, 0.3), call(_TABLE, q=np.array([0.0, 0.5, 1.0]), axis=0),
                    call(_SOLID, 0.25, axis=(0, -1), keepdims=True), call(_TABLE, 0.4, 1, False, "lower"),
                    call(_TABLE, 0.4, 1, False, "midpoint")))
def quantile(x, /, q, axis=None, keepdims=False, method="linear"):
    r"""The number that a part `q` (between 0 and 1) of the elements of `x` over `axis` lies below; NaN if one is NaN.

    The place is $q (n - 1)$ among the sorted elements; `method` says what to make of a place between two: "linear",
    "lower", "higher", "nearest" or "midpoint". Several `q` give a first axis of results. The gradient goes to the two
    neighbours by their weights: $z = (1 - w)\,x_{(i)} + w\,x_{(i + 1)}$.
    """
    if method not in METHODS:
        raise ArgumentError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    parts = np.asarray(q, dtype=np.float64)
    if not ((parts >= 0) & (parts <= 1)).all():
        raise ArgumentError(f"q must lie between 0 and 1, got {q}")
    rows, shape = _rows(x, axis)
    if rows.shape[-1] == 0:
        raise ShapeError(f"quantile needs at least one element, got shape {x.shape} over axis {axis}")
    below, above, weight = _neighbours(parts.reshape(-1) * (rows.shape[-1] - 1), method)
    ordered = sort(rows)
    low, high = take(ordered, below, -1), take(ordered, above, -1)
    found = low + (high - low) * weight.astype(np.float64 if rows.dtype.kind in "iub" else rows.dtype)
    found = where(any(isnan(rows), -1, keepdims=True), np.nan, found)
    shape = kept(x.shape, axis) if keepdims else shape
    return reshape(moveaxis(found, -1, 0), (*parts.shape, *shape))


def _rows(x, axis):
    """`x` with the axes to be taken together as a last one, and the shape of the others."""
    axes = axis_tuple(axis, x.ndim)
    rest = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    size = int(np.prod([x.shape[a] for a in axes], dtype=int))
    return reshape(moveaxis(x, axes, tuple(range(x.ndim - len(axes), x.ndim))), (*rest, size)), rest


def _neighbours(places, method):
    below, above = np.floor(places).astype(int), np.ceil(places).astype(int)
    if method == "lower":
        return below, below, np.zeros_like(places)
    if method == "higher":
        return above, above, np.zeros_like(places)
    if method == "nearest":
        nearest = np.round(places).astype(int)
        return nearest, nearest, np.zeros_like(places)
    return below, above, np.where(below < above, 0.5, 0.0) if method == "midpoint" else places - below


@composite(samples=(call(_TABLE), call(_TABLE, axis=0), call(_SOLID, axis=(0, -1), keepdims=True), call(_TABLE, axis=1)))
def median(x, /, axis=None, keepdims=False):
    r"""The middle element of `x` over `axis` in sorted order; of an even number, the mean of the middle two.

    The gradient goes to the middle element, or half to each of two.

    >>> rg.median(rg.tensor([3.0, 1.0, 2.0, 10.0]))
    tensor(2.5)
    """
    return quantile(x, 0.5, axis, keepdims)
