"""Several sources as one."""

import numpy as np

from ...errors import ArgumentError
from .base import Source
from .made import source


class Joined(Source):
    """The rows of several sources one after the other."""

    def __init__(self, sources):
        self.sources = sources
        self.ends = np.cumsum([len(part) for part in sources])

    def __len__(self):
        return int(self.ends[-1])

    def row(self, i):
        part, inside = self._place(i)
        return part.row(inside)

    def where(self, i):
        part, inside = self._place(i)
        return part.where(inside)

    def _place(self, i):
        k = int(np.searchsorted(self.ends, i, side="right"))
        return self.sources[k], i - (int(self.ends[k - 1]) if k else 0)


def concat(*sources):
    """The rows of several sources one after the other.

    >>> list(rg.data.concat(range(2), [7, 8]))
    [0, 1, 7, 8]
    """
    if not sources:
        raise ArgumentError("concat needs at least one source")
    return Joined([source(part) for part in sources])
