"""The shape of a correlation: which numbers of the source meet which weights for each number of the result.

With stride 1 every result is a sum over taps, each at a fixed distance from it. Strides are taken out beforehand: a source
that is read in steps is laid out as one plane for each remainder, and a result that is written in steps is several grids,
each with the taps that reach it.
"""

from itertools import product
from typing import NamedTuple


class Plane(NamedTuple):
    """A layout of one channel: row r shows row `rows[0] + rows[1] * r` of the source, zeros outside; columns likewise."""

    rows: tuple
    columns: tuple


class Tap(NamedTuple):
    """What is added for one place of the kernel: weight number `weight` times the number `row`, `column` further in a plane."""

    weight: int
    plane: int
    row: int
    column: int


class Grid(NamedTuple):
    """A part of the result: (first, step, count) of its rows and of its columns, and the taps of each number."""

    rows: tuple
    columns: tuple
    taps: tuple


class Correlation(NamedTuple):
    """`inputs` and `outputs` are channels of one of `groups`; `image` and `result` are (height, width)."""

    image: tuple
    result: tuple
    groups: int
    inputs: int
    outputs: int
    planes: tuple
    grids: tuple

    @property
    def reach(self):
        """How many rows and columns the farthest tap is away."""
        taps = [tap for grid in self.grids for tap in grid.taps]
        return max([t.row for t in taps], default=0), max([t.column for t in taps], default=0)

    @property
    def count(self):
        """Rows and columns of the largest grid."""
        return max(grid.rows[2] for grid in self.grids), max(grid.columns[2] for grid in self.grids)

    @property
    def products(self):
        """Products of two numbers for one image."""
        sizes = [grid.rows[2] * grid.columns[2] * len(grid.taps) for grid in self.grids]
        return self.groups * self.inputs * self.outputs * sum(sizes)


def forward_of(geometry):
    """The correlation of a convolution with its kernel."""
    rows, columns = (_strided(geometry, axis) for axis in (0, 1))
    # A plane for each remainder of a tap's distance by the stride: in it, that tap meets neighbours where results are
    # neighbours.
    remainders = sorted({(r, c) for _, r in rows for _, c in columns})
    (top, _), (left, _) = geometry.padding
    planes = tuple([Plane((r - top, geometry.stride[0]), (c - left, geometry.stride[1])) for r, c in remainders])
    taps = tuple([
        Tap(i * geometry.kernel[1] + j, remainders.index((r, c)), down, right)
        for (i, (down, r)), (j, (right, c)) in product(enumerate(rows), enumerate(columns))
    ])
    grid = Grid((0, 1, geometry.result[0]), (0, 1, geometry.result[1]), taps)
    inputs, outputs = geometry.channels // geometry.groups, geometry.outputs // geometry.groups
    return Correlation(geometry.image, geometry.result, geometry.groups, inputs, outputs, planes, (grid,))


def _strided(geometry, axis):
    """Where each tap along an axis is, in whole strides and the remainder."""
    return [divmod(geometry.dilation[axis] * k, geometry.stride[axis]) for k in range(geometry.kernel[axis])]


def backward_of(geometry):
    """The correlation that makes the input's gradient of the output's."""
    rows, columns = (_phases(geometry, axis) for axis in (0, 1))
    # The farthest taps up and left are in the border of the plane: distances in it count from there, so that none is negative.
    down, right = (min([at for _, taps in axis for _, at in taps], default=0) for axis in (rows, columns))
    grids = tuple([
        Grid(of_rows, of_columns, tuple([
            Tap(i * geometry.kernel[1] + j, 0, at - down, beside - right)
            for (i, at), (j, beside) in product(row_taps, column_taps)
        ]))
        for (of_rows, row_taps), (of_columns, column_taps) in product(rows, columns)
    ])
    inputs, outputs = geometry.outputs // geometry.groups, geometry.channels // geometry.groups
    plane = Plane((down, 1), (right, 1))
    return Correlation(geometry.result, geometry.image, geometry.groups, inputs, outputs, (plane,), grids)


def _phases(geometry, axis):
    """For each remainder of places along an axis of the image: (first, step, count), and its taps with their distances."""
    stride, dilation, before = geometry.stride[axis], geometry.dilation[axis], geometry.padding[axis][0]
    found = []
    # Places of the image that are a stride apart are reached by the same taps; with a stride above the image there are fewer
    # grids.
    for first in range(min(stride, geometry.image[axis])):
        distances = [(k, first + before - dilation * k) for k in range(geometry.kernel[axis])]
        # A tap reaches a place if a result stands there at all: results are a stride apart.
        taps = [(k, at // stride) for k, at in distances if at % stride == 0]
        found.append(((first, stride, -(-(geometry.image[axis] - first) // stride)), taps))
    return found
