"""Scattering in steps: an array added to zeros at every so many places, as one added to zeros side by side.

An axis of n places is, in steps of s, one of n / s places and one of s: what is added at each s-th place is added to one line of
the second.
"""

import numpy as np

from ..ops.bands import band
from .infer import called


def unstrided(x, shape, index):
    """What `scatter_add` gives for slices with steps and for integers, in other ops; None for another index."""
    parts = parts_of(index, len(shape))
    if parts is None or not all([isinstance(part, slice) or type(part) is int for part in parts]):
        return None
    if not any(map(_has_steps, parts)):
        return None
    last = parts[-1]
    if _has_steps(last):
        # Neighbours in memory: one vector is chosen for all of them.
        x, parts[-1] = collected(x, shape[-1], -1, np.arange(shape[-1])[last]), slice(None)
    axes = [_Axis.of(part, size) for part, size in zip(parts, shape, strict=True)]
    kept = [axis for axis, part in zip(axes, parts, strict=True) if isinstance(part, slice)]
    backwards = tuple([i for i, axis in enumerate(kept) if axis.is_backwards])
    x = called("flip", x, backwards) if backwards else x
    found = called("scatter_add", x, tuple([n for a in axes for n in a.shape]), tuple([part for a in axes for part in a.index]))
    whole = tuple([a.size for a in axes])
    found = called("reshape", found, whole)
    return found if whole == tuple(shape) else called("getitem", found, tuple([slice(n) for n in shape]))


def _has_steps(part):
    """Whether a part of an index leaves out places between those that it chooses."""
    return isinstance(part, slice) and part.step not in (None, 1, -1)


def collected(x, size, axis, positions):
    """Zeros with the lines of `x` along `axis` added at `positions` of `size`: each place chooses those that come to it."""
    count, found = len(positions), None
    columns, weights = band(positions, np.arange(count), np.ones(count), (size, count))
    for places, weight in zip(columns, weights, strict=True):
        part = called("take", x, places, axis)
        if not weight.all():
            is_met = (weight != 0).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
            part = called("where", is_met, part, np.zeros((), x.dtype))
        found = part if found is None else called("add", found, part)
    return found


class _Axis:
    """An axis in steps: its `shape` as one axis or two, the `index` of what is chosen in these, and how many places they have."""

    def __init__(self, shape, index, is_backwards=False):
        self.shape, self.index, self.is_backwards = shape, index, is_backwards
        self.size = shape[0] if len(shape) == 1 else shape[0] * shape[1]

    @classmethod
    def of(cls, part, size):
        """The axis of so many places of which `part` is chosen."""
        if not isinstance(part, slice):
            return cls((size,), (part,))
        places = range(*part.indices(size))
        is_backwards = places.step < 0
        places = places[::-1] if is_backwards else places
        if len(places) < 2 or places.step == 1:
            return cls((size,), (slice(places.start, places.start + len(places)),), is_backwards)
        row, column = divmod(places.start, places.step)
        return cls((-(-size // places.step), places.step), (slice(row, row + len(places)), column), is_backwards)


def parts_of(index, ndim):
    """The parts of an index, one for each axis, with slices in the place of what it leaves out; None where there are too many."""
    parts = list(index) if isinstance(index, tuple) else [index]
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    at, missing = dots[0] if dots else len(parts), ndim - len(parts) + len(dots)
    if len(dots) > 1 or missing < 0:
        return None
    parts[at : at + len(dots)] = [slice(None)] * missing
    return parts
