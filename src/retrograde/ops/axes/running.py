"""Neighbours along an axis: their differences, and sums, products and extremes that run on from one to the next."""

from typing import NamedTuple

import numpy as np

from ...core.explain import explaining
from ...errors import ArgumentError, ShapeError
from ...shapes import one_axis
from .._families import composite, search
from .._samples import call, distinct, of
from ..manipulation.gathering import take_along_axis
from ..manipulation.joins import concatenate
from ..manipulation.movements import broadcast_to, moveaxis
from .products import cumprod, cumsum

_TABLE = of((4, 3), distinct())


@composite(samples=(call((4, 3)), call((4, 3), axis=0, prepend=np.ones((1, 3))), call((3,), n=2),
                    call((2, 3, 4), axis=1, append=1.0), call((2, 0))))
def diff(x, /, axis=-1, n=1, prepend=None, append=None):
    r"""Differences of neighbours along `axis`, taken `n` times; numbers or arrays may be put before or after `x` first.

    $z_i = x_{i + 1} - x_i \;\Rightarrow\; \bar x_i = \bar z_{i - 1} - \bar z_i$

    >>> rg.diff(rg.tensor([1.0, 4.0, 9.0]))
    tensor([3., 5.])
    """
    if n < 0:
        raise ArgumentError(f"diff needs n >= 0, got {n}")
    if n == 0:
        return x
    x = moveaxis(x, axis, -1)
    around = [_line(part, x, axis) for part in (prepend, append)]
    if any(part is not None for part in around):
        x = concatenate([part for part in (around[0], x, around[1]) if part is not None], -1)
    for _ in range(n):
        x = x[..., 1:] ^ x[..., :-1] if x.dtype == bool else x[..., 1:] - x[..., :-1]
    return moveaxis(x, -1, axis)


def _line(part, x, axis):
    """`part`, a number or an array, as what can stand before or after the last axis of `x`."""
    if part is None or np.ndim(part):
        return part if part is None else moveaxis(part, axis, -1)
    part = part if hasattr(part, "dtype") else np.asarray(part, x.dtype)
    return broadcast_to(part, (*x.shape[:-1], 1))


@composite(samples=(call((2, 3), axis=0), call((4,)), call((2, 3), axis=-1, include_initial=True)))
def cumulative_sum(x, /, axis=None, dtype=None, include_initial=False):
    r"""`cumsum` along `axis`, which may be left out for one axis only; `include_initial` puts a 0 before.

    $z_i = \sum_{j \le i} x_j \;\Rightarrow\; \bar x_j = \sum_{i \ge j} \bar z_i$
    """
    return _run(cumsum, x, axis, dtype, 0 if include_initial else None)


@composite(samples=(call((2, 3), axis=0), call((4,)), call((2, 3), axis=-1, include_initial=True)))
def cumulative_prod(x, /, axis=None, dtype=None, include_initial=False):
    r"""`cumprod` along `axis`, which may be left out for one axis only; `include_initial` puts a 1 before.

    $z_i = \prod_{j \le i} x_j$, whose derivative is that of `cumprod`.
    """
    return _run(cumprod, x, axis, dtype, 1 if include_initial else None)


def _run(function, x, axis, dtype, initial):
    if axis is None and x.ndim > 1:
        raise ShapeError(f"axis may be left out for one axis only, got shape {x.shape}")
    axis = one_axis(-1 if axis is None else axis, max(x.ndim, 1))
    x = x.reshape(1) if x.ndim == 0 else x
    found = function(x, axis, dtype)
    if initial is None:
        return found
    first = np.full([1 if a == axis else n for a, n in enumerate(x.shape)], initial, found.dtype)
    return concatenate([first, found], axis)


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
