"""Streams of numbers: each is made of its own words of a stream, and so is the same however many are drawn at a time.

Numbers are made many at a time. The stream is cut into chunks; the last few are kept, so that many small draws in a row cost
little. Large draws are made by native code where there is some, which gives the same bits.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..dtypes import bfloat16, float16, float32, float64
from ._box_muller import OnArrays, normal_pair, uniform_of_two
from ._philox import CHUNK, words_of_chunk

_WORD = 0xFFFFFFFFFFFFFFFF


class Kind(NamedTuple):
    """A kind of number: its name, its dtype, how many words one takes, and the function that makes many of these."""

    name: str
    dtype: np.dtype
    words: int
    make: Callable


class Native:
    """What may make numbers in the place of NumPy: `fill(kind, state, result)` answers whether it has filled an array."""

    fill: Callable = staticmethod(lambda *_: False)
    #: Fewer numbers than this are not worth a call.
    fewest = 1024


def numbers(state, count, kind):
    """The first `count` numbers of a kind from `state` (key, block) on."""
    result = np.empty(count, kind.dtype)
    if count >= Native.fewest and Native.fill(kind, state, result):
        return result
    key, block, size = int(state[0]) & _WORD, int(state[1]) & _WORD, 4 * CHUNK // kind.words
    position, place = block * 4 // kind.words, 0
    while place < count:
        number, offset = divmod(position + place, size)
        is_whole = offset == 0 and count - place >= size
        found = (_made if is_whole else _chunk)(kind, key, number)[offset : offset + count - place]
        result[place : place + len(found)] = found
        place += len(found)
    return result


def _made(kind, key, number):
    """Chunk `number` of the stream of `key`."""
    return kind.make(words_of_chunk(key, number))


_chunk = lru_cache(maxsize=4)(_made)


def _bits(words):
    return words


def _uniform(bits):
    def make(words):
        return np.multiply(words >> (32 - bits), 2.0**-bits, dtype=float32, casting="unsafe")

    return make


def _uniform_of_pairs(words):
    return uniform_of_two(OnArrays, *_columns(words, 2))


def _normal(width):
    def make(words):
        return np.concatenate([_pairs(part) for part in np.split(words, _PARTS)])

    def _pairs(words):
        return np.stack(normal_pair(OnArrays, *_columns(words, 2 * width)), -1).reshape(-1)

    return make


def _columns(words, width):
    return np.ascontiguousarray(words.view(np.int32).reshape(-1, width).T)


#: Parts of a chunk for which all that comes up on the way stays in the first cache.
_PARTS = 8
BITS = Kind("bits", np.dtype(np.uint32), 1, _bits)
#: Uniform numbers have as many random bits as keep them below 1.
UNIFORM = {dtype: Kind("uniform", dtype, 1, _uniform(bits)) for dtype, bits in ((bfloat16, 8), (float16, 11), (float32, 24))}
UNIFORM[float64] = Kind("uniform", float64, 2, _uniform_of_pairs)
NORMAL = {dtype: Kind("normal", dtype, 1, _normal(1)) for dtype in (bfloat16, float16, float32)}
NORMAL[float64] = Kind("normal", float64, 2, _normal(2))
