"""The numpy suite: programs as users of HIPS autograd write them, with the import changed and with autograd."""

import os
from functools import partial

from .case import Quick
from .workloads.autograd_programs import PROGRAMS, library

#: A call of ours must take no longer than one of autograd.
AS_FAST = 1.0


def prepared(package, name):
    """The program `name` on one library, on one thread of NumPy: the arrays are small."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    program = PROGRAMS[name](library(package))
    return lambda: _leaves(program())


def _leaves(result):
    """What a program returns, as a list of arrays."""
    if isinstance(result, dict):
        return [leaf for key in sorted(result) for leaf in _leaves(result[key])]
    return [leaf for part in result for leaf in _leaves(part)] if isinstance(result, (list, tuple)) else [result]


CASES = [
    Quick(name, " ".join((program.__doc__ or "").split()),
          {package: partial(prepared, package, name) for package in ("retrograde", "autograd")}, goals={"autograd": AS_FAST})
    for name, program in PROGRAMS.items()
]
