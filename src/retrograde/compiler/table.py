"""Tables: launches as the words that native code reads."""

import ctypes
from dataclasses import dataclass

import numpy as np

from .units import library

#: The first place of every table of pointers: the record of the threads that share parallel regions.
POOL = "pool"


@dataclass(frozen=True, eq=False)
class Scratch:
    """Memory of the code's own."""

    nbytes: int


def laid_out(launches, slot):
    """(slots of all launches, steps) as arrays of words; `slot(buffer)` is a buffer's place in the table of pointers."""
    slots = [launch.slots(slot) for launch in launches]
    words = np.array([word for part in slots for word in part], np.int64)
    address, at = address_of(words), 0
    steps = np.zeros((len(slots), 4), np.int64)
    for i, (launch, part) in enumerate(zip(launches, slots, strict=True)):
        steps[i] = library().address(launch.entry), address + 8 * at, launch.chunks, launch.lasts
        at += len(part)
    return words, steps


def address_of(array):
    """The address of an array's first element."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):  # read-only, or empty
        return array.__array_interface__["data"][0]
