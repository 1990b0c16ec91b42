"""Equations of triangular matrices, solved by substitution."""

import numpy as np

from ...errors import ShapeError
from .._families import matrix
from .._native import expensive_by_shape
from .._samples import call, of, well_conditioned
from ..elementary.comparisons import where
from ..manipulation.movements import expand_dims, transpose, unbroadcast
from . import _linalg
from .contractions import matmul
from .matrices import tril, triu

_SQUARE, _BATCH = of((3, 3), well_conditioned()), of((2, 2, 2), well_conditioned())


def _check(x, y, left):
    """Raise a ShapeError unless there are equations of `x` that have `y` on their right-hand side."""
    if left:
        _linalg.check_equations(x, y)
        return
    _linalg.check_square(x)
    if np.ndim(y) < 2 or y.shape[-1] != x.shape[-1]:
        raise ShapeError(f"Z X = Y needs a matrix Y with as many columns as X, got {x.shape} and {np.shape(y)}")


def _result_shape(x, y, _, left, *__):
    _check(x, y, left)
    return _linalg.shape_of_solution(x, y)


def _plain(x, y, upper, left, unitriangular):
    """The same by equations X Z = Y of triangles with a diagonal; NotImplemented if these are such."""
    if left and not unitriangular:
        return NotImplemented
    if unitriangular:
        x = where(np.eye(x.shape[-1], dtype=bool), 1, x)
    return solve_triangular(x, y, upper) if left else transpose(solve_triangular(transpose(x), transpose(y), not upper))


@matrix(faster=expensive_by_shape, expansion=_plain, result_shape=_result_shape, samples=(
    call(_SQUARE, (3, 2)), call(_SQUARE, (3,), upper=True), call(_BATCH, (2, 1)), call(_SQUARE, (2, 3, 1)),
    call(_SQUARE, (2, 3), left=False), call(_BATCH, (3, 2), upper=True, left=False, unitriangular=True),
    call(_SQUARE, (3,), unitriangular=True)))
def solve_triangular(x, y, /, upper=False, left=True, unitriangular=False):
    r"""The $Z$ with $X Z = Y$ for the lower triangle of `x`, or the upper one; what is on the other side does not count.

    Without `left` it is the $Z$ with $Z X = Y$; with `unitriangular` the diagonal counts as ones, whatever it is.

    $\bar Y = X^{-\top} \bar Z$ and $\bar X = -\bar Y Z^\top$ in that triangle, as for `solve`; without `left`
    $\bar Y = \bar Z X^{-\top}$ and $\bar X = -Z^\top \bar Y$.
    """
    _check(x, y, left)
    if (found := _plain(x, y, upper, left, unitriangular)) is not NotImplemented:
        return found
    if y.ndim == 1:
        return _linalg.computed(lambda x, y: _linalg.substituted(x, y[:, None], upper)[..., 0], x, y)
    return _linalg.computed(lambda x, y: _linalg.substituted(x, y, upper), x, y)


def _solution_rule(g, needs, x, y_shape, z, upper, left, unitriangular):
    of_y, of_x = solve_triangular(transpose(x), g, not upper, left, unitriangular), None
    if needs[0]:
        if len(y_shape) == 1:
            outer = expand_dims(of_y, -1) * expand_dims(z, -2)
        else:
            outer = matmul(of_y, transpose(z)) if left else matmul(transpose(z), of_y)
        triangle = triu if upper else tril
        of_x = triangle(unbroadcast(-outer, x.shape), (1 if upper else -1) if unitriangular else 0)
    return of_x, unbroadcast(of_y, y_shape) if needs[1] else None


solve_triangular.defvjp_all(_solution_rule)
