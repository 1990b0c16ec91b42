"""Products of integers of 8 bits, whose sums are integers of 32."""

import numpy as np

from ...errors import DTypeError
from .._families import contraction
from .._native import by_shape
from .._samples import call
from ..elementary.conversions import astype
from ..manipulation.borders import pad
from ..manipulation.movements import expand_dims, reshape
from .contractions import matmul, product_shape

#: The greatest number without its sign.
_MOST = {np.dtype(np.int8): 128, np.dtype(np.uint8): 255}
#: All integers up to this are numbers of float32.
_EXACT = 2**24
#: A product of fewer rows, columns or steps is as fast in floats.
_FEWEST = 16
_RESULT = np.dtype(np.int32)


def fits(x, y):
    """Whether all sums of a product of `x` and `y` are integers of 32 bits, whatever their numbers are."""
    return x.dtype in _MOST and y.dtype in _MOST and _bound(x, y) <= np.iinfo(_RESULT).max


def fits_pairs(x, y):
    """Whether a kernel multiplies `x` and `y` in pairs: matrices, or batches of them, with an even number of steps."""
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] % 2 or 0 in (*x.shape, *y.shape):
        return False
    return min(x.shape[-2], x.shape[-1], y.shape[-1]) >= _FEWEST and fits(x, y)


def _bound(x, y):
    return _MOST[x.dtype] * _MOST[y.dtype] * (x.shape[-1] if x.ndim else 0)


def _in_ops(x, y):
    """The product as one of an even number of steps, or of floats, which is exact where these hold all sums."""
    if x.ndim < 2 or y.ndim < 2:
        left = expand_dims(x, 0) if x.ndim == 1 else x
        right = expand_dims(y, -1) if y.ndim == 1 else y
        return reshape(integer_matmul(left, right), product_shape(x, y))
    if fits_pairs(x, y):
        return NotImplemented
    is_long = _bound(x, y) + _MOST[x.dtype] * _MOST[y.dtype] > np.iinfo(_RESULT).max  # with a step more
    if x.shape[-1] % 2 and not is_long and min(x.shape[-2], x.shape[-1], y.shape[-1]) >= _FEWEST:
        still = [(0, 0)] * (max(x.ndim, y.ndim) - 1)
        return integer_matmul(pad(x, (*still[: x.ndim - 1], (0, 1))), pad(y, (*still[: y.ndim - 2], (0, 1), (0, 0))))
    return _of_floats(x, y)


def _of_floats(x, y):
    wide = np.float32 if _bound(x, y) <= _EXACT else np.float64
    return astype(matmul(astype(x, wide), astype(y, wide)), _RESULT)


def _shape(x, y):
    if not fits(x, y):
        raise DTypeError(f"integer_matmul needs int8 or uint8, and sums that int32 holds, got {x.dtype}{list(x.shape)} and "
                         f"{y.dtype}{list(y.shape)}")
    return product_shape(x, y)


@contraction(is_differentiable=False, faster=by_shape, result_shape=_shape, result_dtype=lambda x, y: _RESULT, expansion=_in_ops,
             samples=(
    call(np.arange(-6, 6, dtype=np.int8).reshape(3, 4), np.arange(8, dtype=np.uint8).reshape(4, 2)),
    call(np.arange(3, dtype=np.int8), np.arange(3, dtype=np.int8))))
def integer_matmul(x, y, /):
    """Matrix product of integers of 8 bits, with signs or without, as integers of 32 bits. Shapes are as for `matmul`.

    It is exact: a DTypeError is raised for operands of so many columns that a sum might be no integer of 32 bits, which are more
    than 131,071 of int8, and than 33,025 of uint8.

    >>> x = rg.asarray(np.full((2, 3), 100, np.int8))
    >>> rg.integer_matmul(x, x.T)
    tensor([[30000, 30000],
            [30000, 30000]], dtype=int32)
    """
    _shape(x, y)
    return np.asarray(_of_floats(x, y))
