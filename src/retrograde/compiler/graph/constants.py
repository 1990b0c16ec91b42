"""Constants: the arrays that a graph holds. Many equal elements are kept as one, which code knows without reading memory."""

import numpy as np

from ...core import writes
from ...dtypes import native

#: Constants of more elements are computed by the program, unless all their elements are equal.
SMALL = 1024
#: So many elements are compared at once.
_PART = 1 << 20
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def as_constant(array):
    """An array as a graph keeps it, as it is now: with bytes in the order of this machine, one element in the place of many equal
    ones, and others copied, so that nobody else writes to them.
    """
    array = native(array)
    if array.size > SMALL and any(array.strides) and _has_equal_bits(array):
        return np.broadcast_to(first(array).copy(), array.shape)
    # Nobody can write to it: a copy would be the same. What is frozen for the time of a trace is written to afterwards.
    if array.flags.owndata and not array.flags.writeable and id(array) not in writes.FROZEN:
        return array
    array = np.broadcast_to(first(array).copy(), array.shape) if array.size and not any(array.strides) else array.copy()
    array.flags.writeable = False
    return array


def is_kept_as(array, kept):
    """Whether `kept`, as which a graph keeps `array`, is still what that holds."""
    return not array.flags.writeable or has_bits_of(native(array), kept)


def has_bits_of(x, y):
    """Whether arrays of one shape and dtype have the same bits, of which many are looked at in parts."""
    kind = _BITS.get(x.dtype.itemsize)
    if kind is None:
        return x.tobytes() == y.tobytes()
    if x.size <= _PART or x.ndim == 0:
        return bool((x.view(kind) == y.view(kind)).all())
    rows = max(1, _PART * len(x) // x.size)
    return all([bool((x[i : i + rows].view(kind) == y[i : i + rows].view(kind)).all()) for i in range(0, len(x), rows)])


def _has_equal_bits(array):
    """Whether all elements are equal, which bits tell: they know zeros of different sign apart."""
    kind = _BITS.get(array.dtype.itemsize)
    if kind is None or not array.flags.forc:
        return False
    bits = array.ravel(order="K").view(kind)
    # Three elements tell most arrays apart, before all of them are read.
    return bits[0] == bits[-1] == bits[bits.size // 2] and bool((bits == bits[0]).all())


def is_uniform(array):
    """Whether all elements of a constant are known to be equal."""
    if array.size <= 1 or not any(array.strides):
        return array.size > 0
    return array.size <= SMALL and array.tobytes() == first(array).tobytes() * array.size


def first(array):
    """The first element of an array, with no copy of the others."""
    return array[(0,) * array.ndim]


def constant_key(array):
    """What equal constants have in common."""
    if array.size > SMALL and any(array.strides):
        # Large ones by identity: to hash them would take longer than it saves. `_constant` of a trace has one object for each.
        return array.dtype.str, array.shape, id(array)
    return array.dtype.str, array.shape, first(array).tobytes() if is_uniform(array) else array.tobytes()
