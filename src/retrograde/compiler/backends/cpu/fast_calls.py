"""Fast calls: kernels that Python calls as it calls its own functions, without `ctypes` in between; see `trampolines`."""

import ctypes
import struct
import sys

import numpy as np

from ....once import once
from .codegen.eager import trampolines
from .host import target
from .units import TextUnit, library

#: Numbers that vectors divide; see `functions`.
GROUP = 64
_FAST = 0x80  # METH_FASTCALL
_NAMES = "retrograde_elements", "retrograde_rows", "retrograde_steps_of"


class _Definition(ctypes.Structure):
    """Python's description of a function, PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


def by_element(kernel, count, itemsize):
    """A function of `count` arrays and one for the result, which runs a kernel of `functions`; None where there are no fast calls.

    It returns the array for the result; where it cannot tell, the first one.
    """
    if count + 1 > trampolines.MOST:
        return None
    return _called("retrograde_elements", kernel, count + 1, id(np.ndarray), itemsize)


def by_rows(kernel, count, sizes):
    """A function of `count` arrays, the results among them, which runs a kernel of `rows` for `sizes`; None where there are no fast
    calls. Shapes and types are not looked at. It returns the last array; where arrays are not in order, the first one.
    """
    return None if count > trampolines.MOST else _called("retrograde_rows", kernel, count, id(np.ndarray), *sizes)


def by_steps(run, count, steps, pool, flag, room):
    """A function of `count` arrays, which runs one step of a program on them: by the function at `run`, with the step at `steps`,
    with the records of a pool and of a flag, and with room to work in. It looks at nothing; None where there are no fast calls.
    """
    return None if count > trampolines.MOST else _called("retrograde_steps_of", run, count, id(np.ndarray), steps, pool, flag, room)


def _called(name, *words):
    if not _are_possible():
        return None
    # Python keeps `self`, the words, for as long as it keeps the function.
    return _new_function()(ctypes.byref(_definitions()[name]), struct.pack(f"={len(words)}q", *words), None)


@once
def _definitions():
    """What Python is told of each trampoline, for as long as this process lives."""
    unit = TextUnit(trampolines.text(GROUP), target())
    library().load([unit])
    return {name: _Definition(name.encode(), library().address(name), _FAST, None) for name in _NAMES}


@once
def _new_function():
    made = ctypes.pythonapi.PyCFunction_NewEx
    made.restype, made.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return made


@once
def _are_possible():
    """Whether objects of this interpreter and arrays of this NumPy have in memory what trampolines read, where they read it."""
    if sys.implementation.name != "cpython" or sys.byteorder != "little" or struct.calcsize("P") != 8:
        return False
    x = np.empty((3, 5), np.float32)
    content = struct.pack("=2q", 12345678901234567, 7)
    wanted = {
        trampolines.TYPE: id(np.ndarray), trampolines.DATA: x.ctypes.data, trampolines.DTYPE: id(x.dtype),
    }
    is_there = all(ctypes.c_size_t.from_address(id(x) + place).value == found for place, found in wanted.items())
    if not is_there or ctypes.c_int.from_address(id(x) + trampolines.NDIM).value != 2:
        return False
    flags = [ctypes.c_int.from_address(id(a) + trampolines.FLAGS).value for a in (x, x.T, x[1:])]
    shape = ctypes.c_size_t.from_address(id(x) + trampolines.SHAPE).value
    return (
        [f & trampolines.PLAIN_FLAGS for f in flags] == [trampolines.PLAIN_FLAGS, 0x100, trampolines.PLAIN_FLAGS]
        and [ctypes.c_ssize_t.from_address(shape + 8 * i).value for i in range(2)] == [3, 5]
        and ctypes.string_at(id(content) + trampolines.CONTENT, 16) == content
        and _counts_references(x)
    )


def _counts_references(x):
    """Whether the count of references to an object is where trampolines add to it."""
    before = ctypes.c_uint32.from_address(id(x)).value
    other = x
    return ctypes.c_uint32.from_address(id(other)).value == before + 1
