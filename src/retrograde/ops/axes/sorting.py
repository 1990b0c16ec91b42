"""Sorting: elements in order along an axis, the order itself, and what stands at given ranks. Equal elements keep their order."""

import numpy as np

from ...dtypes import float64
from ...errors import ShapeError
from ...shapes import one_axis
from .._families import composite, movement, search
from .._native import expensive_by_shape
from .._samples import call, distinct, of, uniform
from ..elementary.comparisons import isinf, isnan, minimum, where
from ..elementary.conversions import astype
from ..manipulation.gathering import add_along_axis, take_along_axis
from ..manipulation.joins import concatenate
from ..manipulation.movements import reshape, unbroadcast
from ._sorting import in_order, order_along, order_of

_TABLE, _ROWS, _RANKS = of((4, 3), distinct()), of((4, 5), distinct()), np.array([0, 3])
_CALLS = (call(_TABLE), call(_TABLE, axis=0, descending=True), call(_TABLE, axis=None))
#: Of more ranks, or of fewer elements, the whole order is found, rather than where each number is that has a rank.
_MOST_RANKS, _FEWEST = 8, 4096


@search(samples=_CALLS)
def argsort(x, /, axis=-1, descending=False, stable=True):
    """The positions along `axis` that put `x` in order; None sorts the elements in row-major order.

    `stable` keeps equal elements in their order; without it they may be exchanged, if that is faster.
    """
    x, axis = _line(x, axis)
    if stable:
        return order_along(x, axis, descending)
    return np.flip(np.shape(x)[axis] - 1 - np.argsort(np.flip(x, axis), axis), axis) if descending else np.argsort(x, axis)


def _line(x, axis):
    """`x` and the axis to sort along, which is the only one of all elements if None is asked for."""
    return (np.reshape(x, -1), 0) if axis is None else (x, one_axis(axis, np.ndim(x)) if np.ndim(x) else axis)


@movement(keeps_sizes=True, makes_views=False, samples=_CALLS)
def sort(x, /, axis=-1, descending=False, stable=True):  # noqa: ARG001 - without it nothing would be faster
    r"""`x` in ascending (or descending) order along `axis`; None sorts the elements in row-major order.

    Equal elements keep their order, with `stable` and without.

    $z_k = x_{\pi(k)}$ with the order $\pi$, so $\bar x_{\pi(k)} = \bar z_k$: each cotangent goes where its element was.
    """
    x, axis = _line(x, axis)
    return np.flip(in_order(np.flip(x, axis), axis), axis) if descending else in_order(x, axis)


def _sort_rule(g, x, axis, descending):
    if axis is not None and x.__class__ is np.ndarray and x.ndim:
        axis = one_axis(axis, x.ndim)
        return add_along_axis(g, x.shape, order_along(x, axis, descending), axis)
    return reshape(add_along_axis(g, g.shape, argsort(x, axis, descending), 0 if axis is None else axis), x.shape)


sort.defvjp(_sort_rule)


def _indices_shape(x, ranks):
    shape = np.shape(x)
    if not shape or not shape[-1]:
        raise ShapeError(f"what has a rank is found in rows of at least one element, got shape {shape}")
    return (*shape[:-1], ranks.shape[-1])


@search(is_public=False, faster=expensive_by_shape, result_shape=_indices_shape, result_dtype=lambda *_: np.dtype(np.int64),
        samples=(call(_ROWS, _RANKS), call(of((3,), distinct()), np.array([2]))))
def rank_indices(x, /, ranks):
    """Where in each row of `x` the elements stand that have the `ranks`, as `argsort` gives them; in a row with NaN, where the
    first is.

    `ranks` are the same for all rows, or are given for each.
    """
    shape = _indices_shape(x, ranks)
    rows, ranks = np.reshape(x, (-1, x.shape[-1])), np.reshape(np.broadcast_to(ranks, shape), (-1, shape[-1]))
    if shape[-1] > _MOST_RANKS or x.size < _FEWEST:
        order, every = order_of(rows), np.arange(len(rows))[:, None]
        if x.dtype.kind == "f":
            of_nan = x.shape[-1] - np.isnan(rows).sum(-1, keepdims=True)
            ranks = np.where(of_nan < x.shape[-1], of_nan, ranks)
        return np.reshape(order[every, ranks], shape)
    ordered = in_order(rows)
    return np.reshape(np.stack([_indices_of(rows, ordered, ranks[:, i, None]) for i in range(shape[-1])], -1), shape)


def _indices_of(x, ordered, ranks):
    """Where in each row the element stands that has the rank in `ranks`; `ordered` are the rows in order."""
    wanted = np.take_along_axis(ordered, ranks, -1)
    is_wanted = x == wanted
    if x.dtype.kind == "f":
        has_nan = np.isnan(ordered[:, -1])
        if has_nan.any():
            is_wanted[has_nan] = np.isnan(x[has_nan])
    places = is_wanted.argmax(-1)
    before = np.take_along_axis(ordered, np.maximum(ranks - 1, 0), -1)
    has_ties = ((before == wanted) & (ranks > 0))[:, 0]
    if has_ties.any():
        # Of equal elements the one is meant that as many of them stand before as in the sorted row.
        number = ranks[has_ties] - (ordered[has_ties] < wanted[has_ties]).sum(-1, keepdims=True)
        places[has_ties] = (np.cumsum(is_wanted[has_ties], -1) > number).argmax(-1)
    return places


@composite(is_public=False, is_multiple=True, samples=(
    call(_ROWS, of((2,), uniform(0.2, 0.8)), _RANKS), call(of((3,), distinct()), of((1,), uniform(0.2, 0.8)), np.array([1]))))
def between_ranks(x, weight, /, ranks):
    r"""Numbers between two neighbours of each row in sorted order, and the positions of those that have the `ranks`, and of those
    that come next.

    $z = (1 - w)\,x_{(i)} + w\,x_{(i + 1)} \;\Rightarrow\; \bar x_{(i)} = (1 - w)\,\bar z$, $\bar x_{(i + 1)} = w\,\bar z$ and
    $\bar w = \bar z\,(x_{(i + 1)} - x_{(i)})$, which is 0 where $w$ is 0 or 1, and in a row with NaN.
    """
    places = rank_indices(x, concatenate([ranks, minimum(ranks + 1, x.shape[-1] - 1)], -1))
    dtype = float64 if x.dtype.kind in "iub" else x.dtype
    low, high = _halves(astype(take_along_axis(x, places, -1), dtype))
    weight = astype(weight, dtype)
    # A weight of 0 must not turn an infinite neighbour into NaN, nor two equal ones of any weight.
    is_between = (weight != 0) & (weight != 1) & (low != high)
    has_end = is_between & (isinf(low) | isinf(high))
    found = low + where(is_between & ~has_end, high - where(is_between, low, 0), 0) * weight
    # What lies between a number and an infinity is infinite; between both infinities is no number.
    found = where(has_end, where(has_end, low, 0) * (1 - weight) + where(has_end, high, 0) * weight, found)
    return where(is_between, found, where(weight == 0, low, high)), places


def _halves(pairs):
    count = pairs.shape[-1] // 2
    return pairs[..., :count], pairs[..., count:]


def _between_ranks_rule(g, needs, x, weight, z):
    places = z[1]
    low, high = _halves(take_along_axis(x, places, -1))
    has_nan = isnan(low)
    g = where(has_nan, 0, g[0])
    of_x = of_weight = None
    if needs[0]:
        part = astype(weight, g.dtype)
        both = [where(part == 1, 0, g * (1 - part)), where(part == 0, 0, g * part)]
        of_x = add_along_axis(concatenate(both, -1), x.shape, places, -1)
    if needs[1]:
        of_weight = unbroadcast(where(has_nan | (weight == 0) | (weight == 1), 0, g * (high - low)), weight.shape)
    return of_x, of_weight


between_ranks.defvjp_all(_between_ranks_rule)
