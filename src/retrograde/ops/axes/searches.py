"""Searches: where in an array something is. Results are integers or booleans, without a gradient."""

import numpy as np

from ...shapes import kept
from .._families import search
from .._samples import call, distinct, of
from ..elementary.comparisons import where
from ..elementary.conversions import astype
from ..manipulation.movements import reshape
from .reductions import max, min

_CALLS = tuple(call(of((2, 3), distinct()), axis=axis, keepdims=keep) for axis, keep in ((None, False), (0, False), (-1, True)))


def _first_place(extremum):
    """The position of the first greatest or least element, in ops: those that are it, or NaN, by the least of their positions."""
    def in_ops(x, axis, keepdims):
        if x.dtype.kind not in "fib" or not x.size or not x.ndim:
            return NotImplemented
        lines = reshape(x, -1) if axis is None else x
        lines, along = astype(lines, np.int8) if x.dtype == bool else lines, axis if axis is not None else 0
        places = np.arange(lines.shape[along], dtype=np.int32)
        places = places.reshape([-1 if a == along % lines.ndim else 1 for a in range(lines.ndim)])
        is_best = lines == extremum(lines, along, True)
        is_found = is_best | (lines != lines) if x.dtype.kind == "f" else is_best
        found = astype(min(where(is_found, places, np.int32(lines.shape[along])), along, keepdims), np.int64)
        return reshape(found, kept(x.shape, axis)) if keepdims else found

    return in_ops


@search(samples=_CALLS, expansion=_first_place(max))
def argmax(x, /, axis=None, keepdims=False):
    """Index of the first greatest element along `axis`; None counts in row-major order."""
    return np.argmax(x, axis=axis, keepdims=keepdims)


@search(samples=_CALLS, expansion=_first_place(min))
def argmin(x, /, axis=None, keepdims=False):
    """Index of the first least element along `axis`; None counts in row-major order."""
    return np.argmin(x, axis=axis, keepdims=keepdims)


@search(samples=_CALLS)
def all(x, /, axis=None, keepdims=False):
    """Whether all elements over `axis` are true (not zero)."""
    return np.all(x, axis=axis, keepdims=keepdims)


@search(samples=_CALLS)
def any(x, /, axis=None, keepdims=False):
    """Whether any element over `axis` is true (not zero)."""
    return np.any(x, axis=axis, keepdims=keepdims)
