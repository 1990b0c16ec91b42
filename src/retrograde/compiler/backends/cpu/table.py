"""Tables: launches as the words that native code reads."""

import ctypes
from functools import cached_property

import numpy as np

from .codegen.parallel import NEST_HEAD

#: The first place of every table of pointers, before `FLAG`: the record of the threads that share parallel regions.
POOL = "pool"
#: Words of one step: its function, where its slots are, how many chunks it has, and whether it writes what lasts.
STEP_WORDS = 4


class Words:
    """Numbers that compiled code reads. Some are to be addresses: of other words (`places`), or of functions (by place)."""

    def __init__(self, numbers=(), places=(), functions=()):
        self.numbers, self.places, self.functions = list(numbers), list(places), dict(functions)

    def add(self, words, places=(), functions=()):
        """Append words; where they begin. Those at `places` say where other words begin, those at (place, name) among
        `functions` are to be addresses of functions.
        """
        at = len(self.numbers)
        self.numbers += words
        self.places += [at + place for place in places]
        self.functions.update({at + place: name for place, name in functions})
        return at

    @cached_property
    def data(self):
        """The numbers as an array, when all have been added."""
        return np.array(self.numbers, np.int64)

    def array(self, address):
        """All words, with addresses filled in; `address(name)` is that of a function."""
        # Addresses are of this process: what is kept on disk are places and names.
        found = self.data.copy()
        found[self.places] = address_of(found) + 8 * found[self.places]
        for place, name in self.functions.items():
            found[place] = address(name)
        return found


def laid_out(launches, slot, words):
    """Add launches to `words`; where their steps begin. `slot(buffer)` is a buffer's place in the table of pointers."""
    calls = [call_of(launch, slot, words) for launch in launches]
    numbers, places, functions = [], [], []
    for launch, (function, at) in zip(launches, calls, strict=True):
        functions.append((len(numbers), function))
        places.append(len(numbers) + 1)
        numbers += [0, at, launch.chunks, int(launch.lasts)]
    return words.add(numbers, places, functions)


def call_of(launch, slot, words):
    """The name of a launch's function, and where its slots are among the `words`."""
    if not launch.passes:
        return launch.entry, launch.put(slot, words)
    calls = [call_of(one, slot, words) for one in launch.passes]
    nest = launch.step.nest
    pairs = [word for _, at in calls for word in (0, at)]
    numbers = [nest.blocks, nest.chunk_blocks, (1 << nest.frames) - 1, 0, len(calls), *pairs]
    functions = [(NEST_HEAD + 2 * i, function) for i, (function, _) in enumerate(calls)]
    return "retrograde_nest", words.add(numbers, range(NEST_HEAD + 1, len(numbers), 2), functions)


def address_of(array):
    """The address of an array's first element."""
    # A microsecond, where `__array_interface__` takes five; asked for each large argument of each call.
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):  # read-only, or empty
        return array.__array_interface__["data"][0]
