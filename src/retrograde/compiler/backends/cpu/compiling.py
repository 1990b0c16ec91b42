"""Compiling units: their LLVM code, and machine code of it, on all cores."""

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from .codegen import ir
from .engine import assembly, engine, object_code
from .image import linked
from .machine import available_cores

__all__ = ["assembly", "code_of", "compiled", "engine", "objects", "text_of"]

#: Seconds after which the thread that writes code lets those that compile go on, should they wait for Python's lock. They need
#: it for moments, between calls into LLVM, and some twenty times for each unit: at the usual 5 ms they would hardly begin before
#: all is written.
_SWITCH_SECONDS = 5e-4


def text_of(unit):
    """The LLVM code of a unit."""
    module = ir.Module(unit.name, unit.target)
    unit.write(module, unit.name)
    return str(module)


def compiled(units):
    """The code of each unit by its name: an image, or an object file."""
    return _made_by(code_of, units)


def objects(units, store):
    """The object file of each unit by its name, one that `store` keeps from before or a new one."""
    found = {unit.name: store.get(f"{unit.name}_object") for unit in units}
    made = _made_by(object_code, [unit for unit in units if found[unit.name] is None])
    for name, code in made.items():
        store.put(f"{name}_object", code)
    return found | made


def _made_by(make, units):
    """What `make(text, target, is_final)` makes of each unit, by its name. While LLVM works on some, the next are written; those
    that need no passes are large, and come first, so that no core waits for the last.
    """
    # Sorting is stable: of each kind units keep the order in which the program needs them.
    units = sorted(units, key=lambda unit: not unit.is_final)
    with _switching_often(), ThreadPoolExecutor(available_cores()) as worker:
        waiting = {unit.name: _begun(worker, make, unit) for unit in units}
        return {name: take() for name, take in waiting.items()}


def _begun(worker, make, unit):
    """A function that gives what `make` makes of a unit, which a thread does meanwhile if one can be started."""
    arguments = unit.text, unit.target, unit.is_final
    try:
        return worker.submit(make, *arguments).result
    except RuntimeError:
        return partial(make, *arguments)


@contextmanager
def _switching_often():
    """Let threads switch often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _SWITCH_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def code_of(text, target, is_final):
    """The code of one unit, given as LLVM text, for a target."""
    code = object_code(text, target, is_final)
    return linked(code) or code
