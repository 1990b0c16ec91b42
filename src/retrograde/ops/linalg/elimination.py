"""LU factors of square matrices, and equations solved by them: the inside of `solve`, `inv`, `det` and `slogdet` in compiled code,
where the factors of a matrix are found once for all that is asked of it.
"""

import numpy as np

from ...errors import ShapeError
from .._families import matrix
from .._samples import call, of, well_conditioned
from . import _linalg

_SQUARE, _BATCH = of((3, 3), well_conditioned()), of((2, 2, 2), well_conditioned())


def _factors_shape(x):
    _linalg.check_square(x)
    return (*x.shape[:-2], x.shape[-1] + 2, x.shape[-1])


@matrix(is_public=False, is_differentiable=False, result_shape=_factors_shape, samples=(call(_SQUARE), call(_BATCH)))
def lu_factor(x, /):
    r"""$X = P L U$ with partial pivoting, as n + 2 rows for matrices of n.

    The first n rows hold $U$, and below its diagonal $L$, whose own diagonal is ones. The next row tells which row of `x` each of
    them is; the last one starts with the sign of that permutation. There are always factors; those of a singular matrix have a 0
    on the diagonal.
    """
    _linalg.check_square(x)
    return _linalg.computed(_eliminated, x)


def _eliminated(x):
    shape, n, dtype = _factors_shape(x), x.shape[-1], x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)
    rows = np.reshape(x, (-1, n, n)) if x.size else np.zeros((0, n, n))
    every, order = np.arange(len(rows)), np.broadcast_to(np.arange(n)[:, None], (len(rows), n, 1))
    rows, sign = np.concatenate([rows, order], -1).astype(dtype), np.ones(len(rows), dtype)
    for k in range(n):
        best = k + np.argmax(np.abs(rows[:, k:, k]), 1)
        rows[every, k], rows[every, best] = rows[every, best], rows[every, k]
        sign = np.where(best == k, sign, -sign)
        pivot = rows[:, k, None, k]
        rows[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)
        rows[:, k + 1 :, k + 1 : n] -= rows[:, k + 1 :, k, None] * rows[:, k, None, k + 1 : n]
    last = np.zeros((len(rows), 1, n), dtype)
    last[:, 0, :1] = sign[:, None]
    found = np.concatenate([rows[..., :n], rows[..., None, :, n], last], 1)
    return found.reshape(shape) if x.size else np.zeros(shape, dtype)


class _Factors:
    """Factors of well-conditioned matrices; the shape is that of the factors."""

    def draw(self, rng, shape, dtype):
        """The factors of such matrices."""
        return lu_factor(well_conditioned().draw(rng, (*shape[:-2], shape[-1], shape[-1]), dtype))


def _solution_shape(factors, y, *_):
    of_factors, of_y = np.shape(factors), np.shape(y)
    if len(of_factors) < 2 or len(of_y) < 2 or (of_factors[-2], of_y[-2]) != (of_factors[-1] + 2, of_factors[-1]):
        raise ShapeError(f"factors of n + 2 rows and matrices of n rows are needed, got shapes {of_factors} and {of_y}")
    return np.broadcast_shapes(of_factors[:-2], of_y[:-2]) + of_y[-2:]


@matrix(is_public=False, is_differentiable=False, result_shape=_solution_shape, samples=(
    call(of((5, 3), _Factors()), (3, 2)), call(of((2, 4, 2), _Factors()), (2, 1), transposed=True)))
def lu_solve(factors, y, /, transposed=False):
    r"""The $Z$ with $X Z = Y$, or $X^\top Z = Y$, by the factors of $X$ that `lu_factor` finds; `y` holds matrices."""
    return _linalg.computed(lambda f, y: _solved(f, y, transposed), factors, y)


def _solved(factors, y, transposed):
    shape, n = _solution_shape(factors, y), factors.shape[-1]
    x = factors[..., :n, :]
    lower = np.tril(x, -1) + np.eye(n, dtype=x.dtype)
    order = np.broadcast_to(factors[..., n, :, None].astype(np.int64), shape)
    if not transposed:
        y = np.take_along_axis(np.broadcast_to(y, order.shape), order, -2)
        return _linalg.substituted(x, _linalg.substituted(lower, y, False), True)
    across = np.swapaxes(x, -1, -2), np.swapaxes(lower, -1, -2)
    found = _linalg.substituted(across[1], _linalg.substituted(across[0], y, False), True)
    result = np.empty_like(found)
    np.put_along_axis(result, order, found, -2)
    return result
