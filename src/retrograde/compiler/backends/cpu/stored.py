"""Stored programs: what was planned and compiled for a graph in an earlier process is found on disk, and runs at once.

Such a start neither plans nor generates code, and loads nothing of what does. Of a graph in which layers repeat the short one is
looked for, and planned where it is not found.
"""

from contextlib import suppress
from functools import cached_property
from importlib import import_module

from ....precision import held_precision
from ...graph.keys import NoKeyError, key_of
from ...graph.shortened import shortened
from ...verify_setting import is_on
from . import threads
from .machine import name_for
from .native import NativeProgram
from .packing import UnfitError, packed, unpacked
from .units import library


def stored_or_made(graph, backend):
    """A program for a graph: the one that an earlier process stored, or one that the backend makes now."""
    short = shortened(graph)
    try:
        text, arrays = key_of(graph if short is None else short.graph)
    except NoKeyError:
        return _made(graph, short, backend)
    with held_precision() as level:
        # The number of threads, since launches say how many chunks there are, and the precision, since nodes do not have it.
        known = "program", threads.get_num_threads(), level.level, text, short and short.told
        name, store = name_for(known, backend.target()), library().store
        data = store.get(name)
        if data is not None:
            code, precision = unpacked(data, graph, arrays)
            # Units are entries of their own, any of which may have been removed: then all is made anew.
            if library().load_stored(code.units):
                if precision is not None:
                    level.ask()
                program = UnplannedProgram(graph, code, backend, short is not None)
                program.precision = precision
                if is_on():
                    _ = program.schedule  # planned anew, or the passes that made it would not be verified
                return program
        made = _made(graph, short, backend)
        with suppress(NoKeyError, UnfitError):
            store.put(name, packed(made.code, graph, arrays, level.asked))
        return made


def _made(graph, short, backend):
    """A program that is made now, of a graph or of its short one."""
    code = None if short is None else import_module(".repeated.code", __package__).code_of(short, backend)
    return backend.made(graph) if code is None else UnplannedProgram(graph, code, backend, is_short=True)


class UnplannedProgram(NativeProgram):
    """A native program that was found on disk, or made of a short graph. Who asks what it consists of waits until it is planned."""

    def __init__(self, graph, code, backend, is_short=False):
        super().__init__(graph, code)
        self._backend, self._is_short = backend, is_short

    @cached_property
    def _whole(self):
        with held_precision(self.precision):
            return self._backend.made(self.graph, self._is_short)

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
