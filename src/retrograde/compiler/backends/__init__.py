"""Backends: what makes programs of planned graphs, and runs them. This file alone knows which there are.

Each is behind the interface of `interface.py`, and is loaded once it is asked for: one of them needs a library that may be missing,
or takes long to load.
"""

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from ... import extras
from ...errors import ArgumentError
from ...precision import held_precision
from ..run.program import Graph
from . import blas

#: The variable that asks for a backend. Without it programs run as machine code where llvmlite is installed, else by NumPy.
VARIABLE = "RETROGRADE_COMPILER"
#: The module of each backend, which has it as `BACKEND`.
_MODULES = {"native": "cpu.backend", "reference": "reference"}


def new_program(inputs, state, results, updates, held=()):
    """A program of the backend of this process; the arguments are those of `Graph`."""
    with held_precision() as level:
        program = chosen().program(Graph(inputs, state, results, updates, held))
    program.precision = level.asked
    return program


def chosen():
    """The backend of this process."""
    return import_module(f"{__package__}.{_MODULES[chosen_name()]}").BACKEND


def chosen_name():
    """The name of the backend of this process: "native" or "reference"."""
    # Read at each question, so that a test or a user can change it; the programs that are made know theirs by its name.
    asked = os.environ.get(VARIABLE, "")
    if asked not in ("", *_MODULES):
        raise ArgumentError(f"the variable {VARIABLE} must be one of {', '.join(_MODULES)}, got {asked!r}")
    if asked == "native":
        extras.optional("llvmlite", "jit")
    # Looked for, not loaded: importing llvmlite takes longer than a program that is found on disk.
    return asked or ("native" if _is_installed() else "reference")


def get_num_threads():
    """How many threads compiled code uses: by default one per core that this process may run on."""
    return chosen().get_num_threads()


def set_num_threads(count):
    """Let compiled code use `count` threads, and NumPy's products, where its library can be told. Results of compiled code are the
    same, bit for bit, for any number.
    """
    if not isinstance(count, int) or count < 1:
        raise ArgumentError(f"the number of threads must be an integer of at least 1, got {count!r}")
    chosen().set_num_threads(count)
    blas.set_num_threads(count)


@cache
def _is_installed():
    return find_spec("llvmlite") is not None
