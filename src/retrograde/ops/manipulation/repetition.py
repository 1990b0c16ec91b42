"""Repetition: elements and arrays one after another several times, moved around, or cut apart."""

import operator
from itertools import pairwise

import numpy as np

from ...errors import DTypeError, ShapeError
from ...shapes import axis_tuple, one_axis
from .._families import composite, movement
from .._samples import call
from ..elementary.conversions import astype
from .gathering import take
from .joins import concatenate
from .movements import broadcast_to, expand_dims, reshape
from .selections import getitem


@composite(samples=(call((2, 3), repeats=2), call((2, 3), repeats=2, axis=-1), call((), repeats=3),
                    call((2, 3), repeats=np.array([1, 0, 2]), axis=1)))
def repeat(x, /, repeats, axis=None):
    r"""Each element of `x` along `axis` `repeats` times in a row: one number, or one for each; None for row-major order.

    Each element receives the sum of the cotangents of its copies.
    """
    if axis is None:
        x, axis = reshape(x, (int(x.size),)), 0
    axis = one_axis(axis, x.ndim)
    if np.ndim(repeats):
        return take(x, np.repeat(np.arange(x.shape[axis]), np.asarray(repeats)), axis)
    times, shape = operator.index(repeats), x.shape
    wide = broadcast_to(expand_dims(x, axis + 1), (*shape[: axis + 1], times, *shape[axis + 1 :]))
    return _of_its_own(reshape(wide, (*shape[:axis], shape[axis] * times, *shape[axis + 1 :])), [(times, shape[axis])])


@composite(samples=(call((2, 3), repetitions=2), call((2, 3), repetitions=(2, 1, 3)), call((3,), repetitions=(2, 2)),
                    call((), repetitions=2)))
def tile(x, /, repetitions):
    r"""`x` side by side with itself, `repetitions` times along each axis; one number is for the last axis.

    Each element receives the sum of the cotangents of its copies.
    """
    times = tuple(repetitions) if np.ndim(repetitions) else (repetitions,)
    ndim = max(len(times), x.ndim)
    times, shape = (1,) * (ndim - len(times)) + times, (1,) * (ndim - x.ndim) + tuple(x.shape)
    apart = reshape(x, tuple(n for size in shape for n in (1, size)))
    wide = broadcast_to(apart, tuple(n for pair in zip(times, shape, strict=True) for n in pair))
    return _of_its_own(reshape(wide, tuple(t * n for t, n in zip(times, shape, strict=True))), zip(times, shape, strict=True))


def _of_its_own(x, repeated):
    """`x` in memory of its own, as NumPy has it; `repeated` are (how often, how many elements) along its axes.

    Where several elements are repeated reshaping has copied them, else it may have given a view.
    """
    return x if any(times > 1 and size > 1 for times, size in repeated) else astype(x, x.dtype)


def _roll_in_ops(x, shift, axis):
    """Both parts of `x`, exchanged, for each axis that is rolled."""
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    if not all([isinstance(s, int) for s in shifts]) or not x.size:
        return NotImplemented
    if axis is None:
        return reshape(_roll_in_ops(reshape(x, (-1,)), sum(shifts), 0), x.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    if len(shifts) != len(axes):
        return NotImplemented
    for places, along in zip(shifts, axes, strict=True):
        along = one_axis(along, x.ndim)
        if cut := -places % x.shape[along]:
            before = (slice(None),) * along
            x = concatenate([getitem(x, (*before, slice(cut, None))), getitem(x, (*before, slice(cut)))], along)
    return x


@movement(keeps_sizes=True, makes_views=False, expansion=_roll_in_ops, samples=(
    call((2, 3), shift=1), call((2, 3), shift=-2, axis=1), call((2, 3), shift=(1, 2), axis=(0, 1))))
def roll(x, /, shift, axis=None):
    r"""`x` moved by `shift` places along `axis`; what leaves at the end comes in at the start. None for row-major order.

    $z_{(i + s) \bmod n} = x_i$, so $\bar x$ is $\bar z$ moved back.
    """
    if np.asarray(shift).dtype.kind not in "iu":
        raise DTypeError(f"shift must be an integer, or a tuple of integers, got {shift!r}")
    return np.roll(x, shift, axis)


def _roll_rule(g, shift, axis):
    back = tuple([-s for s in shift]) if isinstance(shift, (tuple, list)) else -shift
    return roll(g, back, axis)


roll.defvjp(_roll_rule)


@composite(is_multiple=True, samples=(call((4, 3), sections=2), call((2, 5), sections=(1, 3), axis=1)))
def split(x, /, sections, axis=0):
    r"""`x` cut along `axis` into a tuple of views: `sections` equal parts, or before each of the places in a sequence.

    $\bar x$ is zero but for the cotangent of each part at its place.

    >>> [part.tolist() for part in rg.ops.repetition.split(rg.tensor([1.0, 2.0, 3.0]), (1,))]
    [[1.0], [2.0, 3.0]]
    """
    (axis,) = axis_tuple(axis, x.ndim)
    size = x.shape[axis]
    if np.ndim(sections):
        places = [0, *map(int, sections), size]
    elif size % sections:
        raise ShapeError(f"split needs a number of equal parts, got {sections} for an axis of {size}")
    else:
        places = [size // sections * i for i in range(sections + 1)]
    whole = (slice(None),) * axis
    return tuple([getitem(x, (*whole, slice(a, b))) for a, b in pairwise(places)])
