"""Running extremes: the greatest, or the least, of what has come so far along an axis, and where it is."""

from typing import NamedTuple

import numpy as np

from ..core.explain import explaining
from ..shapes import one_axis
from ._families import search
from ._samples import call, distinct, of
from .gathering import take_along_axis

_TABLE = of((4, 3), distinct())


class Extremes(NamedTuple):
    """The `values` so far, and the `indices` of the last elements that have them."""

    values: object
    indices: object


@explaining
def cummax(x, /, axis):
    """The greatest element so far along `axis`, and where the last one of its value is; a NaN is greater than all.

    The gradient goes to the elements at these places.

    >>> rg.cummax(rg.tensor([1.0, 3.0, 2.0, 3.0]), 0)
    Extremes(values=tensor([1., 3., 3., 3.]), indices=tensor([0, 1, 1, 3]))
    """
    return _extremes(x, axis, True)


@explaining
def cummin(x, /, axis):
    """The least element so far along `axis`, and where the last one of its value is; a NaN is less than all.

    The gradient goes to the elements at these places.

    >>> rg.cummin(rg.tensor([3.0, 1.0, 2.0]), 0).values
    tensor([3., 1., 1.])
    """
    return _extremes(x, axis, False)


def _extremes(x, axis, is_greatest):
    indices = running_indices(x, axis, is_greatest)
    return Extremes(take_along_axis(x, indices, axis), indices)


@search(is_public=False, samples=(call(_TABLE, axis=0), call(_TABLE, -1, is_greatest=False), call(of((0, 2)), axis=1)))
def running_indices(x, /, axis, is_greatest=True):
    """For each element of `x` along `axis` where the last of the greatest (or least) elements up to it is."""
    so_far = (np.maximum if is_greatest else np.minimum).accumulate(x, axis=axis)
    is_extreme = x == so_far
    if x.dtype.kind == "f":
        is_extreme |= np.isnan(x)
    axis = one_axis(axis, x.ndim)
    numbers = np.arange(x.shape[axis]).reshape(-1, *(1,) * (x.ndim - axis - 1))
    return np.maximum.accumulate(np.where(is_extreme, numbers, 0), axis=axis)
