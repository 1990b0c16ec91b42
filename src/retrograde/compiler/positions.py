"""Positions: what an index with arrays chooses, told in a way that kernels can follow."""

import numpy as np

from ..core.symbol import Symbol

_ALL = slice(None)


def parts_of(index, ndim):
    """The slices and arrays of positions of an index, one for each axis; None of an index with anything else."""
    parts = [np.asarray(p, dtype=int) if isinstance(p, list) and p and all([type(i) is int for i in p]) else p
             for p in (index if isinstance(index, tuple) else (index,))]
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    missing = ndim - len(parts) + len(dots)
    if len(dots) > 1 or missing < 0:
        return None
    at = dots[0] if dots else len(parts)
    parts[at : at + len(dots)] = [_ALL] * missing
    return parts if all([isinstance(part, slice) or is_array(part) for part in parts]) else None


def is_array(part):
    """Whether a part of an index is an array of positions."""
    return isinstance(part, (Symbol, np.ndarray)) and part.dtype.kind == "i" and part.ndim > 0


def arrays_in(parts):
    """The axes of an index that have arrays of positions."""
    return [axis for axis, part in enumerate(parts) if is_array(part)]


def is_whole(parts):
    """Whether an index leaves all axes without arrays as they are."""
    return all([is_array(part) or part == _ALL for part in parts])


def is_each_row(parts, shape):
    """Whether an index chooses one element of each row of a matrix, in order."""
    if len(shape) != 2 or len(arrays_in(parts)) != 2 or not isinstance(parts[0], np.ndarray):
        return False
    return parts[0].shape == parts[1].shape == shape[:1] and np.array_equal(parts[0], np.arange(shape[0]))
