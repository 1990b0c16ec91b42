"""Streams of numbers: each is made of its own words of a stream, and so is the same however many are drawn at a time.

Numbers are made many at a time. The stream is cut into chunks; the last few are kept, so that many small draws in a row cost
little. Large draws are made by native code where there is some, which gives the same bits.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ...dtypes import bfloat16, float16, float32, float64, int64
from .._native import native
from ._box_muller import OnArrays, normal_pair, uniform_of_two
from ._philox import CHUNK, words_of_blocks, words_of_chunk

_WORD = 0xFFFFFFFFFFFFFFFF
#: As many numbers of a large array take NumPy as long as a call for a few does.
CALL = 4096


class Kind(NamedTuple):
    """A kind of number: its name, its dtype, how many words one takes, and the function that makes many of these, and perhaps of
    parameters.
    """

    name: str
    dtype: np.dtype
    words: int
    make: Callable


class Patience:
    """Whether an array is filled by compiled code: once so many numbers have been drawn that it is worth loading."""

    #: Some 20 ms of NumPy's work.
    _PATIENCE = 1 << 20

    def __init__(self, fill):
        self.fill, self._drawn = fill, 0

    def fills(self, kind, key, block, result, *parameters, fewest=1024):
        """Whether an array, of at least `fewest` numbers, has been filled with numbers from a block on."""
        if result.size < fewest:
            return False
        if self._drawn < self._PATIENCE:
            self._drawn += max(result.size, CALL)
            return False
        return self.fill(kind, key, block, result, parameters) is True


drawn = Patience(partial(native, "fill"))


def numbers(kind, key, block, count, *parameters):
    """The first `count` numbers of a kind in the stream of a key from a block on."""
    key, block, result = key & _WORD, block & _WORD, np.empty(count, kind.dtype)
    if drawn.fills(kind, key, block, result, *parameters):
        return result
    if parameters:
        return kind.make(numbers(BITS, key, block, kind.words * count), *parameters)
    position, place, size = block * 4 // kind.words, 0, 4 * CHUNK // kind.words
    while place < count:
        number, offset = divmod(position + place, size)
        is_whole = offset == 0 and count - place >= size
        found = (_made if is_whole else _chunk)(kind, key, number)[offset : offset + count - place]
        result[place : place + len(found)] = found
        place += len(found)
    return result


def numbers_alone(kind, key, block, count):
    """As `numbers`, where nobody will draw what stands beside these in the stream: no whole chunks are made."""
    blocks = -(-count * kind.words // 4)
    if blocks >= CHUNK:
        return numbers(kind, key, block, count)
    key, block, result = key & _WORD, block & _WORD, np.empty(count, kind.dtype)
    # NumPy takes 100 microseconds for some numbers of which no chunk is at hand, however few.
    if not drawn.fills(kind, key, block, result, fewest=1):
        result[...] = kind.make(words_of_blocks(key, block, blocks + blocks % _PARTS))[:count]
    return result


def _made(kind, key, number):
    """Chunk `number` of the stream of `key`."""
    result = np.empty(4 * CHUNK // kind.words, kind.dtype)
    if not drawn.fills(kind, key, number * CHUNK, result):
        result[...] = kind.make(words_of_chunk(key, number))
    return result


_chunk = lru_cache(maxsize=8)(_made)


def _mask(words, threshold):
    return words >= np.uint32(threshold)


def _uniform(words, bits):
    return np.multiply(words >> (32 - bits), 2.0**-bits, dtype=float32, casting="unsafe")


def _uniform_of_pairs(words):
    return uniform_of_two(OnArrays, *_columns(words, 2))


def _normal(words, width):
    parts = [normal_pair(OnArrays, *_columns(part, 2 * width)) for part in np.split(words, _PARTS)]
    return np.concatenate([np.stack(pair, -1).reshape(-1) for pair in parts])


def _columns(words, width):
    return np.ascontiguousarray(words.view(np.int32).reshape(-1, width).T)


def _integers(words, low, choices):
    upper, lower = words.reshape(-1, 2).T.astype(np.uint64)
    count, half = np.uint64(choices), np.uint64(32)
    return ((upper * count + ((lower * count) >> half)) >> half).astype(np.int64) + np.int64(low)


def _wide_integers(words, low, choices):
    upper, lower = words.reshape(-1, 2).T.astype(np.uint64)
    return (((upper << np.uint64(32)) | lower) % np.uint64(choices)).astype(np.int64) + np.int64(low)


#: Parts of a chunk for which all that comes up on the way stays in the second cache.
_PARTS = 2
#: More choices than this are not equally likely by one product.
MOST_CHOICES = 1 << 32
BITS = Kind("bits", np.dtype(np.uint32), 1, lambda words: words)
MASK = Kind("mask", np.dtype(bool), 1, _mask)
INTEGERS, WIDE_INTEGERS = Kind("integers", int64, 2, _integers), Kind("wide_integers", int64, 2, _wide_integers)
#: Uniform numbers have as many random bits as keep them below 1.
UNIFORM = {dtype: Kind("uniform", dtype, 1, partial(_uniform, bits=bits)) for dtype, bits in (
    (bfloat16, 8), (float16, 11), (float32, 24))}
UNIFORM[float64] = Kind("uniform", float64, 2, _uniform_of_pairs)
NORMAL = {dtype: Kind("normal", dtype, 1, partial(_normal, width=1)) for dtype in (bfloat16, float16, float32)}
NORMAL[float64] = Kind("normal", float64, 2, partial(_normal, width=2))
