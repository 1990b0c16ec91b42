"""Inverses and linear equations of matrices in the last two axes."""

import math

import numpy as np

from ...errors import ShapeError
from .._families import composite, matrix
from .._native import expensive_by_shape
from .._samples import call, of, well_conditioned
from ..complexes import adjoint
from ..elementary.arithmetic import mirrored
from ..manipulation.movements import broadcast_to, expand_dims, moveaxis, reshape, squeeze, transpose, unbroadcast
from . import _linalg
from .contractions import matmul
from .elimination import lu_factor, lu_solve

_SQUARE, _BATCH = of((3, 3), well_conditioned()), of((2, 2, 2), well_conditioned())
_NONE = of((0, 0))


def has_factors(x, y):
    """Whether equations are compiled as ones solved by factors."""
    return x.dtype == y.dtype and x.dtype in (np.float32, np.float64) and x.size > 0 < y.size


def _inv_in_ops(x):
    return lu_solve(lu_factor(x), np.eye(x.shape[-1], dtype=x.dtype)) if has_factors(x, x) else NotImplemented


@matrix(faster=expensive_by_shape, result_shape=_linalg.square_shape, expansion=_inv_in_ops, samples=(
    call(_SQUARE), call(_BATCH), call(_NONE)))
def inv(x, /):
    r"""The inverse of square matrices. Raises an ArgumentError for a singular one.

    $Z = X^{-1}$, $dZ = -Z\, dX\, Z \;\Rightarrow\; \bar X = -Z^\top \bar Z Z^\top$

    >>> rg.linalg.inv(rg.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5 , 0.  ],
            [0.  , 0.25]])
    """
    _linalg.check_square(x)
    return _linalg.computed(np.linalg.inv, x)


def _inverse_rule(g, z):
    back = transpose(z)
    return -matmul(matmul(back, g), back)


inv.defvjp(_inverse_rule)


def _solve_in_ops(x, y):
    if not has_factors(x, y):
        return NotImplemented
    found = lu_solve(lu_factor(x), expand_dims(y, -1) if y.ndim == 1 else y)
    return squeeze(found, -1) if y.ndim == 1 else found


@matrix(faster=expensive_by_shape, result_shape=_linalg.solution_shape, expansion=_solve_in_ops, samples=(
    call(_SQUARE, (3,)), call(_SQUARE, (3, 2)), call(_BATCH, (2, 1)), call(_SQUARE, (2, 3, 1)), call(_NONE, (0, 2))))
def solve(x, y, /):
    r"""The $Z$ with $X Z = Y$. A `y` of one axis is a vector; otherwise it holds matrices, and batches are broadcast.

    $dZ = X^{-1}(dY - dX\, Z) \;\Rightarrow\; \bar Y = X^{-\top} \bar Z,\; \bar X = -\bar Y Z^\top$
    """
    _linalg.check_equations(x, y)
    return _linalg.computed(np.linalg.solve, x, y)


def _solve_rule(g, needs, x, y_shape, z):
    right = solve(transpose(x), g)
    left = None
    if needs[0]:
        outer = expand_dims(right, -1) * expand_dims(z, -2) if len(y_shape) == 1 else matmul(right, transpose(z))
        left = unbroadcast(-outer, x.shape)
    return left, unbroadcast(right, y_shape) if needs[1] else None


solve.defvjp_all(_solve_rule)


@composite(samples=(call(_SQUARE, n=3), call(_BATCH, n=-2), call(_SQUARE, n=0), call(_SQUARE, n=1)))
def matrix_power(x, /, n):
    r"""The product of `n` factors `x`; of the inverse for negative `n`; the identity for 0.

    $Z = X^n \;\Rightarrow\; \bar X = \sum_{i < n} (X^\top)^i\, \bar Z\, (X^\top)^{n - 1 - i}$
    """
    _linalg.check_square(x)
    if n < 0:
        return matrix_power(inv(x), -n)
    result = None
    while n:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        x = matmul(x, x) if n else x
    return broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape) + x * 0 if result is None else result


@matrix(samples=(call(of((3, 2))), call(of((2, 3))), call(of((2, 2, 2), well_conditioned())), call(of((3, 0)))))
def pinv(x, /, rtol=None):
    r"""The pseudo-inverse of matrices (Moore and Penrose); singular values below `rtol` times the greatest count as 0.

    $Z = X^+ \;\Rightarrow\; \bar X = -Z^\top \bar Z Z^\top + (I - X Z)\, \bar Z^\top Z Z^\top +
    Z^\top Z\, \bar Z^\top (I - Z X)$ (Golub and Pereyra, 1973), where the rank does not change.
    """
    _linalg.check_matrix(x)
    tolerance = np.finfo(np.result_type(x, np.float32)).eps * int(np.max(x.shape[-2:])) if rtol is None else rtol
    return _linalg.computed(lambda x: np.linalg.pinv(x, rcond=tolerance), x)


def _pinv_rule(g, x, z):
    # In terms of adjoints, which is the conjugate of what the walk carries.
    g, back = adjoint(mirrored(g)), adjoint(z)
    inner = matmul(matmul(back, adjoint(g)), back)
    left = matmul(g, matmul(z, back))
    right = matmul(matmul(back, z), g)
    found = left - matmul(x, matmul(z, left)) + right - matmul(matmul(right, z), x) - inner
    return mirrored(found)


pinv.defvjp(_pinv_rule)


@composite(samples=(call(of((3, 2)), (3,)), call(of((3, 2)), (3, 2)), call(of((2, 3)), (2, 1))))
def lstsq(x, y, /, rtol=None):
    r"""The $Z$ of least length with the least squared distance $|X Z - Y|^2$: $Z = X^+ Y$.

    The derivative is that of the product of `pinv` with `y`.
    """
    _linalg.check_matrix(x)
    return matmul(pinv(x, rtol), y)


def tensorsolve(A, B, /, dims=None):
    """The X with `tensordot(A, X, X.ndim) == B`; the axes `dims` of `A` are moved to its end first.

    >>> rg.linalg.tensorsolve(2 * rg.eye(4).reshape(4, 2, 2), rg.ones(4)).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    if dims is not None:
        A = moveaxis(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape, size = A.shape[B.ndim :], math.prod(B.shape)
    if math.prod(shape) != size or math.prod(A.shape[: B.ndim]) != size:
        raise ShapeError(f"tensorsolve needs A of {size} x {size} elements, the axes of the solution after {B.ndim} axes for B, "
                         f"got shapes {A.shape} and {B.shape}")
    return reshape(solve(reshape(A, (size, size)), reshape(B, -1)), shape)


def tensorinv(A, /, ind=2):
    """The X with `tensordot(X, A, ind)` the identity: the inverse of `A` with its first `ind` axes as rows.

    >>> rg.linalg.tensorinv(2 * rg.eye(4).reshape(4, 2, 2), ind=1).shape
    (2, 2, 4)
    """
    rows, columns = A.shape[:ind], A.shape[ind:]
    if ind < 1 or math.prod(rows) != math.prod(columns):
        raise ShapeError(f"tensorinv needs as many elements before axis {ind} as after it, got shape {A.shape}")
    return reshape(inv(reshape(A, (math.prod(rows), math.prod(columns)))), (*columns, *rows))
