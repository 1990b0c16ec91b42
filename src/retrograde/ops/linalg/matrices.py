"""Parts of matrices: diagonals and triangles; and the matrix of powers."""

import numpy as np

from ...errors import ArgumentError, ShapeError
from .._families import composite
from .._samples import call
from ..axes.reductions import sum
from ..elementary.comparisons import where
from ..manipulation.movements import expand_dims, moveaxis
from ..manipulation.selections import getitem, scatter_add


@composite(samples=(call((3, 3)), call((2, 4), offset=1), call((2, 3, 4), offset=-1, axis1=-2, axis2=-1)))
def diagonal(x, /, offset=0, axis1=0, axis2=1):
    r"""The elements of `x` whose place along `axis2` is `offset` more than that along `axis1`, as a last axis.

    $z_i = x_{i, i + k} \;\Rightarrow\; \bar x$ is zero but for $\bar z$ on the same diagonal.
    """
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    return getitem(x, (..., *_places(x.shape[-2], x.shape[-1], offset)))


def _places(rows, columns, offset):
    first, second = max(-offset, 0), max(offset, 0)
    length = np.arange(max(min(rows - first, columns - second), 0))
    return length + first, length + second


def on_diagonal(x):
    """Diagonal matrices of the vectors in the last axis of `x`."""
    return expand_dims(x, -1) * np.eye(x.shape[-1], dtype=x.dtype)


@composite(samples=(call((3, 3)), call((2, 4), offset=1), call((2, 3, 4), axis1=-2, axis2=-1)))
def trace(x, /, offset=0, axis1=0, axis2=1):
    r"""Sum of a diagonal.

    $z = \sum_i x_{i, i + k} \;\Rightarrow\; \bar x_{i j} = \bar z\,[j = i + k]$
    """
    return sum(diagonal(x, offset, axis1, axis2), -1)


@composite(samples=(call((3,)), call((2,), k=-1), call((3, 4), k=1)))
def diag(x, /, k=0):
    r"""The matrix with the vector `x` on diagonal `k`; of a matrix, that diagonal.

    $\bar x$ is diagonal `k` of $\bar z$, and the other way round.
    """
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(f"diag needs one or two axes, got shape {x.shape}")
    size = x.shape[0] + abs(k)
    return scatter_add(x, (size, size), _places(size, size, k))


@composite(samples=(call((3, 3)), call((2, 2, 4), k=1)))
def tril(x, /, k=0):
    r"""`x` with 0 above diagonal `k` of its last two axes.

    $\bar x_{i j} = \bar z_{i j}\,[j \le i + k]$
    """
    return where(_distance(x) <= k, x, _zero_of(x))


@composite(samples=(call((3, 3)), call((2, 2, 4), k=1)))
def triu(x, /, k=0):
    r"""`x` with 0 below diagonal `k` of its last two axes.

    $\bar x_{i j} = \bar z_{i j}\,[j \ge i + k]$
    """
    return where(_distance(x) >= k, x, _zero_of(x))


def _zero_of(x):
    """Zero, which makes integers of nothing but truth values: theirs is False."""
    return False if x.dtype.kind == "b" else 0


def _distance(x):
    """For each place of a matrix, how far right of the main diagonal it is."""
    if x.ndim < 2:
        raise ShapeError(f"a triangle needs at least 2 axes, got shape {x.shape}")
    return np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]


def linalg_diagonal(x, /, offset=0):
    """A diagonal of each matrix in the last two axes of `x`; `offset` is counted to the right."""
    return diagonal(x, offset, -2, -1)


def linalg_trace(x, /, offset=0, dtype=None):
    """The sum of a diagonal of each matrix in the last two axes of `x`."""
    return sum(linalg_diagonal(x, offset), -1, False, dtype)


def vander(x, /, N=None):
    """The powers 0 to `N` - 1 of each element of `x`, along a new last axis; as many as the elements by default.

    >>> rg.linalg.vander(rg.tensor([2.0, 3.0]), 3).tolist()
    [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]
    """
    count = x.shape[-1] if N is None else N
    if count < 1:
        raise ArgumentError(f"vander needs N of at least 1, got {N}")
    return expand_dims(x, -1) ** np.arange(count, dtype=x.dtype)
