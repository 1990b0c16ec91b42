"""Conversions between dtypes, also those that only arrays have, and what is stored of numbers in few bits."""

import ml_dtypes
import numpy as np

from ...dtypes import bfloat16, is_float
from ...errors import OnnxError
from ...ops.elementary.conversions import astype, bitcast
from ..library import element_types
from ..rule import rule
from ..values import is_computed, numbers

#: Floats of eight bits and fewer whose conversions keep to the greatest number by default.
_NARROW = {"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn"}


@rule("Cast", since=6)
def _cast(x, /, *, to, saturate=1, round_mode="up"):
    return converted(x, element_types()[to], saturate, round_mode)


@rule("CastLike", since=15)
def _cast_like(x, y, /, *, saturate=1, round_mode="up"):
    return converted(x, y.dtype, saturate, round_mode)


def converted(x, dtype, saturate=1, round_mode="up"):
    """`x` in another dtype, by ONNX's rules."""
    if x.dtype == dtype:
        return x
    if is_computed(dtype) and dtype.name not in _NARROW and is_computed(x.dtype) and x.dtype.name not in _NARROW:
        if dtype.kind in "iu" and is_float(x.dtype):
            # By way of the widest integer: narrow ones are cut off to their bits.
            return astype(astype(x, np.int64), dtype) if dtype != np.uint64 else astype(x, dtype)
        return astype(x, dtype)
    x = numbers(x)
    if dtype.kind == "O":
        return _texts(x)
    if x.dtype.kind == "O":
        return _parsed(x, dtype)
    if dtype.name == "float8_e8m0fnu":
        return _powers(x, round_mode)
    return _narrowed(x, dtype, saturate)


def _texts(x):
    floats = x.astype(np.float32) if not is_computed(x.dtype) or x.dtype == bfloat16 else x
    found = np.empty(x.shape, object)
    for place in np.ndindex(x.shape):
        value = floats[place]
        found[place] = str(value) if x.dtype.kind != "f" and x.dtype != bfloat16 else _text_of_float(value)
    return found


def _text_of_float(value):
    text = str(value)
    return {"nan": "NaN", "inf": "INF", "-inf": "-INF"}.get(text, text)


def _parsed(x, dtype):
    try:
        if dtype.kind == "b":
            return np.array([bool(text) for text in x.reshape(-1)]).reshape(x.shape)
        floats = np.array([float(text) for text in x.reshape(-1)], np.float64).reshape(x.shape)
        if dtype.kind in "iu":
            return np.array([int(float(text)) for text in x.reshape(-1)]).astype(dtype).reshape(x.shape)
    except (ValueError, OverflowError) as error:
        raise OnnxError(f"a text is no number: {error}") from None
    return floats.astype(np.float32).astype(dtype) if not is_computed(dtype) else floats.astype(dtype)


def _narrowed(x, dtype, saturate):
    """`x` in a dtype of eight bits or fewer, or out of one."""
    if dtype.name in ("int4", "uint4", "int2", "uint2"):
        bits = int(dtype.name[-1])
        wide = np.asarray(x.astype(np.float32) if is_float(x.dtype) or x.dtype.name in _NARROW else x).astype(np.int64)
        kept = wide & (2**bits - 1)
        if dtype.name[0] == "i":
            kept = np.where(kept >= 2**(bits - 1), kept - 2**bits, kept)
        return kept.astype(dtype)
    if dtype.name not in _NARROW:
        if x.dtype.name in ("int4", "uint4", "int2", "uint2"):
            return x.astype(np.int8 if x.dtype.name[0] == "i" else np.uint8).astype(dtype)
        return x.astype(np.float32).astype(dtype)
    wide = x.astype(np.float32)
    if dtype.name == "float4_e2m1fn":
        return np.where(np.isnan(wide), np.float32(np.nan), np.clip(wide, -6, 6)).astype(np.float32).astype(dtype)
    limit = float(ml_dtypes.finfo(dtype).max)
    found = wide.astype(dtype)
    back = found.astype(np.float32)
    is_over = ~np.isnan(wide) & (~np.isfinite(back) | (np.abs(wide) > limit))
    if saturate:
        return np.where(is_over, np.copysign(np.float32(limit), wide), wide).astype(dtype)
    over = np.copysign(np.float32(np.inf), wide) if dtype.name == "float8_e5m2" else np.float32(np.nan)
    return np.where(is_over & ~(np.abs(back) <= limit), over, wide).astype(dtype)


def _powers(x, round_mode):
    """Powers of two, the only numbers that float8_e8m0fnu has."""
    wide = np.abs(x.astype(np.float32)).view(np.uint32)
    exponent, rest = (wide >> 23).astype(np.int64), wide & 0x7FFFFF
    least = (exponent == 0) & (rest > 0x400000)
    if round_mode == "up":
        exponent = exponent + ((rest > 0) & (exponent < 254) & ((exponent > 0) | least))
    elif round_mode == "nearest":
        exponent = exponent + ((rest >= 0x400000) & (exponent < 254))
    return np.minimum(exponent, 255).astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)


@rule("BitCast", since=26)
def _bit_cast(x, /, *, to):
    dtype = element_types()[to]
    if is_computed(dtype) and is_computed(x.dtype) and bool not in (dtype, x.dtype):
        return bitcast(x, dtype)
    # NumPy views an array without axes only within one size.
    return numbers(x).view(dtype).reshape(x.shape) if dtype.itemsize == x.dtype.itemsize else numbers(x).view(dtype)
