"""Packing: sequences of different lengths, laid end to end and cut into rows of one length."""

import numpy as np

from ...errors import ArgumentError
from ..orders import checked_size
from .base import Source
from .made import source


class Packed(Source):
    """What `pack` returns."""

    def __init__(self, rows, length, end, lengths):
        self.rows, self.length = rows, length
        self.end = None if end is None else np.array([end])
        self.ends = np.cumsum(np.asarray(lengths) + (end is not None))

    def __len__(self):
        return int(self.ends[-1]) // self.length if len(self.ends) else 0

    def row(self, i):
        start, stop = i * self.length, (i + 1) * self.length
        k, parts = int(np.searchsorted(self.ends, start, side="right")), []
        while start < stop:
            first = int(self.ends[k - 1]) if k else 0
            whole = np.asarray(self.rows.row(k))
            whole = whole if self.end is None else np.concatenate([whole, self.end.astype(whole.dtype)])
            if len(whole) != self.ends[k] - first:
                raise ArgumentError(f"sequence {k} has {len(whole)} entries, and had {self.ends[k] - first} when it was packed")
            parts.append(whole[start - first : stop - first])
            start += len(parts[-1])
            k += 1
        return np.concatenate(parts)

    def where(self, i):
        return self.rows.where(int(np.searchsorted(self.ends, i * self.length, side="right")))


def pack(rows, length, end=None, lengths=None):
    """Sequences laid end to end, with `end` after each, and cut into rows of `length`; what is left over at the end is dropped.

    lengths     the length of each sequence, if it is known; each is read once otherwise

    >>> list(rg.data.pack([[1, 2, 3], [4], [5, 6, 7]], length=4, end=0))
    [array([1, 2, 3, 0]), array([4, 0, 5, 6])]
    """
    rows = source(rows)
    lengths = [len(row) for row in rows] if lengths is None else lengths
    if len(lengths) != len(rows):
        raise ArgumentError(f"pack needs one length for each of the {len(rows)} sequences, got {len(lengths)}")
    return Packed(rows, checked_size(length), end, lengths)
