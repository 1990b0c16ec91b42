"""Direct products: matrices multiplied by the code that programs call, with no program around it.

It depends on tiles, not on sizes, so that a few kernels serve all matrices, and the threads are those of compiled code: unlike
those of many BLAS libraries they do not wait for each other on a processor that is busy otherwise.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ....shapes import row_major
from ...index.problem import problem_of
from ...kernels.matmul import array_launch, panel_launches
from ...run.failures import FLAG
from . import fast_calls, threads
from .host import target
from .table import POOL, Words, address_of, laid_out
from .units import library
from .writer import Writer

#: So many multiply-adds are done before another thread of Python would miss the interpreter, or share them.
_AT_ONCE = 2_000_000


def product(x, y):
    """The product of two arrays of one floating type and at least two axes; NotImplemented where only NumPy can tell."""
    if not (x.flags.aligned and y.flags.aligned):
        return NotImplemented
    shape, bound = _bound(x.dtype, x.shape, x.strides, y.shape, y.strides, threads.get_num_threads())
    if bound is None:
        return NotImplemented
    result = np.empty(shape, x.dtype)
    bound(x, y, result)
    return result


@lru_cache(maxsize=512)
def _bound(dtype, x_shape, x_strides, y_shape, y_strides, _):
    """The shape of a product, and what computes it; None for operands that do not fit, or are no number of elements apart."""
    if x_shape[-1] != y_shape[-2] or any([step % dtype.itemsize for step in (*x_strides, *y_strides)]):
        return None, None
    shape = (*np.broadcast_shapes(x_shape[:-2], y_shape[:-2]), x_shape[-2], y_shape[-1])
    strides = [dtype.itemsize * step for step in row_major(shape)]
    arrays = [_Strided(*a, dtype) for a in ((x_shape, x_strides), (y_shape, y_strides), (shape, strides))]
    problem = problem_of(*arrays).with_tall_rows()
    return shape, _Bound(array_launch(problem, Writer(target())), _is_short(problem))


def multiplier(y, rows):
    """A function of matrices of `rows` rows, in row-major order, and of an array for their product by the matrix `y`, which is
    packed here, once for all; NotImplemented where only NumPy can tell.
    """
    if not y.flags.aligned or any([step % y.itemsize for step in y.strides]):
        return NotImplemented
    pack, multiply, nbytes = _bound_panels(y.dtype, y.shape, y.strides, rows, threads.get_num_threads())
    # Tiles read whole lines of the cache, which panels begin with.
    room = np.empty(nbytes + 64, np.uint8)
    panels = room[-address_of(room) % 64 :]
    pack(y, y, panels)
    return lambda x, result: multiply(x, panels, result)


@lru_cache(maxsize=64)
def _bound_panels(dtype, shape, strides, rows, _):
    """What packs a matrix, what multiplies by it, and the bytes of its panels."""
    k, n = shape
    order = [_Strided((rows, size), (size * dtype.itemsize, dtype.itemsize), dtype) for size in shape]
    problem = problem_of(order[0], _Strided(shape, strides, dtype), order[1])
    pack, multiply, nbytes = panel_launches(problem, Writer(target()))
    return _Bound(pack, k * n <= _AT_ONCE), _Bound(multiply, _is_short(problem)), nbytes


def _is_short(problem):
    return problem.batch_size * problem.m * problem.n * problem.k <= _AT_ONCE


class _Strided(NamedTuple):
    """What a problem is made of: an array without its numbers."""

    shape: tuple
    strides: tuple
    dtype: np.dtype

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    @property
    def itemsize(self):
        """Bytes of an element."""
        return self.dtype.itemsize


class _Bound:
    """The launch of a product of one size, cut for the present number of threads, that is called with its arrays."""

    def __init__(self, launch, is_short):
        library().load([*launch.units, threads.unit()])
        words, places = Words(), {id(buffer): place for place, buffer in enumerate((POOL, FLAG, *launch.buffers))}
        steps = laid_out([launch], lambda buffer: places[id(buffer)], words)
        self._order, (scratch,) = launch.buffers[:3], launch.buffers[3:]
        self._room, self._flag = scratch.nbytes, np.zeros(1, np.int64)
        self._words = words.array(library().address)
        self._steps = address_of(self._words) + 8 * steps
        is_alone = launch.chunks == 1 or threads.get_num_threads() == 1
        self._fast = self._fast_call() if is_alone and is_short else None

    def _fast_call(self):
        """What Python calls at once. It holds the interpreter, so that room to work in can be the same for all calls."""
        self._space = np.empty(self._room + 64, np.uint8)
        self._places = ["abc".index(name) for name in self._order]
        room = -(-address_of(self._space) // 64) * 64
        return fast_calls.by_steps(threads.runner_address(), 3, self._steps, threads.alone(), address_of(self._flag), room)

    def __call__(self, a, b, c):
        if self._fast is not None:
            arrays = a, b, c
            x, y, z = self._places
            self._fast(arrays[x], arrays[y], arrays[z])
            return
        space, arrays = np.empty(self._room + 64, np.uint8), {"a": a, "b": b, "c": c}
        pointers = [address_of(arrays[name]) for name in self._order]
        table = np.array([0, address_of(self._flag), *pointers, -(-address_of(space) // 64) * 64], np.int64)
        threads.run_shared(table, address_of(table), self._steps, 1)
