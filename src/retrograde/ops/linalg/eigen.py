r"""Eigenvalues of any square matrices, which may be complex, and the exponential of matrices."""

from typing import NamedTuple

import numpy as np

from ...errors import ShapeError
from .._families import matrix
from .._samples import call, of, uniform, well_conditioned
from ..complexes import adjoint, real
from ..elementary.arithmetic import mirrored
from ..elementary.comparisons import where
from ..manipulation.joins import concatenate, stack
from ..manipulation.movements import expand_dims, transpose
from ..manipulation.selections import getitem
from . import _linalg
from ._expm import exponential
from ._phases import held
from .contractions import matmul
from .inverses import solve
from .matrices import diagonal, on_diagonal

_SQUARE, _BATCH = of((3, 3), well_conditioned()), of((2, 2, 2), well_conditioned())
_IS_COMPLEX = {"dtypes": "the eigenvalues of real matrices may be complex"}


class Eig(NamedTuple):
    """`eigenvalues`, in no order, and `eigenvectors` of length 1 as columns; both are complex."""

    eigenvalues: object
    eigenvectors: object


def eig(x, /):
    """Eigenvalues and eigenvectors, as columns, of square matrices; both are complex. For symmetric ones `eigh` is better.

    The derivative does not exist where eigenvalues are equal, and is infinite or NaN there. The largest element of each vector is
    real.

    >>> rg.linalg.eig(rg.tensor([[0.0, -1.0], [1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j], dtype=complex64)
    """
    return Eig(*eig_pair(x))


def _complex_pair(x):
    values, vectors = np.linalg.eig(x)
    dtype = np.result_type(values, np.complex64)
    return values.astype(dtype), vectors.astype(dtype)


@matrix(is_public=False, is_multiple=True, skips=_IS_COMPLEX, samples=(call(_SQUARE), call(_BATCH)))
def eig_pair(x, /):
    r"""The two results of `eig`.

    $X V = V \Lambda \;\Rightarrow\; \bar X = V^{-H} (\operatorname{diag} \bar\lambda +
    (V^H \bar V - V^H V \operatorname{diag} \operatorname{Re}(V^H \bar V)) / E)\, V^H$ with
    $E_{i j} = \overline{\lambda_j - \lambda_i}$, for the conjugated cotangents that users see.
    """
    _linalg.check_square(x)
    return _linalg.computed(_complex_pair, x)


def _eig_rule(g, _, x, z):
    values, vectors = z
    back, inner = adjoint(vectors), 0
    if g[0] is not None:
        inner = inner + on_diagonal(mirrored(g[0]))
    if g[1] is not None:
        mixed = matmul(back, held(mirrored(g[1]), vectors))
        mixed = mixed - matmul(back, vectors) * expand_dims(real(diagonal(mixed, 0, -2, -1)), -2)
        gaps = mirrored(expand_dims(values, -2) - expand_dims(values, -1))
        is_same = np.eye(gaps.shape[-1], dtype=bool)
        inner = inner + where(is_same, 0, mixed / where(is_same, 1, gaps))
    found = mirrored(solve(back, matmul(inner, back)))
    return (found if x.dtype.kind == "c" else real(found),)


eig_pair.defvjp_all(_eig_rule)


@matrix(skips=_IS_COMPLEX, samples=(call(_SQUARE), call(_BATCH)))
def eigvals(x, /):
    r"""The eigenvalues of square matrices, complex and in no order.

    $\bar X = V^{-\top} \operatorname{diag}(\bar\lambda)\, V^\top$ with the eigenvectors $V$.
    """
    _linalg.check_square(x)
    return _linalg.computed(lambda x: np.linalg.eigvals(x).astype(np.result_type(x, np.complex64)), x)


def _eigvals_rule(g, x):
    back = transpose(eig_pair(x)[1])
    found = solve(back, expand_dims(g, -1) * back)
    return found if x.dtype.kind == "c" else real(found)


eigvals.defvjp(_eigvals_rule)


@matrix(aliases=("expm",), samples=(call(_SQUARE), call(_BATCH), call(of((2, 2), uniform(-8, 8)))))
def matrix_exp(x, /):
    r"""The exponential of square matrices, $\sum_k X^k / k!$ (Al-Mohy and Higham, 2009).

    $\bar X$ is the derivative of the exponential at $X^\top$ in the direction $\bar Z$.
    """
    _linalg.check_square(x)
    return _linalg.computed(exponential, x)


@matrix(is_public=False, result_shape=lambda x, e: x.shape, samples=(
    call(_SQUARE, (1, 3, 3)), call(_BATCH, (2, 1, 2, 2)), call(of((2, 2)), (2, 2, 2))))
def matrix_exp_slope(x, e, /):
    r"""The derivative of `matrix_exp` at square matrices in as many directions as `e` has along its third axis from the end.

    $D^k(X)[E_1, \dots, E_k] = \partial_{t_1} \cdots \partial_{t_k}\, e^{X + t_1 E_1 + \dots + t_k E_k}$ at 0 is the same in any
    order of the directions, so that $\bar E_i = D^k(X^\top)[\bar Z, E_j^\top \text{ for all } j \ne i]$ and
    $\bar X = D^{k + 1}(X^\top)[\bar Z, E_1^\top, \dots, E_k^\top]$.
    """
    _linalg.check_square(x)
    if e.ndim != x.ndim + 1 or e.shape[:-3] + e.shape[-2:] != x.shape:
        raise ShapeError(f"matrix_exp_slope needs directions of the shape of the matrices, got {x.shape} and {e.shape}")
    return _linalg.computed(exponential, x, e)


def _slope_rule(g, needs, x, e):
    x, e, g = transpose(x), transpose(e), expand_dims(g, -3)
    of_x = matrix_exp_slope(x, concatenate([g, e], -3)) if needs[0] else None
    if not needs[1]:
        return of_x, None
    count = e.shape[-3]
    others = [getitem(e, (..., [j for j in range(count) if j != i], slice(None), slice(None))) for i in range(count)]
    return of_x, stack([matrix_exp_slope(x, concatenate([g, other], -3)) for other in others], -3)


matrix_exp.defvjp(lambda g, x: matrix_exp_slope(transpose(x), expand_dims(g, -3)))
matrix_exp_slope.defvjp_all(_slope_rule)
