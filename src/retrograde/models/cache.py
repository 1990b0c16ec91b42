"""The cache of keys and values of texts that are being written, one row for each."""

import mmap
from math import prod

import numpy as np

from ..errors import ArgumentError
from ..tensor.tensor import Tensor


class Cache:
    """Room for `rows` texts of at most `longest` tokens; memory is taken as far as they are written.

    `lengths` says how many tokens of each are there.
    """

    def __init__(self, config, rows, longest):
        shape = config.num_hidden_layers, rows, longest, config.num_key_value_heads, config.head_dim
        self.keys, self.values = _untouched(shape), _untouched(shape)
        self.lengths, self.longest, self._views = np.zeros(rows, np.int64), longest, {}

    def views(self, first, last):
        """For each layer a tensor that shows the keys of rows `first` to `last`, and then for each one of the values."""
        if (first, last) not in self._views:
            self._views[first, last] = tuple([Tensor(layer[first:last]) for part in (self.keys, self.values) for layer in part])
        return self._views[first, last]

    def write(self, row, source, keys, values, count):
        """Append the first `count` of new keys and values, those of row `source` of them, to a row."""
        start = int(self.lengths[row])
        end = start + count
        if end > self.longest:
            raise ArgumentError(f"a text has {end} tokens, and the model was loaded for {self.longest}; see `context` of load")
        self.keys[:, row, start:end], self.values[:, row, start:end] = keys[:, source, :count], values[:, source, :count]
        self.lengths[row] = end

    def row(self, row):
        """Copies of (keys, values) of what a row holds."""
        length = int(self.lengths[row])
        return self.keys[:, row, :length].copy(), self.values[:, row, :length].copy()

    def copy(self, source, target):
        """Let a row hold what another one does."""
        length = int(self.lengths[source])
        for part in (self.keys, self.values):
            part[:, target, :length] = part[:, source, :length]
        self.lengths[target] = length


def _untouched(shape):
    """Zeros of float32 whose memory is taken page by page, as they are written.

    Texts take the first tokens of each layer, which lie apart: large pages, which NumPy asks for, would be cleared and held for
    parts that are never read, 310 MB for a prompt of 256 tokens where it has 12.
    """
    # Private where there are processes that are forked: a child must not write to the cache of its parent.
    flags = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    room = mmap.mmap(-1, max(4 * prod(shape), 1), **flags)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        room.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(room, np.float32, prod(shape)).reshape(shape)


class Prompts:
    """The keys and values of the last few prompts that were read, of which a new one takes what it begins with alike."""

    #: How many are kept: two or three nodes of a pipeline ask in turns, each by instructions of its own.
    _MOST = 4

    def __init__(self):
        self._kept = []

    def restore(self, cache, row, tokens):
        """Fill an empty row with the beginning of a prompt; how many tokens of it are there. One at least is left to be read."""
        start, best = max([(min(_same(kept[0], tokens), len(tokens) - 1), i) for i, kept in enumerate(self._kept)], default=(0, 0))
        if start:
            _, keys, values = self._kept[best]
            cache.keys[:, row, :start], cache.values[:, row, :start] = keys[:, :start], values[:, :start]
            cache.lengths[row] = start
        return start

    def keep(self, cache, row, tokens):
        """Remember the prompt in a row, the last one first."""
        tokens = tuple(tokens)
        kept = [entry for entry in self._kept if entry[0] != tokens[: len(entry[0])]]
        self._kept = [(tokens, *cache.row(row)), *kept[: self._MOST - 1]]


def _same(one, other):
    """How many tokens two prompts begin with alike."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
