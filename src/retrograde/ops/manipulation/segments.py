"""Reductions of segments: the rows of an array that carry the same number are taken together."""

import numpy as np

from ...errors import OutOfRangeError, ShapeError
from .._arrays import shape_of
from .._families import composite, reduction
from .._samples import call, distinct, of, uniform
from ..elementary.arithmetic import divide
from ..elementary.comparisons import maximum, where
from ..elementary.conversions import as_floats, as_terms
from .gathering import take
from .movements import reshape
from .selections import scatter_add

_IDS, _FULL = np.array([2, 0, 0, 3]), np.array([1, 0, 0, 2])
_ROWS = of((4, 2), distinct())


def _checked(x, segments, count):
    """`segments` as an array of one number per row of `x`, below `count`."""
    segments = np.asarray(segments)
    if segments.ndim != 1 or np.ndim(x) == 0 or len(segments) != x.shape[0]:
        raise ShapeError(f"segments must give one number for each row of x, got shapes {segments.shape} and {np.shape(x)}")
    if segments.size and not 0 <= segments.min() <= segments.max() < count:
        raise OutOfRangeError(f"segments must lie between 0 and {count - 1}, got {segments.min()} to {segments.max()}")
    return segments


@composite(samples=(call((4, 2), segments=_IDS, count=5), call((4,), segments=_IDS, count=4)))
def segment_sum(x, /, segments, count):
    r"""The sum of the rows of `x` that carry each number from 0 to `count` - 1 in `segments`; 0 of none.

    $z_s = \sum_{i :\, s_i = s} x_i \;\Rightarrow\; \bar x_i = \bar z_{s_i}$

    >>> rg.segment_sum(rg.tensor([1.0, 2.0, 3.0]), rg.tensor([0, 1, 0]), 2)
    tensor([4., 2.])
    """
    if x.ndim == 0 or shape_of(segments) != x.shape[:1]:
        raise ShapeError(f"segments must give one number for each row of x, got shapes {shape_of(segments)} and {x.shape}")
    return scatter_add(as_terms(x), (count, *x.shape[1:]), (segments,))


@composite(samples=(call((4, 2), segments=_IDS, count=5), call((4,), segments=_IDS, count=4)))
def segment_mean(x, /, segments, count):
    r"""The mean of the rows of `x` that carry each number in `segments`; 0 of none.

    $z_s = \tfrac{1}{n_s} \sum_{i :\, s_i = s} x_i \;\Rightarrow\; \bar x_i = \bar z_{s_i} / n_{s_i}$
    """
    (x,) = as_floats(x)
    ones = np.ones(x.shape[:1], x.dtype)
    sizes = maximum(scatter_add(ones, (count,), (segments,)), 1)
    return divide(segment_sum(x, segments, count), reshape(sizes, (count,) + (1,) * (x.ndim - 1)))


@reduction(keeps_sizes=False, samples=(call(_ROWS, segments=_FULL, count=3), call(of((4,), distinct()), segments=_FULL, count=3)))
def segment_max(x, /, segments, count):
    r"""The greatest of the rows of `x` that carry each number in `segments`, element by element; the least number of none.

    $\bar x_i = \bar z_{s_i}\,[x_i = z_{s_i}] / n$, where $n$ elements of the segment tie.
    """
    least = -np.inf if x.dtype.kind not in "iub" else np.iinfo(x.dtype).min if x.dtype.kind != "b" else False
    return _folded(np.maximum, x, segments, count, least)


@reduction(keeps_sizes=False, samples=(call(_ROWS, segments=_FULL, count=3), call(of((4,), distinct()), segments=_FULL, count=3)))
def segment_min(x, /, segments, count):
    r"""The least of the rows of `x` that carry each number in `segments`, element by element; the greatest number of none.

    $\bar x_i = \bar z_{s_i}\,[x_i = z_{s_i}] / n$, where $n$ elements of the segment tie.
    """
    greatest = np.inf if x.dtype.kind not in "iub" else np.iinfo(x.dtype).max if x.dtype.kind != "b" else True
    return _folded(np.minimum, x, segments, count, greatest)


@reduction(is_public=False, is_differentiable=False, result_shape=lambda x, _: x.shape, result_dtype=lambda x, _: x.dtype,
           samples=(call((4, 2), places=np.array([2, 1, 3, 0])),))
def sum_along_places(x, /, places):
    """For each row of `x` the sum of all in its ring, in the order in which `places` leads through it: from the row that comes next
    up to the row itself. `places`, such as `next_places` gives, has each row once.
    """
    own = np.arange(len(places))
    at, total = places, x[places]
    while (going := np.flatnonzero(at != own)).size:
        at = np.where(at != own, places[at], at)
        total[going] += x[at[going]]
    return total


def _folded(function, x, segments, count, start):
    result = np.full_like(x, start, shape=(count, *x.shape[1:]))
    function.at(result, _checked(x, segments, count), x)
    return result


def _extremum_rule(g, x, z, segments, count):
    is_extreme = (x == take(z, segments, 0)) | (x != x)
    ties = segment_sum(is_extreme.astype(g.dtype), segments, count)
    return where(is_extreme, take(g / maximum(ties, 1), segments, 0), 0)


segment_max.defvjp(_extremum_rule)
segment_min.defvjp(_extremum_rule)


@reduction(keeps_sizes=False, samples=(call(of((4, 2), uniform(0.5, 2)), segments=_IDS, count=5),
                    call(of((4,), uniform(-2, -1)), segments=_IDS, count=4)))
def segment_prod(x, /, segments, count):
    r"""The product of the rows of `x` that carry each number in `segments`; 1 of none.

    $z_s = \prod_{i :\, s_i = s} x_i \;\Rightarrow\; \bar x_i = \bar z_{s_i} \prod_{j \ne i :\, s_j = s_i} x_j$,
    also where elements are zero.
    """
    return _folded(np.multiply, as_terms(x), segments, count, 1)


def _prod_rule(g, x, segments, count):
    is_zero = x == 0
    zeros = take(segment_sum(is_zero.astype(g.dtype), segments, count), segments, 0)
    nonzero = where(is_zero, 1, x)
    others = take(segment_prod(nonzero, segments, count), segments, 0) / nonzero
    return take(g, segments, 0) * where(zeros - is_zero == 0, others, 0)


segment_prod.defvjp(_prod_rule)
