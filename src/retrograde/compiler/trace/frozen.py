"""Frozen: the memory of tensors from outside, which NumPy may not write to while a function that uses them is traced.

What NumPy writes is written once, by the trace, and by no call of what is compiled. So it is an error at the line that does it.
"""

import numpy as np

from ...core import writes
from ...errors import TraceError

#: What to do in the place of writing to an array.
INSTEAD = "write to the tensor itself, within rg.no_grad() if it requires gradients: x[...] = y, or x += y"


class Frozen:
    """The arrays that one trace holds fast."""

    def __init__(self):
        self._arrays = []

    def add(self, array):
        """Let NumPy not write to `array` from here on."""
        if array.__class__ is np.ndarray and array.flags.writeable and _is_writeable_below(array):
            # A view that was taken while it could be written to still can be: that is how the engine itself writes.
            writes.FROZEN[id(array)] = array.view()
            array.flags.writeable = False
            self._arrays.append(array)

    def release(self):
        """Let all be as before."""
        while self._arrays:
            array = self._arrays.pop()
            _thaw(array)
            writes.FROZEN.pop(id(array), None)

    def explain(self, error):
        """Raise a TraceError if `error`, which has left the function that is traced, is NumPy's for such a write."""
        if self._arrays and isinstance(error, ValueError) and "read-only" in str(error):
            raise TraceError("a jitted function wrote to the array of a tensor from outside (x.data, or x.numpy()), which would be "
                             f"done while it is traced and at no call; {INSTEAD}") from error


def _is_writeable_below(array):
    """Whether NumPy will let an array be written to again."""
    base = array.base
    if base is None:
        return True
    if isinstance(base, np.ndarray):
        return base.flags.writeable or id(base) in writes.FROZEN
    try:  # an unpickled array may lie in bytes, as one that can be written to, and only once
        return not memoryview(base).readonly
    except TypeError:
        return False


def _thaw(array):
    """Let `array` be written to again, also if its memory is that of an array that stays frozen."""
    # NumPy lets a view be written to again only while its base can be.
    base = array.base if isinstance(array.base, np.ndarray) and not array.base.flags.writeable else None
    if base is not None:
        base.flags.writeable = True
    array.flags.writeable = True
    if base is not None:
        base.flags.writeable = False
