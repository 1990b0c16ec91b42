"""Products by quantised weights: blocks of small integers with their scales, as files of GGUF have them."""

from math import prod
from operator import index

import numpy as np

from ...dtypes import is_float
from ...errors import ArgumentError, DTypeError, ShapeError
from .._families import contraction, conversion
from .._native import by_shape
from .._samples import call
from ..elementary.conversions import astype
from ..linalg._multiplying import product
from ..linalg.contractions import matmul
from ..manipulation.borders import pad
from ..manipulation.movements import reshape, transpose
from ._quantizing import FORMATS, PLAIN, format_of, packed, unpacked
from ._rounding import rounded_activations

#: So many rows of `x` at most are multiplied by weights as they lie in memory; for more of them weights are unpacked in panels.
FEW_ROWS = 8
#: Compiled products read so many weights of a row at a time, and of float32 as they are so many.
_READ_TOGETHER, _PLAIN_TOGETHER = 32, 16
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


def _matrix_shape(blocks, format, first, last):
    """The shape of the numbers of the rows of blocks from a first one up to a last one, None for that after all."""
    shape = _unpacked_shape(blocks, format)
    if len(shape) != 2 or not first and last is None:
        return shape
    first, end = index(first), shape[0] if last is None else index(last)
    if not 0 <= first <= end <= shape[0]:
        raise ShapeError(f"rows must lie between 0 and {shape[0]}, got those from {first} to {end}")
    return end - first, shape[1]


def _of_rows(blocks, first, last):
    return blocks[first:last] if first or last is not None else blocks


def _multiplied_shape(name, x, shape, axis):
    """The shape of rows of `x` multiplied along an axis of weights of `shape`, (outputs, inputs), which the op `name` needs."""
    if not is_float(x.dtype) or x.dtype.kind == "c":
        raise DTypeError(f"{name} needs x of real floats, got {x.dtype}")
    if len(shape) != 2 or not x.ndim or x.shape[-1] != shape[axis]:
        side, got = ("outputs", "inputs")[axis], tuple(x.shape)
        raise ShapeError(f"{name} needs x (..., {side}) and blocks of (outputs, inputs), got {got} and blocks of {shape}")
    return *x.shape[:-1], shape[1 - axis]


def _result_shape(x, blocks, format, first=0, last=None, activations=None):
    check_activations(activations, format)
    return _multiplied_shape("quantized_linear", x, _matrix_shape(blocks, format, first, last), 1)


def check_activations(activations, format=None):
    """Raise an ArgumentError unless products by weights of a format, if it is known, can take such activations."""
    if activations is None:
        return
    if activations != "int8":
        raise ArgumentError(f'activations must be "int8", or None for floats as they are, got {activations!r}')
    if format is not None and format_of(format).size == 1:
        raise ArgumentError(f"weights of format {format} are no integers, so activations stay floats: leave activations=None")


def _dtype_of_x(x, blocks, format, first=0, last=None, activations=None):  # noqa: ARG001 - it has the arguments of its op
    return x.dtype


def _in_ops(x, blocks, format, first, last, activations):
    # One vector has a kernel for few rows, and weights that are not quantised are asked for here for the sake of the order of sums,
    # which a row of any number has to itself.
    is_whole = not first and last is None
    is_plain = x.dtype == np.float32 and x.size and blocks.shape[0] and (x.ndim > 1 or is_whole)
    if is_plain and (activations is None or is_whole and prod(x.shape[:-1]) <= FEW_ROWS):
        if not (missing := weights_missing(x.shape[-1], format)):
            return NotImplemented
        return quantized_linear(_lengthened(x, missing), _with_zeros(blocks, missing, format), format, first, last)
    if activations is not None:
        wide = x if x.dtype == np.float64 else astype(x, np.float32)
        return astype(quantized_linear(rounded_activations(wide), blocks, format, first, last), x.dtype)
    return matmul(x, transpose(dequantize(_of_rows(blocks, first, last), format)))


def weights_missing(count, format):
    """How many weights a row of `count` lacks to be whole for compiled products: of blocks none ever, since these are as long."""
    return -count % (_PLAIN_TOGETHER if format == PLAIN else _READ_TOGETHER)


def _lengthened(x, count):
    """`x` with `count` zeros behind each row."""
    return pad(x, (*[(0, 0)] * (x.ndim - 1), (0, count)))


def _with_zeros(blocks, count, format):
    """Blocks of one weight with `count` zeros behind each row, whose bits are zeros in all such formats."""
    return _lengthened(blocks, count * (1 if format == PLAIN else format_of(format).nbytes))


@contraction(faster=by_shape, expansion=_in_ops, result_shape=_result_shape, result_dtype=_dtype_of_x, samples=(
    call((2, 64), packed(_WEIGHTS, "Q8_0"), "Q8_0"), call((64,), packed(_WEIGHTS, "Q4_1"), "Q4_1"),
    call((2, 5, 64), packed(_WEIGHTS, "Q4_0"), "Q4_0"), call((0, 64), packed(_WEIGHTS, "Q5_0"), "Q5_0"),
    call((1, 64), packed(_WEIGHTS, "Q5_1"), "Q5_1"), call((2, 64), packed(_WEIGHTS, "Q8_0"), "Q8_0", 1, 3),
    call((2, 64), packed(_WEIGHTS, "Q8_0"), "Q8_0", 1, 1), call((2, 7), packed(_WEIGHTS[:, :7], "F16"), "F16")))
def quantized_linear(x, blocks, /, format, first=0, last=None, activations=None):
    r"""The rows of `x`, (..., inputs), times rows of quantised weights, `blocks` of shape (outputs, bytes): shape (..., outputs).
    Rows of weights are used from `first` up to `last`, all of them unless said otherwise.

    Compiled code reads the blocks as they are, and makes numbers of them in registers. The results of a few rows do not depend, to
    the last bit, on which other rows there are; nor do those of many for weights of format "F32", float32 as they are.

    With `activations="int8"` each 32 numbers of a row of `x` are first rounded to multiples of 1/127 of the largest of them, which
    is off by 0.4 % of that one at most, and compiled products of a few rows are of integers. That is what llama.cpp does.

    $Z = X W^\top \;\Rightarrow\; \bar X = \bar Z W,\; \bar W = \bar Z^\top X$ with $W$ the numbers of the blocks; bytes have no
    gradient, float32 as they are have it. Rounding counts as if it were not there ("straight through").
    """
    shape, wide, blocks = _result_shape(x, blocks, format, first, last, activations), _wide_rows(x), _of_rows(blocks, first, last)
    if activations is not None:
        with np.errstate(invalid="ignore"):  # a block with an infinity has no scale, and is NaN
            wide = rounded_activations(wide)
    z = np.empty((len(wide), shape[-1]), wide.dtype)
    for part in _parts(blocks, x.shape[-1]):
        z[:, part] = product(wide, unpacked(blocks[part], format).astype(wide.dtype, copy=False).T)
    return z.reshape(shape).astype(x.dtype, copy=False)


def _wide_rows(x):
    """`x` as a matrix, of at least float32."""
    rows = x.reshape(prod(x.shape[:-1]), x.shape[-1])  # which may have no numbers
    return rows if x.dtype == np.float64 else rows.astype(np.float32, copy=False)


def _parts(blocks, inputs):
    """Slices of rows of blocks that are unpacked at a time."""
    step = max(_AT_ONCE // max(inputs, 1), 1)
    return [slice(start, start + step) for start in range(0, blocks.shape[0], step)]


def _shape_of_inputs(x, blocks, format, first=0, last=None):
    return _multiplied_shape("quantized_linear_input", x, _matrix_shape(blocks, format, first, last), 0)


def _inputs_in_ops(x, blocks, format, first, last):
    if x.dtype == np.float32 and x.size and blocks.shape[1] and x.ndim > 1 and format != PLAIN:
        inputs = format_of(format).row_weights(blocks.shape[1])
        if not (missing := weights_missing(inputs, format)):
            return NotImplemented
        return quantized_linear_input(x, _with_zeros(blocks, missing, format), format, first, last)[..., :inputs]
    return matmul(x, dequantize(_of_rows(blocks, first, last), format))


@contraction(is_public=False, faster=by_shape, expansion=_inputs_in_ops, result_shape=_shape_of_inputs,
             result_dtype=_dtype_of_x, samples=(
    call((2, 3), packed(_WEIGHTS, "Q8_0"), "Q8_0"), call((3,), packed(_WEIGHTS, "Q4_1"), "Q4_1"),
    call((2, 5, 3), packed(_WEIGHTS, "Q4_0"), "Q4_0"), call((0, 3), packed(_WEIGHTS, "Q5_0"), "Q5_0"),
    call((2, 2), packed(_WEIGHTS, "Q8_0"), "Q8_0", 1, 3), call((2, 0), packed(_WEIGHTS[:0], "Q8_0"), "Q8_0"),
    call((2, 3), packed(_WEIGHTS[:, :7], "F16"), "F16")))
def quantized_linear_input(x, blocks, /, format, first=0, last=None):
    r"""What `quantized_linear` hands back to its `x`: rows of `x`, (..., outputs), times the numbers of the blocks, (..., inputs).

    $Z = X W \;\Rightarrow\; \bar X = \bar Z W^\top,\; \bar W = X^\top \bar Z$
    """
    shape, wide, blocks = _shape_of_inputs(x, blocks, format, first, last), _wide_rows(x), _of_rows(blocks, first, last)
    z = np.zeros((len(wide), shape[-1]), wide.dtype)
    for part in _parts(blocks, shape[-1]):
        z += product(np.ascontiguousarray(wide[:, part]), unpacked(blocks[part], format).astype(wide.dtype, copy=False))
    return z.reshape(shape).astype(x.dtype, copy=False)


def _weights_rule(outputs, inputs, blocks_shape, first, last):
    """The cotangent of weights that are float32 as they are; those of bytes need none."""
    rows = [reshape(part, (prod(part.shape[:-1]), part.shape[-1])) for part in (outputs, inputs)]
    found = matmul(transpose(rows[0]), rows[1])
    behind = 0 if last is None else blocks_shape[0] - last
    return pad(found, ((first, behind), (0, 0))) if first or behind else found


quantized_linear.defvjp(
    lambda g, blocks, format, first, last: quantized_linear_input(g, blocks, format, first, last),
    lambda g, x, blocks_shape, first, last: _weights_rule(g, x, blocks_shape, first, last))
quantized_linear_input.defvjp(
    lambda g, blocks, format, first, last: quantized_linear(g, blocks, format, first, last),
    lambda g, x, blocks_shape, first, last: _weights_rule(x, g, blocks_shape, first, last))
