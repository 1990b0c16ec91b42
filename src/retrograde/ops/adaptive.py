"""Windows whose number along an axis is given: window $i$ of $m$ over $n$ elements reaches from $\\lfloor i n / m \\rfloor$ to
$\\lceil (i + 1) n / m \\rceil$, so that neighbours overlap where $m$ does not divide $n$.
"""

from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..shapes import one_axis
from ._families import reduction
from ._native import dear_by_shape
from ._samples import call, distinct, of
from .comparisons import where
from .conversions import astype
from .gathering import take
from .movements import expand_dims, reshape
from .reductions import max, sum

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


@reduction(keeps_sizes=False, faster=dear_by_shape, expansion=_max_in_ops, skips={"exported": "the inside of adaptive_max_pool1d"},
           samples=(call(_TABLE, 2), call(_TABLE, 3, axis=0), call(of((2, 3), distinct()), 5)))
def adaptive_max(x, /, count, axis=-1):
    r"""The greatest element of each of `count` windows along `axis`.

    Equal elements share: $\bar x_j = \sum_{i \ni j} [x_j = z_i]\, \bar z_i / n_i$ over the windows that $x_j$ is in, where $n_i$
    elements of window $i$ are the greatest.
    """
    axis = one_axis(axis, x.ndim)
    places = AdaptiveWindows.of(count, x.shape[axis]).places
    lines = np.ascontiguousarray(np.moveaxis(x, axis, 0))
    found = lines[places[:, 0]]
    for column in places[:, 1:].T:
        np.maximum(found, lines[column], out=found)
    return np.ascontiguousarray(np.moveaxis(found, 0, axis))


def _adaptive_max_rule(g, x, z, count, axis):
    axis = one_axis(axis, x.ndim)
    windows, behind = AdaptiveWindows.of(count, x.shape[axis]), (1,) * (x.ndim - axis - 1)
    is_greatest = take(x, windows.places, axis) == expand_dims(z, axis + 1)
    is_greatest = is_greatest & reshape(windows.is_inside, (*windows.is_inside.shape, *behind))
    share, total = g / sum(astype(is_greatest, g.dtype), axis + 1), 0
    for window, is_in in zip(*windows.around, strict=True):
        is_greatest = (x == take(z, window, axis)) & reshape(is_in, (-1, *behind))
        total = total + where(is_greatest, take(share, window, axis), 0)
    return total


adaptive_max.defvjp(_adaptive_max_rule)
