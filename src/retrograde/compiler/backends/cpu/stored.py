"""Stored programs: what was planned and compiled for a graph in an earlier process is found on disk, and runs at once.

Such a start neither plans nor generates code, and loads nothing of what does.
"""

from contextlib import suppress
from functools import cached_property

from ....precision import held_precision
from ...graph.keys import NoKeyError, key_of
from ...verify_setting import is_on
from . import threads
from .machine import name_for
from .native import NativeProgram
from .packing import UnfitError, packed, unpacked
from .units import library


def stored_or_made(graph, backend):
    """A program for a graph: the one that an earlier process stored, or one that the backend makes now."""
    try:
        text, arrays = key_of(graph)
    except NoKeyError:
        return backend.made(graph)
    with held_precision() as level:
        # The number of threads, since launches say how many chunks there are, and the precision, since nodes do not have it.
        known = "program", threads.get_num_threads(), level.level, text
        name, store = name_for(known, backend.target()), library().store
        data = store.get(name)
        if data is not None:
            code, precision = unpacked(data, graph, arrays)
            # Units are entries of their own, any of which may have been removed: then all is made anew.
            if library().load_stored(code.units):
                if precision is not None:
                    level.ask()
                program = StoredProgram(graph, code, backend)
                program.precision = precision
                if is_on():
                    _ = program.schedule  # planned anew, or the passes that made it would not be verified
                return program
        made = backend.made(graph)
        with suppress(NoKeyError, UnfitError):
            store.put(name, packed(made.code, graph, arrays, level.asked))
        return made


class StoredProgram(NativeProgram):
    """A native program that was found on disk. Who asks what it consists of waits until it has been planned."""

    def __init__(self, graph, code, backend):
        super().__init__(graph, code)
        self._backend = backend

    @cached_property
    def _whole(self):
        with held_precision(self.precision):
            return self._backend.made(self.graph)

    @property
    def schedule(self):
        """The steps in order."""
        return self._whole.schedule

    def explain(self, passes=False):
        """A report of the kernels, and of what each pass of the compiler leaves if `passes` are asked for."""
        return self._whole.explain(passes)

    def profile(self, arrays, repeats=20):
        """The report of the kernels with the time of each, one after the other, on copies of the state."""
        for number, array in enumerate(self.state_arrays):
            self._whole.bind(number, array)
        return self._whole.profile(arrays, repeats)
