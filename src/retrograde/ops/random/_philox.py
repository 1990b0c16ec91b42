"""Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(2011): word i of a stream is a function of the key and of i alone.
"""

import sys

import numpy as np

_MULTIPLIERS = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
_WEYL = np.array([[0x9E3779B9], [0xBB67AE85]], np.uint32)
#: Blocks of four words that are made at a time: the temporaries fit the second-level cache.
CHUNK = 1 << 13
# Where a product of 64 bits has its upper and its lower word.
_UPPER, _LOWER = (1, 0) if sys.byteorder == "little" else (0, 1)


def philox(counters, key):
    """The words (4, n) that belong to `counters` (4, n) under `key` (2,); all uint32."""
    even, odd = counters[::2].copy(), counters[1::2]
    products = [np.empty(even.shape, np.uint64) for _ in range(2)]
    words = [p.view(np.uint32).reshape(*even.shape, 2) for p in products]
    keys = key.reshape(2, 1).copy()
    for number in range(10):
        product, halves = products[number % 2], words[number % 2]
        np.multiply(even, _MULTIPLIERS, out=product, dtype=np.uint64)
        np.bitwise_xor(halves[::-1, :, _UPPER], odd, out=even)
        even ^= keys
        odd = halves[::-1, :, _LOWER]
        keys += _WEYL
    return np.stack([even[0], odd[0], even[1], odd[1]])


def words_of_chunk(key, number):
    """The words of chunk `number` of the stream of `key`, in the order of the stream."""
    return words_of_blocks(key, number * CHUNK, CHUNK)


def words_of_blocks(key, first, count):
    """The words of `count` blocks of the stream of `key` from the block `first` on, in the order of the stream."""
    blocks = np.arange(count, dtype=np.uint64) + np.uint64(first)
    counters = np.zeros((4, count), np.uint32)
    counters[0], counters[1] = blocks & np.uint64(0xFFFFFFFF), blocks >> np.uint64(32)
    return philox(counters, np.array([key & 0xFFFFFFFF, key >> 32], np.uint32)).T.reshape(-1)
