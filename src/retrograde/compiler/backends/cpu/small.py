"""Small: the kernels that eager ops call for arrays of a few thousand numbers, where NumPy would take many calls."""

from importlib import import_module

import numpy as np

from . import fast_calls
from .host import target
from .units import library, unit_of

_FLOATS = frozenset([np.dtype(np.float32), np.dtype(np.float64)])
#: The addresses of kernels by name and dtype.
_addresses: dict = {}


def small(name, dtype, sizes, count):
    """The kernel called `name`, for `sizes`, integers, as a function of `count` arrays: those that it reads, the first of which is
    of `dtype`, and then those that it writes. It returns the last one once all are written; arrays that are not in row-major
    order, and what is no array, it refuses. Shapes and types are up to the caller. None where there is no such thing.
    """
    return fast_calls.by_rows(_address(name, dtype), count, sizes) if dtype in _FLOATS else None


def _address(name, dtype):
    found = _addresses.get((name, dtype))
    if found is None:
        unit = unit_of(("small", name, dtype.name), lambda module, symbol: _write(module, symbol, name, dtype), target())
        library().load([unit])
        found = _addresses[name, dtype] = library().address(unit.name)
    return found


def _write(module, symbol, name, dtype):
    """Write a kernel. What does is loaded when something must be compiled."""
    files = [import_module(f"{__package__}.codegen.eager.{name}") for name in ("small_kernels", "small_layers", "small_attention")]
    next(file.WRITERS[name] for file in files if name in file.WRITERS)(module, symbol, dtype.name)
