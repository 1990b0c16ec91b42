"""Windows whose number along an axis is given: window $i$ of $m$ over $n$ elements reaches from $\\lfloor i n / m \\rfloor$ to
$\\lceil (i + 1) n / m \\rceil$, so that neighbours overlap where $m$ does not divide $n$.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...errors import ArgumentError
from ...shapes import one_axis
from .._families import reduction
from .._native import expensive_by_shape
from .._samples import call, distinct, of
from ..axes.reductions import max, sum
from ..axes.searches import argmax
from ..elementary.comparisons import where
from ..elementary.conversions import as_floats, narrowed, widened
from ..manipulation.gathering import take
from ..manipulation.movements import reshape
from .bands import banded, frozen

_TABLE = of((4, 5), distinct())


class AdaptiveWindows(NamedTuple):
    """Where each window starts and stops."""

    start: np.ndarray
    stop: np.ndarray

    @classmethod
    def of(cls, count, size):
        """`count` windows over an axis of `size` elements."""
        if count < 1 or size < 1:
            raise ArgumentError(f"at least one window over at least one element is needed, got {count} over {size}")
        number = np.arange(count)
        return cls(number * size // count, -(-(number + 1) * size // count))

    @property
    def places(self):
        """(windows, elements): the elements of each window, its last one again in windows that are shorter than others."""
        longest = int((self.stop - self.start).max())
        return np.minimum(self.start[:, None] + np.arange(longest), self.stop[:, None] - 1)

    @property
    def is_inside(self):
        """(windows, elements): whether an element of `places` is one of the window's own."""
        return np.arange(self.places.shape[1]) < (self.stop - self.start)[:, None]

    def parts(self, dtype):
        """What part of its window each element is, in a float type of at least 4 bytes."""
        return (1 / (self.stop - self.start)).astype(np.result_type(dtype, np.float32))

    @property
    def around(self):
        """For each element the windows that it is in as rows, and for each of those which elements are in one at all."""
        element = np.arange(self.stop[-1])
        first, end = np.searchsorted(self.stop, element, "right"), np.searchsorted(self.start, element, "right")
        windows = first + np.arange((end - first).max())[:, None]
        return np.minimum(windows, end - 1), windows < end


def _max_in_ops(x, count, axis):
    axis = one_axis(axis, x.ndim)
    places = AdaptiveWindows.of(count, x.shape[axis]).places
    if x.shape[axis] % count == 0:
        return max(reshape(x, (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])), axis + 1)
    return max(take(x, places, axis), axis + 1)


@reduction(is_public=False, keeps_sizes=False, faster=expensive_by_shape, expansion=_max_in_ops,
           samples=(call(_TABLE, 2), call(_TABLE, 3, axis=0), call(of((2, 3), distinct()), 5)))
def adaptive_max(x, /, count, axis=-1):
    r"""The greatest element of each of `count` windows along `axis`.

    The cotangent goes to the first of equal elements: $\bar x_j = \sum_{i \ni j} [j = j_i]\, \bar z_i$ with the place $j_i$ of the
    greatest element of window $i$; a NaN is the greatest.
    """
    axis = one_axis(axis, x.ndim)
    places = AdaptiveWindows.of(count, x.shape[axis]).places
    lines = np.ascontiguousarray(np.moveaxis(x, axis, 0))
    found = lines[places[:, 0]]
    for column in places[:, 1:].T:
        np.maximum(found, lines[column], out=found)
    return np.ascontiguousarray(np.moveaxis(found, 0, axis))


def greatest_places(x, places, axis):
    """Where the first greatest element along `axis` is of those at `places`, (windows, elements); the first NaN before all."""
    at = argmax(take(x, places, axis), axis + 1)
    return take(places.ravel(), at + _along(np.arange(len(places)) * places.shape[1], x.ndim - axis), 0)


def _along(line, ndim):
    """`line` in a shape of `ndim` axes that broadcasts along the last ones."""
    return reshape(line, (-1, *[1] * (ndim - 1)))


def _adaptive_max_rule(g, x, count, axis):
    axis = one_axis(axis, x.ndim)
    windows, total = AdaptiveWindows.of(count, x.shape[axis]), 0
    at, numbers = greatest_places(x, windows.places, axis), _along(np.arange(x.shape[axis]), x.ndim - axis)
    for window, is_in in zip(*windows.around, strict=True):
        is_greatest = (take(at, window, axis) == numbers) & _along(is_in, x.ndim - axis)
        total = total + where(is_greatest, take(g, window, axis), 0)
    return total


adaptive_max.defvjp(_adaptive_max_rule)


def _mean_in_ops(x, count, axis):
    (x,) = as_floats(x)
    axis = one_axis(axis, x.ndim)
    windows, ndim = AdaptiveWindows.of(count, x.shape[axis]), x.ndim - axis
    wide = widened(x)
    seen = where(reshape(windows.is_inside, (*windows.is_inside.shape, *[1] * (ndim - 1))), take(wide, windows.places, axis), 0)
    return narrowed(sum(seen, axis + 1) * _along(windows.parts(wide.dtype), ndim), x)


@lru_cache(maxsize=128)
def _band(count, size, dtype):
    """The places and the weights of the elements of each window, as `banded` has them."""
    windows = AdaptiveWindows.of(count, size)
    weights = windows.is_inside * windows.parts(dtype)[:, None]
    return frozen([np.ascontiguousarray(windows.places.T, np.int64), np.ascontiguousarray(weights.T, dtype)])


@lru_cache(maxsize=128)
def _band_back(count, size, dtype):
    """The same of the windows that each element is in."""
    windows = AdaptiveWindows.of(count, size)
    around, is_in = windows.around
    weights = is_in * windows.parts(dtype)[around]
    return frozen([np.ascontiguousarray(around, np.int64), np.ascontiguousarray(weights, dtype)])


@reduction(is_public=False, keeps_sizes=False, faster=expensive_by_shape, expansion=_mean_in_ops,
           samples=(call((4, 5), 2), call((4, 5), 3, axis=0), call((2, 3), 5)))
def adaptive_mean(x, /, count, axis=-1):
    r"""The mean of each of `count` windows along `axis`: an infinity stays in the windows that it is in.

    $\bar x_j = \sum_{i \ni j} \bar z_i / n_i$ over the windows that $x_j$ is in, of $n_i$ elements.
    """
    axis, (x,) = one_axis(axis, x.ndim), as_floats(x)
    places, weights = _band(count, x.shape[axis], x.dtype)
    if (found := banded(x, places, weights, axis)) is not None:
        return found
    if count > x.shape[axis]:
        return _mean_in_ops(x, count, axis)
    windows, wide = AdaptiveWindows.of(count, x.shape[axis]), widened(x)
    # Between a start and a stop is a window; between a stop and the next start nothing is wanted. The last stop is the end.
    bounds = np.stack([windows.start, windows.stop], 1).ravel()[:-1]
    sums = np.add.reduceat(wide, bounds, axis)[(slice(None),) * axis + (slice(None, None, 2),)]
    return narrowed(sums * _along(windows.parts(sums.dtype), x.ndim - axis), x)


def _adaptive_mean_rule(g, x_shape, count, axis):
    axis, total = one_axis(axis, len(x_shape)), 0
    places, weights = _band_back(count, x_shape[axis], g.dtype)
    if (found := banded(g, places, weights, axis)) is not None:
        return found
    windows, ndim = AdaptiveWindows.of(count, x_shape[axis]), len(x_shape) - axis
    share = widened(g) * _along(windows.parts(g.dtype), ndim)
    for window, is_in in zip(*windows.around, strict=True):
        total = total + where(_along(is_in, ndim), take(share, window, axis), 0)
    return narrowed(total, g)


adaptive_mean.defvjp(_adaptive_mean_rule)
