"""What the code of pooling depends on: the windows, cut in runs that all have the same places inside the image."""

from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from .. import ir
from ..vectors import InVectors

TAP = ir.IntType(8)


class Run(NamedTuple):
    """Windows `first` to `first + count` along an axis: which places of theirs are inside, and how long they count for means."""

    first: int
    count: int
    places: tuple
    length: int


@dataclass(eq=False, repr=False)
class Pool(InVectors):
    """Pooling of images; pairs are (height, width).

    is_mean   the mean of a window, or else its greatest element
    divisor   what a mean is divided by in place of the number of elements
    has_values, has_taps   which results are wanted of the greatest: it, and its place
    lengths   for means, for each row and each column of windows, how many elements count
    """

    dtype: str
    lanes: int
    image: tuple
    result: tuple
    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    is_mean: bool
    divisor: float | None = None
    has_values: bool = True
    has_taps: bool = True
    lengths: tuple = ((), ())

    @property
    def is_by_pairs(self):
        """Whether windows are two columns wide and lie side by side."""
        return (self.kernel[1], self.stride[1], self.dilation[1]) == (2, 2, 1)

    @property
    def has_apart_rows(self):
        """Whether no row of the image is in two rows of windows."""
        return self.stride[0] > self.dilation[0] * (self.kernel[0] - 1)

    def runs(self, axis):
        """The runs of windows along an axis."""
        found, first = [], 0
        # Inside a run nothing is asked about borders: code for the few windows at the edges, and one loop for all in between.
        for (places, length), group in groupby([self._window(axis, n) for n in range(self.result[axis])]):
            count = len(list(group))
            found.append(Run(first, count, places, length))
            first += count
        return found

    def _window(self, axis, number):
        start = number * self.stride[axis] - self.padding[axis]
        places = [k for k in range(self.kernel[axis]) if 0 <= start + k * self.dilation[axis] < self.image[axis]]
        return tuple(places), self.lengths[axis][number] if self.is_mean else 0

    def start(self, axis, first, place):
        """Where in the image place `place` of window `first` is."""
        return first * self.stride[axis] - self.padding[axis] + place * self.dilation[axis]

    def count(self, rows, columns):
        """What the mean of a window of two runs is divided by."""
        return float(rows.length * columns.length if self.divisor is None else self.divisor)
