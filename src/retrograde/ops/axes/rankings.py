"""Ranks: the greatest elements, the middle one, and those that a part of the others lies below."""

from math import prod

import numpy as np

from ...core.dispatch import plain
from ...core.explain import explaining
from ...core.value import Value
from ...dtypes import int64
from ...errors import ArgumentError, DTypeError, ShapeError
from ...shapes import axis_tuple, kept, one_axis
from .._families import composite, search
from .._native import by_shape
from .._samples import call, distinct, of, uniform
from ..elementary.comparisons import clip, isnan, maximum, where
from ..elementary.conversions import astype
from ..elementary.rounding import ceil, floor, round
from ..manipulation.gathering import add_along_axis, take_along_axis
from ..manipulation.joins import concatenate
from ..manipulation.movements import moveaxis, reshape
from ._sorting import first_in_order, in_order, middle_by_kernel, middle_slopes_by_kernel, order_along
from .reductions import sum
from .sorting import between_ranks, rank_indices

_TABLE = of((4, 3), distinct())
_SOLID = of((2, 3, 4), distinct())


@explaining
def topk(x, /, k, axis=-1, largest=True):
    """The `k` greatest elements of `x` along `axis` in descending order, and where they are; the least with `largest=False`.

    The gradient goes to the elements that were chosen.

    >>> values, indices = rg.topk(rg.tensor([1.0, 4.0, 2.0]), 2)
    >>> values, indices
    (tensor([4., 2.]), tensor([1, 2]))
    """
    indices = top_indices(x, k, axis, largest)
    return take_along_axis(x, indices, axis), indices


@search(is_public=False, keeps_sizes=False, faster=by_shape,
        samples=(call(_TABLE, 2), call(_TABLE, k=3, axis=0, largest=False), call(_TABLE, k=0, axis=1)))
def top_indices(x, /, k, axis=-1, largest=True):
    """The positions along `axis` of the `k` greatest (or least) elements, in order; of equal ones the first come first."""
    along = one_axis(axis, x.ndim)
    if not 0 <= k <= x.shape[along]:
        raise ArgumentError(f"k must lie between 0 and the size of the axis, {x.shape[along]}, got {k}")
    if (found := first_in_order(x, along, k, largest)) is not None:
        return found
    return order_along(x, along, largest)[(slice(None),) * along + (slice(k),)].copy()


@composite(optional=("q",), samples=(
    call(_TABLE, 0.3), call(_TABLE, q=np.array([0.0, 0.5, 1.0]), axis=0), call(_SOLID, 0.25, axis=(0, -1), keepdims=True),
    call(_TABLE, 0.4, 1, False, "lower"), call(_TABLE, 0.4, 1, False, "midpoint"), call(_TABLE, 0.4, 0, False, "hazen"),
    call(_TABLE, of((2,), uniform(0.55, 0.6)), 1), call(_TABLE, 0.4, 0, False, "averaged_inverted_cdf")))
def quantile(x, /, q, axis=None, keepdims=False, method="linear"):
    r"""The number that a part `q` (between 0 and 1) of the elements of `x` over `axis` lies below; NaN if one is NaN.

    The place is $q (n - 1)$ among the sorted elements; `method` says what to make of a place between two: "linear",
    "lower", "higher", "nearest" or "midpoint". The other methods of Hyndman and Fan (1996), by NumPy's names, have other
    places. Several `q` give a first axis of results. Of integers the result is float64, but for methods that choose an element.

    The gradient goes to the two neighbours by their weights, $z = (1 - w)\,x_{(i)} + w\,x_{(i + 1)}$, and to a `q` that needs
    one by the place: $\bar q = \bar z\,(x_{(i + 1)} - x_{(i)})\,\partial w / \partial q$.
    """
    parts = _checked_parts(q, method)
    rows, shape = _rows(x, axis)
    if rows.shape[-1] == 0:
        raise ShapeError(f"quantile needs at least one element, got shape {x.shape} over axis {axis}")
    below, weight = METHODS[method](reshape(parts, -1), rows.shape[-1])
    if method in ELEMENTS and rows.dtype.kind in "iub":
        found = take_along_axis(rows, rank_indices(rows, astype(below, int64)), -1)
    else:
        found = between_ranks(rows, weight, astype(below, int64))[0]
    shape = kept(x.shape, axis) if keepdims else shape
    return reshape(moveaxis(found, -1, 0), (*parts.shape, *shape))


@composite(optional=("q",), samples=(
    call(_TABLE, 0.3), call(_TABLE, q=np.array([0.0, 0.5, 1.0]), axis=0), call(_SOLID, 0.25, axis=(0, -1), keepdims=True),
    call(_TABLE, 0.4, 1, False, "midpoint"), call(_TABLE, of((2,), uniform(0.55, 0.6)), 1)))
def nanquantile(x, /, q, axis=None, keepdims=False, method="linear"):
    r"""`quantile` of the elements of `x` that are not NaN; NaN where all of them are.

    The gradient goes to the two neighbours by their weights, as that of `quantile`; elements that are NaN have none.

    >>> rg.nanquantile(rg.tensor([3.0, float("nan"), 1.0]), 0.5)
    tensor(2.)
    """
    if x.dtype.kind in "iub":
        return quantile(x, q, axis, keepdims, method)
    parts = _checked_parts(q, method)
    rows, shape = _rows(x, axis)
    is_nan = isnan(rows)
    count = rows.shape[-1] - sum(astype(is_nan, int64), -1, keepdims=True)
    below, weight = METHODS[method](reshape(parts, -1), maximum(count, 1))
    found = between_ranks(where(is_nan, np.inf, rows), weight, astype(below, int64))[0]
    found = where(count == 0, np.nan, found)
    shape = kept(x.shape, axis) if keepdims else shape
    return reshape(moveaxis(found, -1, 0), (*parts.shape, *shape))


def _checked_parts(q, method):
    """`q` as an array, after a look at what the user asked for."""
    if method not in METHODS:
        raise ArgumentError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    parts = q if isinstance(q, Value) else np.asarray(q, dtype=np.float64)
    if not getattr(parts, "is_traced", False) and not ((plain(parts) >= 0) & (plain(parts) <= 1)).all():
        raise ArgumentError(f"q must lie between 0 and 1, got {q}")
    return parts


def _between(alpha, beta):
    """The methods whose place moves with q: n q + alpha + q (1 - alpha - beta) - 1, counted from 0."""
    def neighbours(q, n):
        place = q * (n - 1) if alpha == beta == 1 else n * q + (alpha + q * (1 - alpha - beta) - 1)
        place = clip(place, 0, n - 1)
        below = floor(place)
        return below, place - below

    return neighbours


def _at(rounded):
    """The methods that take the element at a rounded place."""
    def neighbours(q, n):
        below = clip(rounded(q, n), 0, n - 1)
        return below, below * 0

    return neighbours


def _halfway(q, n):
    place = q * (n - 1)
    below = floor(place)
    return below, where(place > below, 0.5, 0.0)


def _averaged(q, n):
    place = clip(n * q - 1, -1, n - 1)
    below = floor(place)
    weight = where(place > below, 1.0, 0.5)
    return maximum(below, 0), where(place < 0, 0.0, weight)


#: For each method: where the lower neighbour is and how much the upper one counts, from q and the number of elements.
METHODS = {
    "linear": _between(1, 1), "lower": _at(lambda q, n: floor(q * (n - 1))), "higher": _at(lambda q, n: ceil(q * (n - 1))),
    "nearest": _at(lambda q, n: round(q * (n - 1))), "midpoint": _halfway, "inverted_cdf": _at(lambda q, n: ceil(n * q) - 1),
    "averaged_inverted_cdf": _averaged, "closest_observation": _at(lambda q, n: round(n * q) - 1),
    "interpolated_inverted_cdf": _between(0, 1), "hazen": _between(0.5, 0.5), "weibull": _between(0, 0),
    "median_unbiased": _between(1 / 3, 1 / 3), "normal_unbiased": _between(3 / 8, 3 / 8),
}

#: The methods whose result is an element of `x`, and so an integer where they are.
ELEMENTS = frozenset(["lower", "higher", "nearest", "inverted_cdf", "closest_observation"])


def _rows(x, axis):
    """`x` with the axes to be taken together as a last one, and the shape of the others."""
    if x.dtype.kind == "c":
        raise DTypeError("complex numbers have no order, so they have no quantiles; take those of x.real and x.imag")
    axes = axis_tuple(axis, x.ndim)
    rest = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    if axes == (x.ndim - 1,):
        return x, rest
    size = prod([x.shape[a] for a in axes])
    return reshape(moveaxis(x, axes, tuple(range(x.ndim - len(axes), x.ndim))), (*rest, size)), rest


@composite(samples=(call(_TABLE), call(_TABLE, axis=0), call(_SOLID, axis=(0, -1), keepdims=True), call(_TABLE, axis=1)))
def median(x, /, axis=None, keepdims=False):
    r"""The middle element of `x` over `axis` in sorted order; of an even number, the mean of the middle two.

    The gradient goes to the middle element, or half to each of two.

    >>> rg.median(rg.tensor([3.0, 1.0, 2.0, 10.0]))
    tensor(2.5)
    """
    if getattr(x, "dtype", None) not in _WIDE or not x.size:
        return quantile(x, 0.5, axis, keepdims)
    rows, shape = _rows(x, axis)
    found = middle(rows)
    return reshape(found, kept(x.shape, axis)) if keepdims else found if found.shape == shape else reshape(found, shape)


_WIDE = (np.dtype(np.float32), np.dtype(np.float64))


def _middle_in_ops(x):
    below, weight = METHODS["linear"](np.full(1, 0.5), x.shape[-1])
    return between_ranks(x, weight, astype(below, int64))[0][..., 0]


@composite(is_public=False, is_composite=False, told="median", expansion=_middle_in_ops, samples=(call(_TABLE), call(_SOLID)))
def middle(x, /):
    r"""The middle element of each row of `x` in sorted order, or the mean of the middle two; NaN if one is NaN.

    The cotangent goes to the middle element, or half to each of two, and nowhere in a row with NaN.
    """
    if (found := middle_by_kernel(x)) is not None:
        return found
    x = x.astype(np.float64) if x.dtype.kind in "iub" else x
    ordered, count = in_order(x), x.shape[-1]
    low, high = ordered[..., (count - 1) // 2], ordered[..., count // 2]
    if count % 2 == 0:
        with np.errstate(invalid="ignore"):  # between two infinities is no number, and equal ones are themselves
            has_end = np.isinf(low) | np.isinf(high)
            low = np.where(low == high, low, np.where(has_end, low * 0.5 + high * 0.5, low + (high - low) * x.dtype.type(0.5)))
    return np.where(np.isnan(ordered[..., -1]), ordered.dtype.type(np.nan), low)


def _middle_rule(g, x, z):
    if (found := middle_slopes_by_kernel(g, x, z)) is not None:
        return found
    count = x.shape[-1]
    ranks = np.array([(count - 1) // 2, count // 2])[: 2 - count % 2]
    share = where(isnan(z), 0, g if count % 2 else g * 0.5)
    parts = reshape(share, (*share.shape, 1))
    parts = parts if count % 2 else concatenate([parts, parts], -1)
    return add_along_axis(parts, x.shape, rank_indices(x, ranks), -1)


middle.defvjp(_middle_rule)


@composite(samples=(call(_TABLE), call(_SOLID, axis=(0, -1), keepdims=True)))
def nanmedian(x, /, axis=None, keepdims=False):
    """The `median` of the elements of `x` over `axis` that are not NaN; NaN where all of them are.

    The gradient goes to the middle element, or half to each of two.
    """
    return nanquantile(x, 0.5, axis, keepdims)
