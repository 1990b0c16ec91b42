"""Deployment: compiled functions as files of machine code, which run without Python or without retrograde.

`f.export(path, ...)` writes one function; `export` here writes several, which share their weights. `retrograde.runtime` loads a
file in Python, and the two files of C in the folder `c_sources()` do so in C.
"""

from pathlib import Path

from ..errors import ArgumentError
from ..transforms.export import write
from ..transforms.jit import Compiled

__all__ = ["c_sources", "export"]


def export(path, functions, target="host"):
    """Write several compiled functions to one file at `path`, and a header for C beside it.

    functions  by its name (function, its example arguments), each made by `rg.jit`; weights and other state that they use are
               written once, and what one of them changes the others see
    target     as for `f.export`
    """
    found = []
    for name, (function, args) in functions.items():
        if not isinstance(function, Compiled):
            raise ArgumentError(f"export takes functions that rg.jit has made, and {name} is a {type(function).__name__}; write "
                                f"rg.jit({name})")
        if not (name.isidentifier() and name.isascii()):
            raise ArgumentError(f"C can have no function called {name!r}; take letters, digits and _")
        found.append(function.exported(name, args, {}))
    write(path, found, target)


def c_sources():
    """The folder of `retrograde_runtime.c` and `retrograde_runtime.h`, the loader in C."""
    return Path(__file__).parent
