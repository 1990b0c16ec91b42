"""Functions of each element, compiled for eager arrays: one kernel for any number of elements, whatever their shape."""

import ctypes
import struct
from importlib import import_module

import numpy as np

from ....dtypes import bfloat16
from ... import cost
from ...run.failures import SeveralStepsError
from . import fast_calls, threads
from .host import target
from .table import STEP_WORDS, address_of
from .units import library, unit_of

_FLOATS = frozenset([np.dtype(np.float16), bfloat16, np.dtype(np.float32), np.dtype(np.float64)])
#: Vectors of a kernel divide this many elements. What is left at the end is computed with some before it, once more.
GROUP = fast_calls.GROUP
_known = {}


def function(name, traced, arrays):
    """What the function `traced` of values gives for each element of `arrays`; NotImplemented where only NumPy can tell.

    `name` is what the function is known by in every process. There are at least `GROUP` elements.
    """
    first = arrays[0]
    for array in arrays:
        if array.__class__ is not np.ndarray or array.dtype is not first.dtype or array.shape != first.shape:
            return NotImplemented
    if first.dtype not in _FLOATS:
        return NotImplemented
    return _of_dtype(name, traced, first.dtype, len(arrays))(arrays)


def fast_function(name, traced, dtype, count):
    """The function `traced` of `count` values, to be called with arrays of `dtype` and one for the result, which it returns once it
    has computed it, and the first array where it cannot; None where there is none. For arrays that one thread computes.
    """
    return _of_dtype(name, traced, dtype, count).fast if dtype in _FLOATS else None


def _of_dtype(name, traced, dtype, count):
    # Refusals are kept as well: a function that is several kernels is looked at once, not at each call.
    found = _known.get((name, dtype))
    if found is None:
        try:
            found = Function(name, traced, dtype, count)
        except SeveralStepsError:
            found = _ByNumpy()
        _known[name, dtype] = found
    return found


class _ByNumpy:
    """What stands for a function that is no single loop."""

    fast = None

    def __call__(self, _):
        return NotImplemented


class Function:
    """A function of `count` arrays of one dtype, by its kernel."""

    def __init__(self, name, traced, dtype, count):
        unit = unit_of(("function", *name, dtype.name), lambda module, symbol: _write(module, symbol, traced, dtype, count),
                       target())
        library().load([threads.unit(), unit])
        self._kernel, self._itemsize = library().address(unit.name), dtype.itemsize
        #: What Python calls at once, for arrays that are not shared among threads; None where there is no such thing.
        self.fast = fast_calls.by_element(self._kernel, count, dtype.itemsize)
        # The words of a call: the table of pointers (to the pool, to a flag, to arrays, to their last groups), two steps, their
        # slots, and the flag.
        arrays = count + 1
        self._slots = [range(2, arrays + 2), range(arrays + 2, 2 * arrays + 2)]
        self._steps = 8 * (2 + 2 * arrays)
        self._first = self._steps + 8 * 2 * STEP_WORDS
        self._second, size = self._first + 8 * (arrays + 2), self._first + 8 * 2 * (arrays + 2) + 8
        self._words, self._put = ctypes.c_int64 * (size // 8), struct.Struct(f"={size // 8}q").pack_into

    def __call__(self, arrays):
        arrays, result = _side_by_side(arrays)
        self._run([*map(address_of, arrays), address_of(result)], result.size)
        return result

    def _run(self, pointers, size):
        """Run one step for all whole groups, and one for the last group if some elements are left."""
        rest, last = size % GROUP, self._itemsize * (size - GROUP)
        # A chunk has a fixed size, and grows only where there would be too many: what an element comes to depends on neither.
        whole, chunk = size - rest, cost.EAGER.least
        if whole > cost.EAGER.most * chunk:
            chunk = -(-whole // (cost.EAGER.most * GROUP)) * GROUP
        words = self._words()
        start, first, second = ctypes.addressof(words), *self._slots
        self._put(
            words, 0, threads.alone(), start + ctypes.sizeof(words) - 8, *pointers, *[pointer + last for pointer in pointers],
            # Two steps of one kernel: all whole groups, and the last group of all, which overlaps them.
            self._kernel, start + self._first, -(-whole // chunk), 0, self._kernel, start + self._second, 1, 0,
            *first, whole, chunk, *second, GROUP, GROUP, 0)
        if size >= cost.EAGER_SHARED:
            threads.run_shared(words, start, start + self._steps, 1 + (rest > 0))
        else:
            threads.runner()(start, start + self._steps, 1 + (rest > 0))


def _side_by_side(arrays):
    """Arrays whose elements follow each other in memory in one order, and a new one of that order."""
    first = arrays[0]
    if all([(flags := array.flags).c_contiguous and flags.aligned for array in arrays]):
        return arrays, np.empty(first.shape, first.dtype)
    # Of transposed arrays, say: any order will do, if it is one for all of them and leaves no gaps.
    result = np.empty_like(first)
    found = [a if a.strides == result.strides and a.flags.aligned else a.copy(order="K") for a in arrays]
    if all([array.strides == result.strides for array in found]):
        return found, result
    return [np.require(array, requirements="CA") for array in arrays], np.empty(first.shape, first.dtype)


def _write(module, symbol, traced, dtype, count):
    """Write the kernel. What does is loaded when something must be compiled."""
    import_module(f"{__package__}.function_code").write_function(module, symbol, traced, dtype, count)
