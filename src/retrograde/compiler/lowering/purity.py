"""Purity: whether a function depends on its arguments alone, as far as its code tells."""

import builtins
import dis
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

import numpy as np

#: Libraries whose functions depend on their arguments alone, but for those that draw random numbers.
_LIBRARIES = frozenset(["numpy", "scipy", "math", "cmath", "operator", "itertools", "functools", "retrograde"])
#: Builtins that do nothing but compute.
_BUILTINS = frozenset([getattr(builtins, name) for name in (
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "float", "int", "isinstance", "len", "list", "map",
    "max", "min", "pow", "range", "reversed", "round", "slice", "sorted", "str", "sum", "tuple", "type", "zip")])
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic, np.dtype)
#: Functions that are written in C: those of Python, and two kinds of NumPy's.
_IN_C = (BuiltinFunctionType, np.ufunc, type(np.where))
#: Instructions that change what lies outside of a function.
_WRITES = frozenset(["STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"])


def is_pure(function):
    """Whether `function` reads nothing but its arguments, numbers and such functions, and changes nothing from outside.

    Numbers count as constants, as those do that a traced function reads.
    """
    return _is_pure(function, set())


def _is_pure(function, seen):
    if function in seen:
        return True
    seen.add(function)
    # Libraries are trusted by name; what they wrap, as a decorator does, is a user's.
    if _library_of(function.__globals__["__name__"]):
        wrapped = getattr(function, "__wrapped__", None)
        return wrapped is None or _is_pure(wrapped, seen)
    codes = list(_codes(function.__code__))
    if any([_writes_outside(code) for code in codes]):
        return False
    known, names = function.__globals__, {name for code in codes for name in code.co_names}
    # An attribute may have the name of a global: then too much is asked.
    read = [known[name] if name in known else getattr(builtins, name) for name in names if name in known or hasattr(builtins, name)]
    read += [cell.cell_contents for cell in function.__closure__ or ()]
    return all([_is_harmless(value, seen) for value in (*read, *(function.__defaults__ or ()))])


def _codes(code):
    """The code of a function, and of the functions inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _writes_outside(code):
    steps = dis.get_instructions(code)
    return any([step.opname in _WRITES or (step.opname == "STORE_DEREF" and step.argval in code.co_freevars) for step in steps])


def _is_harmless(value, seen):
    """Whether what a function reads stays what it is, and does nothing but compute where it is called."""
    if isinstance(value, _CONSTANTS):
        return True
    if isinstance(value, tuple):
        return all([_is_harmless(part, seen) for part in value])
    # One that can be written to may be another at the next call.
    if isinstance(value, np.ndarray):
        return not value.flags.writeable
    if isinstance(value, ModuleType):
        return _library_of(value.__name__)
    if isinstance(value, FunctionType):
        return _is_pure(value, seen)
    if isinstance(value, type):
        return value in _BUILTINS or issubclass(value, (Exception, *_CONSTANTS))
    return isinstance(value, _IN_C) and (value in _BUILTINS or _library_of(getattr(value, "__module__", "numpy")))


def _library_of(name):
    """Whether a module of this name belongs to a library whose functions depend on their arguments."""
    return str(name).partition(".")[0] in _LIBRARIES
