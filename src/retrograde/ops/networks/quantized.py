"""Products by quantised weights: blocks of small integers with their scales, as files of GGUF have them."""

from math import prod

import numpy as np

from ...dtypes import is_float
from ...errors import DTypeError, ShapeError
from .._families import contraction, conversion
from .._samples import call
from ..linalg._multiplying import product
from ..linalg.contractions import matmul
from ..manipulation.movements import transpose
from ._quantizing import FORMATS, PLAIN, format_of, packed, unpacked

#: So many rows of `x` at most are multiplied by weights as they lie in memory; for more of them weights are unpacked once.
FEW_ROWS = 8
_WEIGHTS = np.random.default_rng(0).uniform(-1, 1, (3, 64)).astype(np.float32)
#: Rows of weights are unpacked so many at a time where NumPy multiplies, which keeps the memory for them small.
_AT_ONCE = 1 << 21


def quantize_rows(weights, format="Q8_0"):
    """Rows of weights (..., inputs), an array of floats, as rows of blocks (..., bytes) of a format.

    >>> rg.ops.quantized.quantize_rows(np.ones((2, 32), np.float32), "Q8_0").shape
    (2, 34)
    """
    return packed(np.asarray(weights), format)


def _unpacked_shape(blocks, format):
    kind = format_of(format)
    needed = np.float32 if format == PLAIN else np.uint8
    if blocks.dtype != needed or not blocks.ndim:
        raise DTypeError(f"weights of format {format} are rows of {np.dtype(needed)}, got {blocks.dtype} of shape "
                         f"{tuple(blocks.shape)}")
    if format == PLAIN:
        return blocks.shape
    return (*blocks.shape[:-1], kind.row_weights(blocks.shape[-1]))


@conversion(is_differentiable=False, keeps_sizes=False, result_shape=_unpacked_shape,
            result_dtype=lambda blocks, format: np.dtype(np.float32),
            samples=tuple([call(packed(_WEIGHTS, name), name) for name, kind in FORMATS.items() if kind.pack and name != PLAIN]))
def dequantize(blocks, /, format):
    """The numbers, float32, of rows of blocks (..., bytes) of quantised weights in a `format`: "Q8_0", "Q4_1", ...

    >>> rows = rg.ops.quantized.quantize_rows(np.ones((1, 32), np.float32), "Q4_0")
    >>> rg.dequantize(rg.asarray(rows), "Q4_0").sum()
    tensor(32.)
    """
    _unpacked_shape(blocks, format)
    return unpacked(blocks, format)


def _result_shape(x, blocks, format):
    shape = _unpacked_shape(blocks, format)
    if not is_float(x.dtype) or x.dtype.kind == "c":
        raise DTypeError(f"quantized_linear needs x of real floats, got {x.dtype}")
    if len(shape) != 2 or not x.ndim or x.shape[-1] != shape[1]:
        raise ShapeError(f"quantized_linear needs x (..., inputs) and blocks of (outputs, inputs), got {tuple(x.shape)} and "
                         f"blocks of {shape}")
    return *x.shape[:-1], shape[0]


def _dtype_of_x(x, blocks, format):  # noqa: ARG001 - it has the arguments of its op
    return x.dtype


def _in_ops(x, blocks, format):
    is_plain = x.dtype == np.float32 and x.size and blocks.shape[0]
    # Weights that are not quantised are asked for here for the sake of the order of sums, which a row of any number has to itself.
    if is_plain and (format == PLAIN or prod(x.shape[:-1]) <= FEW_ROWS):
        return NotImplemented
    return matmul(x, transpose(dequantize(blocks, format)))


@contraction(expansion=_in_ops, result_shape=_result_shape, result_dtype=_dtype_of_x, samples=(
    call((2, 64), packed(_WEIGHTS, "Q8_0"), "Q8_0"), call((64,), packed(_WEIGHTS, "Q4_1"), "Q4_1"),
    call((2, 5, 64), packed(_WEIGHTS, "Q4_0"), "Q4_0"), call((0, 64), packed(_WEIGHTS, "Q5_0"), "Q5_0"),
    call((1, 64), packed(_WEIGHTS, "Q5_1"), "Q5_1")))
def quantized_linear(x, blocks, /, format):
    r"""The rows of `x`, (..., inputs), times rows of quantised weights, `blocks` of shape (outputs, bytes): shape (..., outputs).

    Compiled code reads the blocks as they are for a few rows, whose results then do not depend, to the last bit, on which other
    rows there are; for many it unpacks them once. Weights of format "F32", float32 as they are, are always read in that way.

    $Z = X W^\top \;\Rightarrow\; \bar X = \bar Z W$ with $W$ the numbers of the blocks, which have no gradient themselves.
    """
    shape = _result_shape(x, blocks, format)
    rows = x.reshape(-1, x.shape[-1])
    wide = rows if x.dtype == np.float64 else rows.astype(np.float32, copy=False)
    z = np.empty((len(rows), shape[-1]), wide.dtype)
    step = max(_AT_ONCE // max(x.shape[-1], 1), 1)
    for start in range(0, shape[-1], step):
        z[:, start : start + step] = product(wide, unpacked(blocks[start : start + step], format).astype(wide.dtype, copy=False).T)
    return z.reshape(shape).astype(x.dtype, copy=False)


quantized_linear.defvjp(lambda g, blocks, format: matmul(g, dequantize(blocks, format)), None)
