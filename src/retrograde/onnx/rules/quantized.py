"""Numbers of few bits with a scale and a zero point."""

import math
from typing import Any

import numpy as np

from ...errors import OnnxError
from ...ops.axes.reductions import max, min
from ...ops.elementary.arithmetic import divide
from ...ops.elementary.comparisons import clip, maximum, minimum
from ...ops.elementary.conversions import astype
from ...ops.elementary.rounding import round
from ...ops.linalg.contractions import matmul
from ..library import element_types
from ..rule import rule
from ..values import is_computed, numbers
from .conversions import converted
from .convolution import convolved_integers

#: The least and the greatest number of integers that only arrays have.
_RANGES = {"uint4": (0, 15), "int4": (-8, 7), "uint2": (0, 3), "int2": (-2, 1)}


def _fitted(value, shape, axis, block_size):
    """A scale or a zero point, so that it fits the axis that it is for."""
    if math.prod(value.shape) == 1:
        return value.reshape(())
    if block_size:
        found = np.repeat(numbers(value), block_size, axis)
        return np.take(found, np.arange(shape[axis]), axis)
    if len(value.shape) != 1:
        raise OnnxError(f"a scale is one number, or one for each element of an axis, got the shape {tuple(value.shape)}")
    return value.reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))])


@rule("QuantizeLinear", since=10)
def _quantize(x, scale, zero=None, /, *, axis=1, block_size=0, output_dtype=0, saturate=1, precision=0):
    dtype = zero.dtype if zero is not None else element_types()[output_dtype] if output_dtype else np.dtype(np.uint8)
    wide = element_types()[precision] if precision else np.dtype(np.float32) if x.dtype.kind in "iu" else x.dtype
    found = divide(astype(x, wide), astype(_fitted(scale, x.shape, axis, block_size), wide))
    is_integer = dtype.kind in "iu" or dtype.name in _RANGES
    if not is_integer:
        return converted(found, dtype, saturate)
    found = round(astype(found, np.float64))
    if zero is not None:
        found = found + _wide(_fitted(zero, x.shape, axis, block_size), np.float64)
    return converted(clip(found, *_range(dtype)), dtype)


def _range(dtype) -> tuple[Any, Any]:
    if dtype.name in _RANGES:
        return _RANGES[dtype.name]
    limits = np.iinfo(dtype)
    return limits.min, limits.max


def _wide(x, dtype):
    """`x`, whose dtype only arrays may have, in one that is computed with."""
    return astype(x, dtype) if is_computed(x.dtype) else numbers(x).astype(np.float32).astype(dtype)


@rule("DequantizeLinear", since=10)
def _dequantize(x, scale, zero=None, /, *, axis=1, block_size=0, output_dtype=0):
    found = _wide(x, np.float32)
    if zero is not None:
        found = found - _wide(_fitted(zero, x.shape, axis, block_size), np.float32)
    found = found * _wide(_fitted(scale, x.shape, axis, block_size), np.float32)
    return converted(found, element_types()[output_dtype] if output_dtype else scale.dtype)


@rule("DynamicQuantizeLinear", since=11)
def _dynamic(x, /):
    low, high = minimum(min(x), 0), maximum(max(x), 0)
    scale = divide(high - low, np.float32(255))
    zero = astype(clip(round(divide(0 - low, scale)), 0, 255), np.uint8)
    return _quantize(x, scale, zero), scale, zero


@rule("QLinearMatMul", since=10)
def _matmul(x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero, /):
    found = matmul(_centred(x, x_zero, -2), _centred(y, y_zero, -1))
    factor = divide(_line(x_scale, -2) * _line(y_scale, -1), _line(z_scale, -2))
    return _requantized(found, factor, z_zero, -2)


@rule("QLinearConv", since=10)
def _conv(x, x_scale, x_zero, weight, weight_scale, weight_zero, z_scale, z_zero, bias=None, /, *, kernel_shape=None, strides=None,
          pads=None, dilations=None, group=1, auto_pad="NOTSET"):
    found = convolved_integers(x, weight, x_zero, weight_zero, kernel_shape=kernel_shape, strides=strides, pads=pads,
                               dilations=dilations,
                               group=group, auto_pad=auto_pad)
    inner = [1] * (len(x.shape) - 2)
    if bias is not None:
        found = found + bias.reshape((-1, *inner))
    factor = divide(x_scale * weight_scale, z_scale)
    return _requantized(astype(found, np.float64), factor.reshape((-1, *inner)) if len(factor.shape) else factor, z_zero, None)


def _centred(x, zero, axis):
    return astype(x, np.float64) - astype(_line(zero, axis), np.float64)


def _line(value, axis):
    """Numbers for the rows, or the columns, of a matrix."""
    return value.reshape((-1, 1)) if axis == -2 and len(value.shape) == 1 and value.shape[0] > 1 else value


def _requantized(found, factor, zero, axis):
    limits = np.iinfo(zero.dtype)
    zero_point = zero if axis is None else _line(zero, axis)
    return astype(clip(round(found * astype(factor, np.float64)) + astype(zero_point, np.float64), limits.min, limits.max),
                  zero.dtype)
