"""Tables: launches as the words that native code reads."""

import ctypes
from dataclasses import dataclass

import numpy as np

from . import threads
from .units import library

#: The first place of every table of pointers: the record of the threads that share parallel regions.
POOL = "pool"


@dataclass(frozen=True, eq=False)
class Scratch:
    """Memory of the code's own."""

    nbytes: int


def laid_out(launches, slot):
    """(slots of all launches, steps) as arrays of words; `slot(buffer)` is a buffer's place in the table of pointers."""
    found, steps = _Words(), np.zeros((len(launches), 4), np.int64)
    calls = [_call(launch, slot, found) for launch in launches]
    words = found.array()
    for i, (launch, (function, at)) in enumerate(zip(launches, calls, strict=True)):
        steps[i] = function, address_of(words) + 8 * at, launch.chunks, launch.lasts
    return words, steps


def _call(launch, slot, words):
    """The address of a launch's function, and where its slots are among the `words`."""
    if not launch.passes:
        return library().address(launch.entry), words.add(launch.slots(slot))
    calls = [_call(one, slot, words) for one in launch.passes]
    nest = launch.step.nest
    numbers = [nest.blocks, nest.chunk_blocks, len(calls), *[number for call in calls for number in call]]
    return threads.nest_address(), words.add(numbers, range(4, len(numbers), 2))


class _Words:
    """Numbers that compiled code reads, some of them the addresses of others."""

    def __init__(self):
        self._words, self._places = [], []

    def add(self, words, places=()):
        """Append words; where they begin. Those at `places` say where other words begin."""
        at = len(self._words)
        self._words += words
        self._places += [at + place for place in places]
        return at

    def array(self):
        """All words, with addresses filled in."""
        found = np.array(self._words, np.int64)
        found[self._places] = address_of(found) + 8 * found[self._places]
        return found


def address_of(array):
    """The address of an array's first element."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):  # read-only, or empty
        return array.__array_interface__["data"][0]
