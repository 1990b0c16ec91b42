"""Products of matrices: NumPy's, or for large ones those of whatever multiplies them faster."""

import numpy as np

#: A product of so many operations takes long beside the call of another way.
_LARGE = 8_000_000
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_OTHERS = []


def multiply_large_by(multiply):
    """Let large matrices be multiplied by a function of two arrays of one floating type, of two axes or more, that gives their
    product, or NotImplemented. The last one that was named is asked first.
    """
    _OTHERS.insert(0, multiply)


def product(x, y):
    """`np.matmul(x, y)`. Which way multiplies depends on shapes and types alone, so that equal calls have equal bits."""
    if x.__class__ is np.ndarray is y.__class__ and x.ndim > 1 < y.ndim and 2 * x.size * y.shape[-1] >= _LARGE:
        for multiply in _OTHERS if x.dtype in _FLOATS and x.dtype == y.dtype else ():
            if (found := multiply(x, y)) is not NotImplemented:
                return found
    return np.matmul(x, y)
