"""Matrix products of NumPy arrays by the code that programs call, for tests and the benchmark of products."""

import ctypes
from functools import partial

import numpy as np

from retrograde.compiler.backends.cpu.codegen.matmul import choose
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.backends.cpu.launches import Launch
from retrograde.compiler.backends.cpu.table import Words, address_of
from retrograde.compiler.backends.cpu.units import library
from retrograde.compiler.backends.cpu.writer import Writer
from retrograde.compiler.index.problem import problem_of
from retrograde.compiler.kernels.matmul import part_unit

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class Bound:
    """One product with its arrays and its words, cut in `count` chunks: call it with a chunk index, from any thread. Its plan is
    the one that is chosen here, unless another is given.
    """

    def __init__(self, a, b, c, count=1, plan=None):
        self.plan = plan = choose(target(), problem_of(a, b, c)) if plan is None else plan
        room = plan.workspace_bytes
        self._arrays = (b, a, c) if plan.is_swapped else (a, b, c)
        self._space = np.empty(count * room + 64, np.uint8)
        space = -(-address_of(self._space) // 64) * 64
        self._table = np.array([*[x.ctypes.data for x in self._arrays], space], np.int64)
        unit_for = partial(part_unit, Writer(target()))
        entry, words = unit_for(plan.entry), Words()
        launch = Launch(None, entry, entry.name, range(4), (0, 0, 0, room, *plan.descriptor(count, unit_for)), count, False)
        library().load(launch.units)
        launch.put(int, words)
        self._words = words.array(library().address)
        self._entry = _ENTRY(library().address(entry.name))
        self._arguments = address_of(self._table), address_of(self._words)

    def __call__(self, index=0):
        """Compute chunk `index`."""
        self._entry(*self._arguments, index)


def product(a, b, c, count=1):
    """C computed from A and B, chunk after chunk."""
    bound = Bound(a, b, c, count)
    for index in range(count):
        bound(index)
    return c


def operand(generator, rows, columns, dtype, layout="row", batch=()):
    """A random matrix whose strides are as `layout` says: row, column, spaced, reversed or backward."""
    if layout == "column":
        return operand(generator, columns, rows, dtype, "row", batch).swapaxes(-1, -2)
    if layout == "spaced":
        return operand(generator, 2 * rows, 3 * columns, dtype, "row", batch)[..., ::2, ::3]
    if layout == "reversed":
        return operand(generator, rows, columns, dtype, "row", batch)[..., ::-1, :]
    if layout == "backward":
        return operand(generator, rows, columns, dtype, "row", batch)[..., ::-1, ::-1]
    return generator.standard_normal((*batch, rows, columns)).astype(dtype)


def assert_product(c, expected, k):
    """Compare with a float64 result, within the rounding of a sum of `k` terms of size one."""
    size = np.finfo(c.dtype).eps * 4 * (k + 8) ** 0.5 * max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(c, expected, rtol=0, atol=size)
