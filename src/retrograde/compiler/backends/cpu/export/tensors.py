"""Tensors of a file: weights, other state, and constants, each once however many functions use it."""

import numpy as np
from numpy.lib.array_utils import byte_bounds

from .....errors import ProgramError
from .....runtime import LINE


class Tensors:
    """The bytes of tensors, and what is noted of each: where it begins, its bytes, and whether it is written to."""

    def __init__(self):
        self.data, self.records = bytearray(), []
        self._numbers, self._kept = {}, []

    def state(self, array, is_written):
        """(number, offset) of an array of the state of a function."""
        if id(array) not in self._numbers:
            self._numbers[id(array)] = self._add(array, np.ascontiguousarray(array).tobytes())
        number = self._numbers[id(array)]
        self.records[number][2] |= is_written
        return number, 0

    def constant(self, array):
        """(number, offset) of a constant, which keeps its order in memory, since code was made for it."""
        low, high = byte_bounds(array) if array.size else (0, 0)
        key = low, high
        if key not in self._numbers:
            self._numbers[key] = self._add(array, _memory(array, low, high))
        return self._numbers[key], (array.__array_interface__["data"][0] - low) if array.size else 0

    def _add(self, array, content):
        self.data.extend(bytes(-len(self.data) % LINE))
        self.records.append([len(self.data), len(content), False, 0])
        self.data += content
        self._kept.append(array)  # so that its memory stays its own
        return len(self.records) - 1

    def check_apart(self, functions):
        """Raise a ProgramError if what one of the exported `functions` writes to is a part of another tensor."""
        arrays = list({id(array): array for function in functions for array in function.state}.values())
        written = [array for array in arrays if self.records[self._numbers[id(array)]][2]]
        for array in written:
            for other in arrays:
                if other is not array and np.may_share_memory(array, other):
                    raise ProgramError(f"a tensor of shape {array.shape} that the functions write to shares memory with another "
                                       f"of shape {other.shape}; exported programs keep each tensor by itself")


def _memory(array, low, high):
    """The bytes from address to address in which the elements of an array lie; those between them are zeros."""
    if array.flags.c_contiguous:
        return array.tobytes()
    found = np.zeros(high - low, np.uint8)
    start = array.__array_interface__["data"][0] - low
    np.ndarray(array.shape, array.dtype, found.data, start, array.strides)[...] = array
    return found.tobytes()
