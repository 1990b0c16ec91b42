"""Overlaps: whether a jitted function writes to memory that it knows by two names, which compiled code would not see."""

from operator import itemgetter

import numpy as np

#: How long it is looked for an element that two arrays share; then they are taken to share one.
_PATIENCE = 1000


def meets_itself(trace, arrays, written):
    """Whether an argument, or a tensor from outside, lies in memory that the function writes to in another way.

    arrays   those of the arguments, None where an argument is none
    written  the numbers of the arguments that are written to
    """
    targets = [(None, capture.value.data) for capture in trace.changed()] + [(i, arrays[i]) for i in written]
    return _overlap([capture for capture in trace.captured() if isinstance(capture.value.data, np.ndarray)]) or any([
        i != j and np.may_share_memory(array, target)
        for i, array in enumerate(arrays) if array is not None for j, target in targets
    ])


def _overlap(captures):
    """Whether one of the tensors from outside that is written to shares memory with another one."""
    found = [(*np.lib.array_utils.byte_bounds(c.value.data), c.value.data, c.now is not c.start) for c in captures]
    found.sort(key=itemgetter(0))
    for i, (_, end, array, is_written) in enumerate(found):
        for start, _, other, is_other_written in found[i + 1 :]:
            if start >= end:
                break
            if (is_written or is_other_written) and np.may_share_memory(array, other, max_work=_PATIENCE):
                return True
    return False
