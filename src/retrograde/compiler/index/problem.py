"""A matrix product to be computed: sizes and strides, as numbers of elements."""

from math import prod
from typing import NamedTuple

import numpy as np

from ...dtypes import name_of


class Problem(NamedTuple):
    """C (m×n) = A (m×k) · B (k×n), strides as (row, column), all in elements.

    `batch` lists, outermost first, dimensions as (size, stride of A, of B, of C); a stride of 0 broadcasts.
    """

    dtype: str
    m: int
    n: int
    k: int
    a: tuple
    b: tuple
    c: tuple
    batch: tuple = ()

    def swapped(self):
        """The same work written as Cᵀ = Bᵀ · Aᵀ."""
        batch = tuple((size, b, a, c) for size, a, b, c in self.batch)
        return self._replace(m=self.n, n=self.m, a=self.b[::-1], b=self.a[::-1], c=self.c[::-1], batch=batch)

    def normal(self):
        """The same problem, with stride 1 wherever a dimension of size 1 makes the stride irrelevant."""
        return self._replace(
            a=_unit(self.a, (self.m, self.k)),
            b=_unit(self.b, (self.k, self.n)),
            c=_unit(self.c, (self.m, self.n)),
            batch=tuple(dimension for dimension in self.batch if dimension[0] != 1),
        )

    def with_tall_rows(self):
        """The same problem with batches that share B, and whose rows follow each other, as rows of one product."""
        m, batch = self.m, [dimension for dimension in self.batch if dimension[0] != 1]
        # From the innermost out, as long as each follows the one before it without a gap and meets the same matrix.
        while batch and batch[-1][1:] == (m * self.a[0], 0, m * self.c[0]):
            m *= batch.pop()[0]
        return self._replace(m=m, batch=tuple(batch))

    @property
    def batch_size(self):
        """How many products there are."""
        return prod([dimension[0] for dimension in self.batch])

    @property
    def matrix_bytes(self):
        """Bytes of one matrix B."""
        return self.k * self.n * np.dtype(self.dtype).itemsize

    @property
    def flops(self):
        """Floating point operations."""
        return 2 * self.batch_size * self.m * self.n * self.k


def _unit(strides, sizes):
    # Only one of the two becomes 1, so that a vector keeps the stride along which it runs.
    return tuple(1 if size <= 1 else stride for stride, size in zip(strides, sizes, strict=True))


def problem_of(a, b, c):
    """The problem of arrays with shapes (..., m, k), (..., k, n) and (..., m, n); batches broadcast to C's."""
    size = c.itemsize
    arrays = (a, b, c)
    strides = [tuple(step // size for step in x.strides[-2:]) for x in arrays]
    batch = tuple(
        (length, *(_batch_stride(x, c.ndim - 2 - axis, size) for x in arrays)) for axis, length in enumerate(c.shape[:-2])
    )
    return Problem(name_of(c.dtype), c.shape[-2], c.shape[-1], a.shape[-1], strides[0], strides[1], strides[2], batch)


def _batch_stride(x, from_matrix, size):
    axis = x.ndim - 2 - from_matrix
    return 0 if axis < 0 or x.shape[axis] == 1 else x.strides[axis] // size
