"""Equations of triangular matrices, solved by substitution."""

from . import _linalg
from ._families import matrix
from ._samples import call, of, well_conditioned
from .contractions import matmul
from .matrices import tril, triu
from .movements import expand_dims, transpose, unbroadcast

_SQUARE, _BATCH = of((3, 3), well_conditioned()), of((2, 2, 2), well_conditioned())


@matrix(result_shape=_linalg.solution_shape, samples=(
    call(_SQUARE, (3, 2)), call(_SQUARE, (3,), upper=True), call(_BATCH, (2, 1)), call(_SQUARE, (2, 3, 1))))
def solve_triangular(x, y, /, upper=False):
    r"""The $Z$ with $X Z = Y$ for the lower triangle of `x`, or the upper one; what is on the other side does not count.

    $\bar Y = X^{-\top} \bar Z$ and $\bar X = -\bar Y Z^\top$ in that triangle, as for `solve`.
    """
    _linalg.check_equations(x, y)
    if y.ndim == 1:
        return _linalg.computed(lambda x, y: _linalg.substituted(x, y[:, None], upper)[..., 0], x, y)
    return _linalg.computed(lambda x, y: _linalg.substituted(x, y, upper), x, y)


def _solution_rule(g, needs, x, y_shape, z, upper):
    right = solve_triangular(transpose(x), g, not upper)
    left = None
    if needs[0]:
        outer = expand_dims(right, -1) * expand_dims(z, -2) if len(y_shape) == 1 else matmul(right, transpose(z))
        left = (triu if upper else tril)(unbroadcast(-outer, x.shape))
    return left, unbroadcast(right, y_shape) if needs[1] else None


solve_triangular.defvjp_all(_solution_rule)
