"""Grids and parts: axes spread over each other, values put where a mask says, arrays taken apart."""

import numpy as np

from ...errors import ArgumentError, ShapeError
from ...shapes import one_axis
from .._families import composite
from .._samples import call
from ..elementary.comparisons import where
from .movements import broadcast_to, reshape

_MASK = np.array([[True, False, True], [False, False, True]])


@composite(samples=(call((2, 3), mask=_MASK, value=2.0), call((2, 3), mask=_MASK[0], value=-1.0)))
def masked_fill(x, /, mask, value):
    r"""`x` with `value` where `mask` holds.

    $\bar x = \bar z$ where the mask does not hold, else 0.

    >>> rg.masked_fill(rg.tensor([1.0, 2.0]), rg.tensor([True, False]), 0.0)
    tensor([0., 2.])
    """
    return where(mask, value, x)


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of a grid: each of the vectors `arrays` spread over the axes of all others.

    With indexing="xy" the first two axes are exchanged, as in NumPy; with "ij" array number i varies along axis i.

    >>> rows, columns = rg.meshgrid(rg.arange(2), rg.arange(3), indexing="ij")
    >>> rows.tolist(), columns.tolist()
    ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f'indexing must be "xy" or "ij", got {indexing!r}')
    if any(x.ndim > 1 for x in arrays):
        raise ShapeError(f"meshgrid needs vectors, got shapes {[x.shape for x in arrays]}")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = 1, 0
    sizes = [arrays[i].size for i in order]
    shapes = [[-1 if order[a] == i else 1 for a in range(len(arrays))] for i in range(len(arrays))]
    return [broadcast_to(reshape(x, shape), sizes) for x, shape in zip(arrays, shapes, strict=True)]


def broadcast_arrays(*arrays):
    """The `arrays`, repeated without a copy to one common shape."""
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return [broadcast_to(x, shape) for x in arrays]


def unstack(x, /, axis=0):
    """The slices of `x` along `axis`, as a tuple: the inverse of `stack`."""
    lead = (slice(None),) * one_axis(axis, x.ndim)
    return tuple(x[(*lead, i)] for i in range(x.shape[axis]))
