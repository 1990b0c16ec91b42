"""Direct products: matrices multiplied by the code that programs call, with no program around it.

It depends on tiles, not on sizes, so that a few kernels serve all matrices, and the threads are those of compiled code: unlike
those of many BLAS libraries they do not wait for each other on a processor that is busy otherwise.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ....shapes import row_major
from ...index.problem import problem_of
from ...kernels.matmul import array_launch
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
    return shape, _Bound(problem_of(*arrays).with_tall_rows())


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
    """A product of one size, cut for the present number of threads, that is called with its arrays."""

    def __init__(self, problem):
        launch = array_launch(problem, Writer(target()))
        library().load([*launch.units, threads.unit()])
        words, places = Words(), {id(buffer): place for place, buffer in enumerate((POOL, FLAG, *launch.buffers))}
        steps = laid_out([launch], lambda buffer: places[id(buffer)], words)
        self._order, (scratch,) = launch.buffers[:3], launch.buffers[3:]
        self._room, self._flag = scratch.nbytes, np.zeros(1, np.int64)
        self._words = words.array(library().address)
        self._steps = address_of(self._words) + 8 * steps
        is_alone = launch.chunks == 1 or threads.get_num_threads() == 1
        is_small = problem.batch_size * problem.m * problem.n * problem.k <= _AT_ONCE
        self._fast = self._fast_call() if is_alone and is_small else None

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
