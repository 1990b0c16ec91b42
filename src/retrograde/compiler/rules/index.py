"""Indices as rules read them: for each axis a slice, an integer or an array of positions; slices in steps as axes side by side."""

from math import prod

import numpy as np

from ...core.symbol import Symbol
from ..graph.infer import called

WHOLE = slice(None)
#: What most indices are made of.
_PLAIN = frozenset([slice, int, type(Ellipsis)])


class Index:
    """An index that has a slice, an integer or an array of positions for each axis: its `parts`, and the axes of `arrays`."""

    def __init__(self, parts):
        self.parts, self.arrays = parts, [axis for axis, part in enumerate(parts) if _is_array(part)]

    @classmethod
    def of(cls, index, ndim):
        """The index as it is written; None of one with anything else, or of other axes than these."""
        parts = list(index) if isinstance(index, tuple) else [index]
        dots = [i for i, part in enumerate(parts) if part is Ellipsis]
        at, missing = dots[0] if dots else len(parts), ndim - len(parts) + len(dots)
        if len(dots) > 1 or missing < 0:
            return None
        # An ellipsis, or the end of a short index, stands for all axes that are not named.
        parts[at : at + len(dots)] = [WHOLE] * missing
        parts = [np.asarray(p, dtype=int) if isinstance(p, list) and p and all([type(i) is int for i in p]) else p for p in parts]
        return cls(parts) if all([isinstance(p, slice) or type(p) is int or _is_array(p) for p in parts]) else None

    @property
    def has_integers(self):
        """Whether a part is an integer."""
        return any([type(part) is int for part in self.parts])

    @property
    def is_whole(self):
        """Whether it leaves all axes without arrays as they are."""
        return all([_is_array(part) or part == WHOLE for part in self.parts])

    @property
    def is_of_first_axes(self):
        """Whether the axes that have arrays are the first ones, and all others are left as they are."""
        return self.is_whole and self.arrays == list(range(len(self.arrays)))

    @property
    def has_steps(self):
        """Whether it is made of slices and integers, and a slice leaves out elements between those that it takes."""
        return not self.arrays and any([has_step(part) for part in self.parts])

    def is_each_row(self, shape):
        """Whether it chooses one element of each row of a matrix, in order."""
        if len(shape) != 2 or self.arrays != [0, 1] or not isinstance(self.parts[0], np.ndarray):
            return False
        rows, columns = self.parts
        return rows.shape == columns.shape == shape[:1] and np.array_equal(rows, np.arange(shape[0]))


def may_have_arrays(index):
    """Whether an index is not of slices and integers alone; quick, since most are."""
    return not _PLAIN.issuperset([part.__class__ for part in index] if index.__class__ is tuple else [index.__class__])


def may_have_steps(index):
    """Whether a slice of an index, as it is written, leaves out elements; quick, since few do."""
    return any([part.__class__ is slice and part.step is not None for part in (index if index.__class__ is tuple else (index,))])


def _is_array(part):
    """Whether a part of an index is an array of positions."""
    return isinstance(part, (Symbol, np.ndarray)) and part.dtype.kind == "i" and part.ndim > 0


def has_step(part):
    """Whether a part of an index is a slice that leaves out elements between those that it takes."""
    return isinstance(part, slice) and part.step not in (None, 1, -1)


class SteppedAxis:
    """An axis in steps: its `shape` as one axis or two, the `index` of what is chosen in these, and how many elements they have.

    An axis of n elements is, in steps of s, one of n / s and one of s.
    """

    def __init__(self, shape, index, is_backwards=False):
        self.shape, self.index, self.is_backwards, self.size = shape, index, is_backwards, prod(shape)

    @classmethod
    def of(cls, part, size):
        """The axis of so many elements of which `part`, a slice or an integer, is chosen."""
        if not isinstance(part, slice):
            return cls((size,), (part,))
        taken = range(*part.indices(size))
        is_backwards = taken.step < 0
        # Written forwards: what is put there is flipped beforehand.
        taken = taken[::-1] if is_backwards else taken
        if len(taken) < 2 or taken.step == 1:
            return cls((size,), (slice(taken.start, taken.start + len(taken)),), is_backwards)
        # Elements start, start + step, ... are one column of a table with rows of `step`.
        row, column = divmod(taken.start, taken.step)
        return cls((-(-size // taken.step), taken.step), (slice(row, row + len(taken)), column), is_backwards)


def column(x):
    """An array of one axis as a matrix of one column."""
    return x[:, None] if isinstance(x, np.ndarray) else called("reshape", x, (-1, 1))


def from_front(positions, size):
    """Positions that are not counted from the end."""
    if isinstance(positions, np.ndarray):
        return np.where(positions < 0, positions + size, positions)
    return called("where", called("less", positions, 0), called("add", positions, size), positions)


def checked(positions, size):
    """Positions counted from the front, which stop the program where they are out of range."""
    positions = from_front(positions, size)
    positions = positions if positions.dtype == np.int64 else called("astype", positions, np.dtype(np.int64))
    return called("checked_positions", positions, size)


def in_row_major_order(positions, shape):
    """Where elements at `positions` along the first axes of `shape` are in row-major order; checked for each axis."""
    found = None
    for part, size in zip(positions, shape, strict=False):
        part = checked(part, size)
        found = part if found is None else called("add", called("multiply", found, size), part)
    return found
