"""Matrix equations: Sylvester's, the square root of a matrix, and systems with a band, all from SciPy."""

import numpy as np

from ...errors import ShapeError
from ...extras import optional
from .._families import matrix
from .._samples import call, of, uniform, well_conditioned
from ..axes.reductions import sum
from ..complexes import real
from ..manipulation.joins import stack
from ..manipulation.movements import expand_dims, pad, transpose
from ..manipulation.selections import getitem
from . import _linalg
from .contractions import matmul

_A, _B = of((3, 3), well_conditioned()), of((2, 2), well_conditioned())


def _scipy():
    return optional("scipy.linalg", "scipy")


@matrix(result_shape=lambda x, y, q: q.shape, samples=(call(_A, _B, (3, 2)), call(_B, _B, (2, 2))))
def solve_sylvester(x, y, q, /):
    r"""The $Z$ with $X Z + Z Y = Q$.

    $\bar Q$ solves $X^\top \bar Q + \bar Q\, Y^\top = \bar Z$; $\bar X = -\bar Q Z^\top$ and $\bar Y = -Z^\top \bar Q$.
    """
    if x.ndim != 2 or y.ndim != 2 or x.shape != (q.shape[0], q.shape[0]) or y.shape != (q.shape[-1], q.shape[-1]):
        raise ShapeError(f"solve_sylvester needs matrices (m, m), (n, n) and (m, n), got {x.shape}, {y.shape} and {q.shape}")
    return _linalg.computed(lambda x, y, q: _scipy().solve_sylvester(x, y, q), x, y, q)


def _sylvester_rule(g, needs, x, y, z):
    q = solve_sylvester(transpose(x), transpose(y), g)
    return -matmul(q, transpose(z)) if needs[0] else None, -matmul(transpose(z), q) if needs[1] else None, q


solve_sylvester.defvjp_all(_sylvester_rule)


@matrix(result_shape=lambda x: x.shape, skips={"integers": "SciPy warns of singular matrices, which those of ones are"},
        samples=(call(of((3, 3), well_conditioned(is_definite=True))),))
def sqrtm(x, /):
    r"""The square root of a matrix: $Z Z = X$.

    $\bar X$ solves Sylvester's equation $Z^\top \bar X + \bar X Z^\top = \bar Z$. The root of a real matrix may be complex; under
    `jit` give such a matrix as complex numbers.
    """
    _linalg.check_square(x)
    return _linalg.computed(lambda x: np.asarray(_scipy().sqrtm(x if x.dtype.kind in "fc" else x.astype(np.float64))), x)


def _sqrtm_rule(g, z, x):
    found = solve_sylvester(transpose(z), transpose(z), g)
    # The root of a real matrix with a negative eigenvalue is complex, and the matrix moves along real directions only.
    return real(found) if found.dtype.kind == "c" and x.dtype.kind != "c" else found


sqrtm.defvjp(_sqrtm_rule)


_BAND = uniform(1, 2)


@matrix(result_shape=lambda x, y, lower, upper: y.shape, samples=(
    call(of((3, 5), _BAND), (5,), lower=1, upper=1), call(of((3, 4), _BAND), (4, 2), lower=0, upper=2)))
def solve_banded(x, y, /, lower, upper):
    r"""The $Z$ with $A Z = Y$ for the matrix $A$ whose diagonals are the rows of `x`, from number `upper` above to `lower` below.

    $x_{u + i - j,\, j} = A_{i j}$. As for `solve`, $\bar Y = A^{-\top} \bar Z$, and $\bar A_{i j} = -\bar Y_i Z_j$ within the band.
    """
    return _linalg.computed(lambda x, y: _scipy().solve_banded((lower, upper), x, y), x, y)


def _banded_rule(g, needs, x, z, lower, upper):
    found = solve_banded(_transposed(x, lower, upper), g, upper, lower)
    if not needs[0]:
        return None, found
    a, b = (found, z) if found.ndim > 1 else (expand_dims(found, -1), expand_dims(z, -1))
    return -_products_in_band(a, b, lower, upper), found


solve_banded.defvjp_all(_banded_rule)


def _moved(row, places):
    """`row` moved to the right by `places`, zeros coming in; its length stays."""
    size = row.shape[0]
    if places >= 0:
        return pad(getitem(row, slice(0, max(size - places, 0))), ((min(places, size), 0),))
    return pad(getitem(row, slice(min(-places, size), None)), ((0, min(-places, size)),))


def _transposed(x, lower, upper):
    """The band of the transposed matrix."""
    return stack([_moved(x[row], row - upper) for row in reversed(range(lower + upper + 1))])


def _products_in_band(a, b, lower, upper):
    """The products of row i of `a` and row j of `b` where i and j lie in the band, laid out as the band is."""
    rows = []
    for shift in range(-upper, lower + 1):  # i - j
        size = a.shape[0]
        first = min(max(0, -shift), size)
        last = max(first, min(size, size - shift))
        line = sum(getitem(a, slice(first + shift, last + shift)) * getitem(b, slice(first, last)), 1)
        rows.append(pad(line, ((first, size - last),)))
    return stack(rows)
