"""Formats of quantised weights: rows of small blocks, each with its scale, packed in bytes as GGUF files have them.

The formats are those of ggml, https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h; a row of a matrix is a row of blocks.
`F16`, `BF16` and `F32`, whose block is one number, are among them, so that a product reads them in the same way; rows of `F32` are
arrays of float32, all others of bytes.
"""

from collections.abc import Callable
from typing import NamedTuple

import ml_dtypes
import numpy as np

from ...errors import ArgumentError, ShapeError

#: So many weights are unpacked at a time, which bounds the memory for steps on the way.
_AT_ONCE = 1 << 18
#: The format of weights that are not quantised, and by their dtype those whose blocks are numbers of half precision as they are.
PLAIN, HALVES = "F32", {"float16": "F16", "bfloat16": "BF16"}


class Format(NamedTuple):
    """How `size` weights in a row are packed in `nbytes` bytes; `pack` is None where retrograde only reads a format."""

    name: str
    size: int
    nbytes: int
    unpack: Callable
    pack: Callable | None = None

    def row_bytes(self, count):
        """The bytes of a row of `count` weights."""
        if count % self.size:
            raise ShapeError(f"{self.name} packs {self.size} weights in a block, so rows must be a multiple of that, got {count}")
        return count // self.size * self.nbytes

    def row_weights(self, nbytes):
        """How many weights a row of so many bytes has."""
        if nbytes % self.nbytes:
            raise ShapeError(f"a block of {self.name} has {self.nbytes} bytes, so rows must be a multiple of that, got {nbytes}")
        return nbytes // self.nbytes * self.size


def format_of(name):
    """The format called `name`."""
    if name not in FORMATS:
        raise ArgumentError(f"a format of quantised weights is one of {', '.join(FORMATS)}, got {name!r}")
    return FORMATS[name]


def unpacked(blocks, name):
    """The weights, float32, of rows of blocks (..., bytes): shape (..., weights)."""
    if name == PLAIN:
        return blocks.copy()
    kind = format_of(name)
    weights = kind.row_weights(blocks.shape[-1])
    rows = np.ascontiguousarray(blocks).reshape(-1, kind.nbytes)
    made = np.empty((len(rows), kind.size), np.float32)
    step = max(_AT_ONCE // kind.size, 1)
    # A damaged scale may be infinite; what comes of it is for those who read the numbers.
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, len(rows), step):
            made[start : start + step] = kind.unpack(rows[start : start + step])
    return made.reshape(*blocks.shape[:-1], weights)


def packed(weights, name):
    """Rows of weights (..., weights) as rows of blocks (..., bytes)."""
    if name == PLAIN:
        return weights.astype(np.float32)
    kind = format_of(name)
    if kind.pack is None:
        raise ArgumentError(f"retrograde reads weights of format {name} and does not make them; "
                            f"it makes {', '.join(n for n, k in FORMATS.items() if k.pack)}")
    nbytes = kind.row_bytes(weights.shape[-1])
    rows = np.ascontiguousarray(weights, np.float32).reshape(-1, kind.size)
    if not np.isfinite(rows).all():
        raise ArgumentError("weights that are quantised must be finite, and among these is a NaN or an infinity")
    made = np.empty((len(rows), kind.nbytes), np.uint8)
    step = max(_AT_ONCE // kind.size, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # of a scale that is refused
        for start in range(0, len(rows), step):
            made[start : start + step] = kind.pack(rows[start : start + step])
    return made.reshape(*weights.shape[:-1], nbytes)


def _half(blocks, start):
    """The number of 16 bits at byte `start` of each block, as a column."""
    return np.ascontiguousarray(blocks[:, start : start + 2]).view("<f2").astype(np.float32)


def _nibbles(codes):
    """The lower halves of bytes, then the upper ones."""
    return np.concatenate([codes & 15, codes >> 4], axis=1)


def _fifth_bits(blocks, start):
    """The 32 bits at byte `start` of each block, each as 0 or 16."""
    return np.unpackbits(blocks[:, start : start + 4], axis=1, bitorder="little") << 4


def _unpack_8_0(blocks):
    return _half(blocks, 0) * blocks[:, 2:].view(np.int8)


def _unpack_4_0(blocks):
    return _half(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _unpack_4_1(blocks):
    return _half(blocks, 0) * _nibbles(blocks[:, 4:]) + _half(blocks, 2)


def _unpack_5_0(blocks):
    codes = _nibbles(blocks[:, 6:]) | _fifth_bits(blocks, 2)
    return _half(blocks, 0) * (codes.astype(np.float32) - 16)


def _unpack_5_1(blocks):
    return _half(blocks, 0) * (_nibbles(blocks[:, 8:]) | _fifth_bits(blocks, 4)) + _half(blocks, 2)


def _unpack_4_k(blocks):
    """Eight parts of 32, each with a scale and a minimum of 6 bits."""
    count = len(blocks)
    low, high, mixed = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate([low & 63, mixed & 15 | low >> 6 << 4], axis=1)
    minima = np.concatenate([high & 63, mixed >> 4 | high >> 6 << 4], axis=1)
    codes = blocks[:, 16:].reshape(count, 4, 1, 32) >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1) & 15
    factors, shifts = _half(blocks, 0) * scales, _half(blocks, 2) * minima
    return (factors[:, :, None] * codes.reshape(count, 8, 32) - shifts[:, :, None]).reshape(count, 256)


def _unpack_6_k(blocks):
    """Sixteen parts of 16, each with a scale of 8 bits; 4 bits of a weight lie apart from the 2 others."""
    count = len(blocks)
    low = blocks[:, :128].reshape(count, 2, 1, 64) >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1) & 15
    high = blocks[:, 128:192].reshape(count, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1) & 3
    codes = (low.reshape(count, 2, 4, 32) | high << 4).reshape(count, 16, 16).astype(np.float32) - 32
    factors = _half(blocks, 208) * blocks[:, 192:208].view(np.int8)
    return (factors[:, :, None] * codes).reshape(count, 256)


def _unpack_f16(blocks):
    return blocks.view("<f2").astype(np.float32)


def _unpack_bf16(blocks):
    return (blocks.view("<u2").astype(np.uint32) << 16).view(np.float32)


def _unpack_f32(blocks):
    return blocks.view(np.float32)


def _pack_f32(rows):
    return rows.view(np.uint8)


def _inverse(scale):
    """One over each scale, 0 for one whose inverse may be none: in 16 bits it is 0, and so are all numbers of its block."""
    return np.divide(1, scale, out=np.zeros_like(scale), where=np.abs(scale) >= np.finfo(np.float32).tiny)


def _as_half(numbers):
    """Numbers as two bytes each; a scale beyond the range of 16 bits is refused."""
    with np.errstate(over="ignore"):
        halves = numbers.astype("<f2")
    if not np.isfinite(halves).all():
        raise ArgumentError("a block's scale is kept in 16 bits, which hold 65504 at most, and these weights need "
                            f"{np.abs(numbers).max():.6g}")
    return halves.view(np.uint8)


def _extreme(rows):
    """Of each row the number that is farthest from 0, with its sign."""
    return np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)


def _as_nibbles(codes):
    return codes[:, :16] & 15 | codes[:, 16:] << 4


def _as_bits(codes):
    return np.packbits(codes >> 4, axis=1, bitorder="little")


def _pack_8_0(rows):
    scale = np.abs(rows).max(axis=1, keepdims=True) / np.float32(127)
    scaled = rows * _inverse(scale)
    # Halves are rounded away from zero, as ggml does.
    codes = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled).astype(np.int8)
    return np.concatenate([_as_half(scale), codes.view(np.uint8)], axis=1)


def _centred(rows, most):
    """(scale, codes) with the number farthest from 0 at code 0, so that all codes count; `most` is the greatest code."""
    scale = _extreme(rows) / -np.float32((most + 1) // 2)
    codes = np.trunc(rows * _inverse(scale) + np.float32(most // 2 + 1.5))
    return scale, codes.clip(0, most).astype(np.uint8)


def _spanned(rows, most):
    """(scale, least, codes) with codes from the least number to the greatest."""
    least = rows.min(axis=1, keepdims=True)
    scale = (rows.max(axis=1, keepdims=True) - least) / np.float32(most)
    codes = np.trunc((rows - least) * _inverse(scale) + np.float32(0.5))
    return scale, least, codes.clip(0, most).astype(np.uint8)


def _pack_4_0(rows):
    scale, codes = _centred(rows, 15)
    return np.concatenate([_as_half(scale), _as_nibbles(codes)], axis=1)


def _pack_4_1(rows):
    scale, least, codes = _spanned(rows, 15)
    return np.concatenate([_as_half(scale), _as_half(least), _as_nibbles(codes)], axis=1)


def _pack_5_0(rows):
    scale, codes = _centred(rows, 31)
    return np.concatenate([_as_half(scale), _as_bits(codes), _as_nibbles(codes)], axis=1)


def _pack_5_1(rows):
    scale, least, codes = _spanned(rows, 31)
    return np.concatenate([_as_half(scale), _as_half(least), _as_bits(codes), _as_nibbles(codes)], axis=1)


def _pack_bf16(rows):
    halves = rows.astype(ml_dtypes.bfloat16)
    if not np.isfinite(halves).all():
        raise ArgumentError(f"the greatest number of bfloat16 is 3.39e38, and these weights need {np.abs(rows).max():.6g}")
    return halves.view(np.uint8)


FORMATS = {kind.name: kind for kind in (
    Format("Q8_0", 32, 34, _unpack_8_0, _pack_8_0), Format("Q4_0", 32, 18, _unpack_4_0, _pack_4_0),
    Format("Q4_1", 32, 20, _unpack_4_1, _pack_4_1), Format("Q5_0", 32, 22, _unpack_5_0, _pack_5_0),
    Format("Q5_1", 32, 24, _unpack_5_1, _pack_5_1), Format("Q4_K", 256, 144, _unpack_4_k), Format("Q6_K", 256, 210, _unpack_6_k),
    Format("F16", 1, 2, _unpack_f16, _as_half), Format("BF16", 1, 2, _unpack_bf16, _pack_bf16),
    Format(PLAIN, 1, 4, _unpack_f32, _pack_f32))}
