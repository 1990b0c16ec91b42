"""The backend for processors. What plans and writes code is loaded when there is something to write; a program that an earlier
process has left on disk needs neither.
"""

from importlib import import_module

from ...target import named
from .. import interface
from . import threads
from .host import target
from .stored import stored_or_made
from .units import library

#: What eager ops call for large arrays, by the modules that have it.
_EAGER = {"fill": "drawing", "function": "functions", "fast_function": "functions", "product": "direct", "multiplier": "direct",
          "planned_rows": "rows", "small": "small", "exchange": "exchange"}


class Backend(interface.Backend):
    """Machine code, which is kept on disk."""

    def target(self):
        """The processor that code is for; see `host`."""
        return target()

    def written(self, draft, target):
        """Launches of compiled code, loops of them, and calls of Python where an op has no kernel."""
        return _module("assemble").assemble(draft, target, self.program)

    def load(self, graph, draft, parts):
        """A program of machine code."""
        return _module("build").BuiltProgram(graph, draft, parts)

    def program(self, graph):
        """The program that an earlier process stored, or a new one, which is stored."""
        return stored_or_made(graph, self)

    def exported(self, functions, target):
        """A file of machine code; "host" is what code of this process is for."""
        found = self.target() if target == "host" else named(target)
        name = found.name if target == "host" else target
        return _module("export.writing").exported(functions, found, name, library().store)

    def expect(self):
        """Begin to compile the code that runs steps."""
        library().expect(threads.unit())

    def get_num_threads(self):
        """One per core, or what was set."""
        return threads.get_num_threads()

    def set_num_threads(self, count):
        """Let all programs use so many from here on."""
        threads.set_num_threads(count)

    def eager(self, name):
        """Compiled code for one op, with no program around it."""
        return getattr(_module(_EAGER[name]), name.removesuffix("_rows")) if name in _EAGER else super().eager(name)


def _module(name):
    return import_module(f"{__package__}.{name}")


BACKEND = Backend()
