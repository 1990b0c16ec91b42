"""Products of matrices: NumPy's, or for large ones those of compiled code; those of integers are exact, or an error."""

import numpy as np

from ...errors import DTypeError
from .._native import native
from ..elementary.conversions import is_narrow

#: A product of so many operations takes long beside the call of another way; OpenBLAS lets threads share what is larger still, and
#: they wait for each other on a processor that is busy.
_LARGE = 500_000
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
#: Bounds are floats of double precision, and lie above what they bound by more than rounding takes from them.
_ABOVE = 1 + 2.0**-20


def product(x, y):
    """`np.matmul(x, y)`. Which way multiplies depends on shapes and types alone, so that equal calls have equal bits."""
    if x.__class__ is np.ndarray is y.__class__:
        if is_narrow(x) and x.dtype == y.dtype:
            # NumPy adds up in float32 as well, number by number.
            return product(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
        if x.ndim > 1 < y.ndim and 2 * x.size * y.shape[-1] >= _LARGE:
            is_float = x.dtype in _FLOATS and x.dtype == y.dtype
            if is_float and (found := native("product", x, y)) is not NotImplemented:
                return found
    return exact(np.matmul, x, y) if x.dtype.kind in "iu" else np.matmul(x, y)


def exact(contracted, *arrays):
    """`contracted(*arrays)`, a sum of products; of integers it is computed in a dtype that holds all that is added up."""
    arrays = [x if hasattr(x, "dtype") else np.asarray(x) for x in arrays]
    dtype = np.result_type(*arrays)
    if dtype.kind not in "iu":
        return contracted(*arrays)
    bound = contracted(*[np.abs(np.asarray(x, np.float64)) for x in arrays]) * _ABOVE
    most = np.max(bound, initial=0)
    if most <= np.iinfo(dtype).max:
        return contracted(*arrays)
    wide = np.int64 if most <= np.iinfo(np.int64).max else object
    return fitting(np.asarray(contracted(*[np.asarray(x, wide) for x in arrays])), dtype)


def fitting(found, dtype):
    """Sums of products in `dtype`, which has to hold them if it is one of integers; else a DTypeError is raised."""
    if found.dtype != dtype and dtype.kind in "iu" and found.size:
        least, greatest = found.min(), found.max()
        if least < np.iinfo(dtype).min or greatest > np.iinfo(dtype).max:
            most = greatest if greatest > np.iinfo(dtype).max else least
            raise DTypeError(f"a sum of products must fit its dtype {dtype}, and one is {most}; use a wider dtype, as by "
                             "x.astype(rg.int64), rg.integer_matmul for int8 and uint8, or floats")
    return found.astype(dtype, copy=False)


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
