"""Searches: where in an array something is. Results are integers or booleans, without a gradient."""

import numpy as np

from ._families import search
from ._samples import call, distinct, of

_CALLS = tuple(call(of((2, 3), distinct()), axis=axis, keepdims=keep) for axis, keep in ((None, False), (0, False), (-1, True)))


@search(samples=_CALLS)
def argmax(x, /, axis=None, keepdims=False):
    """Index of the first greatest element along `axis`; None counts in row-major order."""
    return np.argmax(x, axis=axis, keepdims=keepdims)


@search(samples=_CALLS)
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
