r"""Factorizations of matrices in the last two axes: Cholesky, QR, eigenvalues and singular values.

For complex matrices the rules are written in adjoints, for the gradient as users see it, which is the conjugate of what the
walk carries. Eigenvectors and singular vectors of complex matrices are turned so that the largest element of each is real.
"""

import warnings
from typing import NamedTuple

import ml_dtypes
import numpy as np

from ...core.value import Value
from ...errors import ArgumentError
from .._families import matrix
from .._native import expensive_by_shape
from .._samples import call, of, well_conditioned
from ..axes.reductions import max
from ..complexes import adjoint, imag
from ..elementary.arithmetic import abs, mirrored
from ..elementary.comparisons import where
from ..manipulation.joins import concatenate
from ..manipulation.movements import expand_dims
from . import _linalg
from ._phases import held, held_pairs, turned
from .contractions import matmul
from .matrices import diagonal, on_diagonal, tril, triu
from .triangular import solve_triangular

_DEFINITE = of((3, 3), well_conditioned(is_definite=True))
_DEFINITES = of((2, 2, 2), well_conditioned(is_definite=True))
_FACTOR, _FACTORS = of((3, 3), well_conditioned()), of((2, 2, 2), well_conditioned())


@matrix(faster=expensive_by_shape, result_shape=_linalg.square_shape, samples=(
    call(_DEFINITE), call(_DEFINITES), call(_DEFINITE, upper=True), call(of((0, 0)))))
def cholesky(x, /, upper=False):
    r"""The lower triangular $L$ with $L L^H = X$ for symmetric (Hermitian), positive definite matrices; $L^H$ with `upper`.

    Reads the symmetric part of `x`. Raises an ArgumentError where that is not positive definite.

    $\bar X$ is the symmetric part of $L^{-\top} \Phi(L^\top \bar L)\, L^{-1}$, where $\Phi$ keeps the lower triangle and
    halves the diagonal (Murray, 2016).
    """
    _linalg.check_square(x)
    return _linalg.computed(lambda x: np.linalg.cholesky(_linalg.hermitian(x), upper=upper), x)


def _cholesky_rule(g, z, upper):
    g = mirrored(g)
    return mirrored(cholesky_gradient(*((adjoint(z), adjoint(g)) if upper else (z, g))))


cholesky.defvjp(_cholesky_rule)


@matrix(is_public=False, faster=expensive_by_shape, result_shape=_linalg.slope_shape, samples=(
    call(_FACTOR, (3, 3)), call(_FACTORS, (2, 2, 2))))
def cholesky_gradient(factor, g, /):
    r"""The gradient of a symmetric (Hermitian) matrix by that of its lower Cholesky factor $L$: see `cholesky`.

    What is above the diagonals does not count. With $H = (\bar Z + \bar Z^\top) / 2$ and $P = \Phi(L^{-1} H L^{-\top})$,
    $\bar G = L P$ and $\bar L = G P^\top - 2 Z H L^{-\top}$, both in the lower triangle.
    """
    return _linalg.computed(_gradient_of_factor, factor, g)


def _gradient_of_factor(lower, g):
    back = np.conjugate(np.swapaxes(np.tril(lower), -1, -2))
    half = _linalg.lower_half(np.matmul(back, np.tril(g)))
    once = _linalg.substituted(back, half, True)
    return _linalg.hermitian(_linalg.substituted(back, np.conjugate(np.swapaxes(once, -1, -2)), True))


def _cholesky_gradient_rule(h, needs, factor, g, z):
    h = _hermitian(mirrored(h))
    factor = tril(factor)
    right = adjoint(solve_triangular(factor, h))  # H by the inverse of the adjoint factor
    inner = solve_triangular(factor, right)
    half = tril(inner) * _halved_diagonal(inner)
    if half.dtype.kind == "c":
        half = half - 1j * imag(half) * np.eye(half.shape[-1])
    of_factor = tril(matmul(tril(g), adjoint(half)) - 2 * matmul(z, right)) if needs[0] else None
    of_slope = tril(matmul(factor, half)) if needs[1] else None
    return tuple([None if found is None else mirrored(found) for found in (of_factor, of_slope)])


cholesky_gradient.defvjp_all(_cholesky_gradient_rule)


def _halved_diagonal(x):
    return (1 - 0.5 * np.eye(x.shape[-1])).astype(x.dtype)


def _hermitian(x):
    return (x + adjoint(x)) * 0.5


def _skew(x):
    return x - adjoint(x)


class QR(NamedTuple):
    """Orthonormal columns `Q` and an upper triangle `R`."""

    Q: object
    R: object


def qr(x, /, mode="reduced"):
    """Orthonormal columns `Q` and an upper triangular `R` with `Q R = x`; with mode="complete" a square `Q`.

    >>> q, r = rg.linalg.qr(rg.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> q.shape, r.shape
    ((2, 2), (2, 2))
    """
    return QR(*qr_pair(x, mode))


@matrix(is_public=False, is_multiple=True, samples=(
    call(of((3, 3), well_conditioned())), call(of((4, 2))), call(of((2, 4))), call(of((2, 3, 2)))))
def qr_pair(x, /, mode="reduced"):
    r"""The two results of `qr`.

    For a matrix that is not wide, with $M = \bar R R^\top - Q^\top \bar Q$ kept in its upper triangle, made symmetric and
    halved on the diagonal: $\bar X = (\bar Q + Q M) R^{-\top}$. The columns of a wide one beyond the square are $Q$ times
    those of $R$. There is no derivative for the extra columns of a complete $Q$.
    """
    _linalg.check_matrix(x)
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f'mode must be "reduced" or "complete", got {mode!r}')
    return _linalg.computed(lambda x: tuple(np.linalg.qr(x, mode)), x)


def _qr_rule(g, _, x, z, mode):
    rows, columns = x.shape[-2:]
    if mode == "complete" and rows > columns:
        raise ArgumentError(f'qr(mode="complete") of a tall matrix, of shape {x.shape}, has no derivative; use mode="reduced"')
    q, r = z
    of_q = q * 0 if g[0] is None else mirrored(g[0])
    of_r = r * 0 if g[1] is None else mirrored(g[1])
    if columns <= rows:
        return (mirrored(_of_tall(of_q, triu(of_r), q, r)),)
    rest, of_rest = x[..., rows:], of_r[..., rows:]
    of_q = of_q + matmul(rest, adjoint(of_rest))
    first = _of_tall(of_q, triu(of_r[..., :rows]), q, r[..., :rows])
    return (mirrored(concatenate([first, matmul(q, of_rest)], -1)),)


qr_pair.defvjp_all(_qr_rule)


def _of_tall(of_q, of_r, q, r):
    upper = triu(matmul(of_r, adjoint(r)) - matmul(adjoint(q), of_q))
    both = (upper + adjoint(upper)) * _halved_diagonal(upper)
    return adjoint(solve_triangular(r, adjoint(of_q + matmul(q, both)), upper=True))


class Eigh(NamedTuple):
    """`eigenvalues` in ascending order and their `eigenvectors` as columns."""

    eigenvalues: object
    eigenvectors: object


def eigh(x, /):
    """Eigenvalues, in ascending order, and eigenvectors, as columns, of symmetric (Hermitian) matrices.

    Reads the symmetric part of `x`. The derivative in eigenvectors whose eigenvalues are equal does not exist: theirs among
    each other is left out, with a RuntimeWarning; sums over all equal ones are right. Complex vectors are turned so that the
    largest element of each is real and positive.

    >>> rg.linalg.eigh(rg.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return Eigh(*eigh_pair(x))


@matrix(is_public=False, is_multiple=True, samples=(call(_DEFINITE), call(_DEFINITES)))
def eigh_pair(x, /, upper=False):
    r"""The two results of `eigh`; LAPACK works on the upper triangle if `upper`, which may give vectors another sign.

    $X = V \Lambda V^\top \;\Rightarrow\; \bar X = V\,(\operatorname{diag} \bar\lambda + F \circ (V^\top \bar V))\, V^\top$ with
    $F_{i j} = 1 / (\lambda_j - \lambda_i)$, 0 for equal ones.
    """
    _linalg.check_square(x)
    return _linalg.computed(lambda x: _turned_pair(*np.linalg.eigh(_linalg.hermitian(x), "U" if upper else "L")), x)


def _turned_pair(values, vectors):
    return values, turned(vectors)


def _eigh_rule(g, _, z):
    values, vectors = z
    inner = 0
    if g[0] is not None:
        inner = inner + on_diagonal(g[0])
    if g[1] is not None:
        mixed = matmul(adjoint(vectors), held(mirrored(g[1]), vectors))
        inner = inner + mixed * _inverse_gaps(values, mixed)
    return (mirrored(_hermitian(matmul(matmul(vectors, inner), adjoint(vectors)))),)


eigh_pair.defvjp_all(_eigh_rule)


@matrix(samples=(call(_DEFINITE), call(_DEFINITES)))
def eigvalsh(x, /):
    r"""The eigenvalues of symmetric (Hermitian) matrices in ascending order; reads the symmetric part of `x`.

    $\bar X = V \operatorname{diag}(\bar\lambda)\, V^\top$ with the eigenvectors $V$.
    """
    _linalg.check_square(x)
    return _linalg.computed(lambda x: np.linalg.eigvalsh(_linalg.hermitian(x)), x)


def _eigvalsh_rule(g, x):
    vectors = eigh_pair(x)[1]
    return mirrored(matmul(vectors * expand_dims(g, -2), adjoint(vectors)))


eigvalsh.defvjp(_eigvalsh_rule)


def _inverse_gaps(values, mixed):
    """1 / (value j - value i), and 0 where the two are equal but for rounding."""
    gaps = expand_dims(values, -2) - expand_dims(values, -1)
    if not gaps.size:
        return gaps
    least = max(abs(values), -1, keepdims=True) * (float(ml_dtypes.finfo(values.dtype).eps) * 4 * values.shape[-1])
    is_equal = abs(gaps) <= expand_dims(least, -1)
    _warn_of_equals(is_equal, mixed)
    return where(is_equal, 0, 1 / where(is_equal, 1, gaps))


def _warn_of_equals(is_equal, mixed):
    """Say so where a part of the derivative is left out; a trace has no numbers to look at."""
    is_equal, mixed = [v.raw if isinstance(v, Value) else v for v in (is_equal, mixed)]
    if not isinstance(mixed, np.ndarray):
        return
    between = np.abs(mixed) * (is_equal & ~np.eye(mixed.shape[-1], dtype=bool))
    if between.size and between.max() > 1e-3 * np.abs(mixed).max():
        warnings.warn("equal eigenvalues or singular values: the derivative of their vectors among each other does not exist "
                      "and is left out", RuntimeWarning, stacklevel=2)


class SVD(NamedTuple):
    """Left vectors `U` as columns, singular values `S` in descending order, and right vectors `Vh` as conjugated rows."""

    U: object
    S: object
    Vh: object


def svd(x, /, full_matrices=True):
    """Singular values of matrices in descending order, between left vectors as columns and right ones as rows: `U S Vh = x`.

    With `full_matrices` both sets of vectors are square, and then only the singular values have a derivative unless `x` is
    square too. For equal singular values see `eigh`. Complex vectors are turned so that the largest element of each left one is
    real and positive.
    """
    return SVD(*svd_triple(x, full_matrices))


@matrix(is_public=False, is_multiple=True, samples=(
    call(of((3, 3), well_conditioned()), full_matrices=False), call(of((2, 4)), full_matrices=False),
    call(of((2, 4, 2)), full_matrices=False)))
def svd_triple(x, /, full_matrices=True):
    r"""The three results of `svd`.

    $X = U S V^\top \;\Rightarrow\; \bar X = U\,((F \circ \operatorname{skew}(U^\top \bar U))\, S +
    S\,(F \circ \operatorname{skew}(V^\top \bar V)) + \operatorname{diag} \bar s)\, V^\top + (I - U U^\top)\, \bar U S^{-1} V^\top +
    U S^{-1} \bar V^\top (I - V V^\top)$ with $F_{i j} = 1 / (s_j^2 - s_i^2)$, 0 for equal ones, and
    $\operatorname{skew} A = A - A^\top$.
    """
    _linalg.check_matrix(x)
    return _linalg.computed(lambda x: _turned_triple(*np.linalg.svd(x, full_matrices)), x)


def _turned_triple(u, s, vh):
    if u.dtype.kind == "c":
        count = s.shape[-1]
        u[..., :count], vh[..., :count, :] = turned(u[..., :count], vh[..., :count, :])
    return u, s, vh


def _svd_rule(g, _, x, z, full_matrices):
    rows, columns = x.shape[-2:]
    if full_matrices and rows != columns and not (g[0] is None and g[2] is None):
        raise ArgumentError(f"the vectors of svd(full_matrices=True) have no derivative for a matrix of shape {x.shape}; use "
                            "full_matrices=False")
    count = z[1].shape[-1]
    u, s, vh = z[0][..., :count], z[1], z[2][..., :count, :]
    of_u, of_s, of_vh = [None if c is None else mirrored(c) for c in g]
    of_u = held_pairs(of_u, of_vh, u, vh)
    inner = 0 if of_s is None else on_diagonal(of_s)
    wide, tall = expand_dims(s, -2), expand_dims(s, -1)
    outside = 0
    if of_u is not None:
        mixed = matmul(adjoint(u), of_u)
        inner = inner + _skew(mixed) * _inverse_gaps(s * s, _skew(mixed)) * wide
        if x.dtype.kind == "c":
            inner = inner + 1j * on_diagonal(imag(diagonal(mixed, 0, -2, -1)) / s)
        if rows > columns:
            outside = outside + matmul((of_u - matmul(u, mixed)) / wide, vh)
    if of_vh is not None:
        mixed = matmul(vh, adjoint(of_vh))
        inner = inner + tall * (_skew(mixed) * _inverse_gaps(s * s, _skew(mixed)))
        if columns > rows:
            outside = outside + matmul(u / wide, of_vh - matmul(adjoint(mixed), vh))
    return (mirrored(matmul(matmul(u, inner), vh) + outside),)


svd_triple.defvjp_all(_svd_rule)


@matrix(samples=(call(of((3, 3), well_conditioned())), call(of((2, 4))), call(of((2, 4, 2)))))
def svdvals(x, /):
    r"""The singular values of matrices in descending order.

    $\bar X = U \operatorname{diag}(\bar s)\, V^\top$ with the singular vectors $U$ and $V$.
    """
    _linalg.check_matrix(x)
    return _linalg.computed(lambda x: np.linalg.svd(x, compute_uv=False), x)


def _svdvals_rule(g, x):
    u, _, vh = svd_triple(x, False)
    return mirrored(matmul(u * expand_dims(g, -2), vh))


svdvals.defvjp(_svdvals_rule)
