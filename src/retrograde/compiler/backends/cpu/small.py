"""Small: the kernels that eager ops call for arrays of a few thousand numbers, where NumPy would take many calls."""

from importlib import import_module

import numpy as np

from . import fast_calls
from .host import target
from .units import library, unit_of

_FLOATS = frozenset([np.dtype(np.float32), np.dtype(np.float64)])
#: The addresses of kernels by name and dtype, and what calls them by their sizes as well.
_addresses: dict = {}
_calls: dict = {}
_MOST_CALLS = 4096


def small(name, sizes, arrays, results):
    """Run the kernel called `name`, for `sizes`, integers, on `arrays` and on `results`, which it writes; whether it did.
    The first array says the type. Shapes are up to the caller; arrays that are not in row-major order are refused.
    """
    dtype = arrays[0].dtype
    key = name, dtype, sizes
    call = _calls.get(key)
    if call is None:
        if dtype not in _FLOATS:
            return False
        if len(_calls) >= _MOST_CALLS:
            _calls.clear()
        call = _calls[key] = fast_calls.by_rows(_address(name, dtype), len(arrays) + len(results), sizes) or _refused
    return call(*arrays, *results) is results[-1]


def _refused(*_):
    """What stands for a kernel that cannot be called."""


def _address(name, dtype):
    found = _addresses.get((name, dtype))
    if found is None:
        unit = unit_of(("small", name, dtype.name), lambda module, symbol: _write(module, symbol, name, dtype), target())
        library().load([unit])
        found = _addresses[name, dtype] = library().address(unit.name)
    return found


def _write(module, symbol, name, dtype):
    """Write a kernel. What does is loaded when something must be compiled."""
    files = [import_module(f"{__package__}.codegen.eager.{name}") for name in ("small_kernels", "small_layers")]
    next(file.WRITERS[name] for file in files if name in file.WRITERS)(module, symbol, dtype.name)
