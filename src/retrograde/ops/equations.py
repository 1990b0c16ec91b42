"""Products of many matrices, equations of arrays of any number of axes, and powers in columns."""

from math import prod
from string import ascii_letters

import numpy as np

from ..errors import ArgumentError, ShapeError
from .contractions import einsum
from .inverses import inv, solve
from .movements import expand_dims, moveaxis, reshape


def multi_dot(arrays):
    """The product of two matrices or more, in the order of pairs that costs least. The first and the last may be vectors.

    >>> rg.linalg.multi_dot([rg.ones(2, 3), rg.ones(3, 4), rg.ones(4)]).tolist()
    [12.0, 12.0]
    """
    arrays = list(arrays)
    axes = [x.ndim for x in arrays]
    if not 2 <= len(axes) < len(ascii_letters) or any([n != 2 for n in axes[1:-1]]) or {axes[0], axes[-1]} - {1, 2}:
        shapes = [tuple(x.shape) for x in arrays]
        raise ShapeError(f"multi_dot needs two matrices or more, or vectors at the ends, got shapes {shapes}")
    names = [ascii_letters[i : i + 2] for i in range(len(arrays))]
    names[0], names[-1] = names[0][-arrays[0].ndim :], names[-1][: arrays[-1].ndim]
    result = names[0][:-1] + names[-1][1:]
    return einsum(f"{','.join(names)}->{result}", *arrays)


def vander(x, /, N=None):
    """The powers 0 to `N` - 1 of each element of `x`, along a new last axis; as many as the elements by default.

    >>> rg.linalg.vander(rg.tensor([2.0, 3.0]), 3).tolist()
    [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]
    """
    count = x.shape[-1] if N is None else N
    if count < 1:
        raise ArgumentError(f"vander needs N of at least 1, got {N}")
    return expand_dims(x, -1) ** np.arange(count, dtype=x.dtype)


def tensorsolve(A, B, /, dims=None):
    """The X with `tensordot(A, X, X.ndim) == B`; the axes `dims` of `A` are moved to its end first.

    >>> rg.linalg.tensorsolve(2 * rg.eye(4).reshape(4, 2, 2), rg.ones(4)).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    if dims is not None:
        A = moveaxis(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape, size = A.shape[B.ndim :], prod(B.shape)
    if prod(shape) != size or prod(A.shape[: B.ndim]) != size:
        raise ShapeError(f"tensorsolve needs A of {size} x {size} elements, the axes of the solution after {B.ndim} axes for B, "
                         f"got shapes {A.shape} and {B.shape}")
    return reshape(solve(reshape(A, (size, size)), reshape(B, -1)), shape)


def tensorinv(A, /, ind=2):
    """The X with `tensordot(X, A, ind)` the identity: the inverse of `A` with its first `ind` axes as rows.

    >>> rg.linalg.tensorinv(2 * rg.eye(4).reshape(4, 2, 2), ind=1).shape
    (2, 2, 4)
    """
    rows, columns = A.shape[:ind], A.shape[ind:]
    if ind < 1 or prod(rows) != prod(columns):
        raise ShapeError(f"tensorinv needs as many elements before axis {ind} as after it, got shape {A.shape}")
    return reshape(inv(reshape(A, (prod(rows), prod(columns)))), (*columns, *rows))
