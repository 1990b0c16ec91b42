"""Finding elements: which are not zero, which occur, where one would go. The number of results depends on the elements, so most of
this cannot be compiled.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.dispatch import plain
from ...errors import DTypeError, ShapeError
from .._arrays import arrays
from .._families import search
from .._samples import call, distinct, of
from ..manipulation.gathering import take
from ..manipulation.movements import reshape
from .reductions import sum

_TABLE = of((2, 3), distinct())


@search(samples=(call((2, 3)), call((2, 3), axis=1, keepdims=True), call((2, 3, 2), axis=(0, -1))),
        expansion=lambda x, axis, keepdims: sum(x != 0, axis, keepdims))
def count_nonzero(x, /, axis=None, keepdims=False):
    """How many elements of `x` over `axis` are not zero."""
    return np.count_nonzero(x, axis=axis, keepdims=keepdims)


@search(samples=(call(np.array([1.0, 2.0, 4.0]), (2, 3)), call(np.array([1.0, 2.0, 2.0]), np.array([2.0]), side="right"),
                 call(np.array([3.0, 1.0]), (4,), sorter=np.array([1, 0]))))
def searchsorted(x, y, /, side: Any = "left", sorter=None):
    """For each element of `y` the position in the sorted vector `x` at which it would keep the order.

    Before equal elements with side="left", after them with "right". `sorter` is what `argsort` gives, if `x` is not sorted.
    """
    return np.searchsorted(x, y, side=side, sorter=sorter)


@search(samples=(call((2, 3), np.array([1, 2])), call(np.array([1, 2, 3]), np.array([3, 1]), invert=True)))
def isin(x, y, /, invert=False):
    """Whether each element of `x` is among those of `y`; with `invert`, whether it is not."""
    return np.isin(x, y, invert=invert)


@search(is_public=False, result_shape=lambda x: x.shape, result_dtype=lambda _: np.dtype(np.int64), samples=(
    call(np.array([7, 2, 7, 7, 2, 9])), call(np.array([5]))))
def first_places(x, /):
    """For each element of the vector `x` of integers the place where an equal one stands first."""
    _, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    return first[np.reshape(inverse, -1)].astype(np.int64, copy=False)


@search(is_public=False, result_shape=lambda x: x.shape, result_dtype=lambda _: np.dtype(np.int64), samples=(
    call(np.array([7, 2, 7, 7, 2, 9])), call(np.array([5]))))
def next_places(x, /):
    """For each element of the vector `x` of integers the place where an equal one stands next; the first one after the last."""
    order = np.argsort(x, kind="stable")
    is_last = np.append(x[order[1:]] != x[order[:-1]], x.size > 0)
    ends = np.flatnonzero(is_last)
    following = np.append(order[1:], order[:1])
    following[ends] = order[np.append(0, ends[:-1] + 1)[: len(ends)]]
    result = np.empty(x.shape, np.int64)
    result[order] = following
    return result


def nonzero(x, /):
    """The positions of the elements of `x` that are not zero: for each axis one vector of integers.

    >>> rg.nonzero(rg.tensor([0.0, 5.0, 7.0]))
    (tensor([1, 2]),)
    """
    if np.ndim(x) == 0:
        raise ShapeError("nonzero needs at least one axis, got shape ()")
    return tuple([_like(x, places) for places in np.nonzero(plain(x))])


class UniqueAll(NamedTuple):
    """What `unique_all` finds."""

    values: object
    indices: object
    inverse_indices: object
    counts: object


class UniqueCounts(NamedTuple):
    """What `unique_counts` finds."""

    values: object
    counts: object


class UniqueInverse(NamedTuple):
    """What `unique_inverse` finds."""

    values: object
    inverse_indices: object


def unique_all(x, /):
    """The different elements of `x` in order, where each occurs first, which of them each element is, and how often it occurs.

    The gradient of a value goes to its first occurrence. NaNs all differ.

    >>> rg.unique_all(rg.tensor([3.0, 1.0, 3.0])).counts
    tensor([1, 2])
    """
    found = np.unique(_data(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    indices, inverse, counts = [_like(x, part) for part in (found[1], found[2].reshape(np.shape(x)), found[3])]
    return UniqueAll(take(reshape(x, -1), found[1], 0), indices, inverse, counts)


def unique_counts(x, /):
    """The different elements of `x` in order, and how often each occurs. See `unique_all`."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x, /):
    """The different elements of `x` in order, and which of them each element is. See `unique_all`."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x, /):
    """The different elements of `x` in order. See `unique_all`."""
    return unique_all(x).values


def _data(x):
    data = plain(x)
    if not hasattr(data, "dtype"):
        raise DTypeError(f"an array is needed, got {type(x).__name__}")
    return np.asarray(data)


def _like(x, data):
    """`data` as a tensor if `x` is one."""
    return data if plain(x) is x else arrays.made(data)
