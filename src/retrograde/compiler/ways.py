"""Ways: how the steps of a program run, as machine code or by NumPy."""

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from .. import extras
from ..errors import ArgumentError
from .program import Graph

#: The variable that asks for a way. Without it programs run as machine code where llvmlite is installed, else by NumPy.
VARIABLE = "RETROGRADE_COMPILER"
#: What needs a library that may be missing, or takes long to load, is imported when it is asked for.
_WAYS = {"native": ("stored", "native_program"), "reference": ("reference", "ReferenceProgram")}


def new_program(inputs, state, results, updates, held=()):
    """A program that runs in the way of this process; the arguments are those of `Graph`."""
    module, name = _WAYS[way()]
    return getattr(import_module(f"{__package__}.{module}"), name)(Graph(inputs, state, results, updates, held))


def expect_program():
    """Begin with what any program needs, where that takes long, since one is about to be made."""
    if way() == "native":
        threads = import_module(f"{__package__}.threads")
        threads.library().expect(threads.unit())


def way():
    """The way of this process: "native" or "reference"."""
    asked = os.environ.get(VARIABLE, "")
    if asked not in ("", *_WAYS):
        raise ArgumentError(f"the variable {VARIABLE} must be one of {', '.join(_WAYS)}, got {asked!r}")
    if asked == "native":
        extras.optional("llvmlite", "jit")
    return asked or ("native" if _is_installed() else "reference")


@cache
def _is_installed():
    return find_spec("llvmlite") is not None
