"""Products of matrices: NumPy's, or for large ones those of compiled code."""

import numpy as np

from ._native import native
from ._whole import exact

#: A product of so many operations takes long beside the call of another way; OpenBLAS lets threads share what is larger still, and
#: they wait for each other on a processor that is busy.
_LARGE = 500_000
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def product(x, y):
    """`np.matmul(x, y)`. Which way multiplies depends on shapes and types alone, so that equal calls have equal bits."""
    if x.__class__ is np.ndarray is y.__class__ and x.ndim > 1 < y.ndim and 2 * x.size * y.shape[-1] >= _LARGE:
        is_float = x.dtype in _FLOATS and x.dtype == y.dtype
        if is_float and (found := native("product", x, y)) is not NotImplemented:
            return found
    return exact(np.matmul, x, y) if x.dtype.kind in "iu" else np.matmul(x, y)


#: From so many products by one matrix on it pays to bring it in the order in which products read it.
_MANY = 8
#: A product of so many operations takes as long as the call of compiled code.
_WORTH_PACKING = 20_000


def multiplier(y, rows, count):
    """A function of matrices of `rows` rows and of an array for their product by `y`, for `count` of them, which come one by one:
    all are arrays of one float type, and all but `y` in row-major order.
    """
    if count < _MANY:
        return lambda x, result: np.matmul(x, y, out=result)
    if 2 * rows * y.size >= _WORTH_PACKING and (found := native("multiplier", y, rows)) is not NotImplemented:
        return found
    y = np.ascontiguousarray(y)
    return lambda x, result: np.matmul(x, y, out=result)
