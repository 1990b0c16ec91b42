"""Overlaps: whether a jitted function writes to memory that it knows by two names, which compiled code would not see."""

from operator import itemgetter

import numpy as np

#: How long it is looked for an element that two arrays share; then they are taken to share one.
_PATIENCE = 1000
_ARRAY = np.ndarray


def shares(array, other):
    """Whether two arrays have an element in common."""
    return np.may_share_memory(array, other, max_work=_PATIENCE)


def overlap(arrays, written):
    """Whether one of the `arrays`, of those that `written` says are written to, shares memory with another one."""
    found = [(*np.lib.array_utils.byte_bounds(a), a, is_written) for a, is_written in zip(arrays, written, strict=True)]
    # By where they begin: arrays that begin behind the end of this one need not be asked.
    found.sort(key=itemgetter(0))
    for i, (_, end, array, is_written) in enumerate(found):
        for n in range(i + 1, len(found)):
            start, _, other, is_other_written = found[n]
            if start >= end:
                break
            if (is_written or is_other_written) and shares(array, other):
                return True
    return False


def meets_itself(trace):
    """Whether a tensor from outside that is written to shares memory with another one."""
    captures = [capture for capture in trace.captured() if isinstance(capture.value.raw, np.ndarray)]
    return overlap([c.value.raw for c in captures], [c.now is not c.start for c in captures])


def lies_otherwise(trace):
    """Whether a tensor from outside does not lie row by row, as its order in memory was taken to be."""
    return any([not value.raw.flags.c_contiguous for value in trace.in_order()])


class Memory:
    """The memory of some arrays, as it is asked at each call whether others lie in it: arrays of another owner do not."""

    def __init__(self, arrays):
        self._arrays, self._owned = arrays, {}
        for array in arrays:
            self._owned.setdefault(id(_owner(array)), []).append(array)

    def holds_one(self, arrays):
        """Whether one of other `arrays` shares memory with one of these."""
        owned = self._owned
        for array in arrays:
            if array.base is None and id(array) not in owned:  # mostly
                continue
            owner = _owner(array)
            others = owned.get(id(owner), ()) if owner.base is None else self._arrays
            if others and any([shares(array, other) for other in others]):
                return True
        return False


def _owner(array):
    """The array of NumPy whose memory an array shows; if that has a base, the memory is that of something else."""
    while (base := array.base).__class__ is _ARRAY:
        array = base
    return array
