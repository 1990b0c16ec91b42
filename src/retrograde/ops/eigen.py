r"""Eigenvalues of any square matrices, which may be complex, and the exponential of matrices."""

from typing import NamedTuple

import numpy as np

from . import _linalg
from ._expm import exponential
from ._families import matrix
from ._samples import call, of, uniform, well_conditioned
from .arithmetic import mirrored
from .comparisons import where
from .complexes import adjoint, real
from .contractions import matmul
from .inverses import solve
from .joins import concatenate
from .matrices import diagonal
from .movements import expand_dims, transpose

_SQUARE, _BATCH = of((3, 3), well_conditioned()), of((2, 2, 2), well_conditioned())
_IS_COMPLEX = {"dtypes": "the eigenvalues of real matrices may be complex",
               "gradients": "complex vectors have a free phase: the derivative is checked through functions of the matrix"}


class Eig(NamedTuple):
    """`eigenvalues`, in no order, and `eigenvectors` of length 1 as columns; both are complex."""

    eigenvalues: object
    eigenvectors: object


def eig(x, /):
    """Eigenvalues and eigenvectors, as columns, of square matrices; both are complex. For symmetric ones `eigh` is better.

    The derivative does not exist where eigenvalues are equal, and is infinite or NaN there.

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
        inner = inner + _on_diagonal(mirrored(g[0]))
    if g[1] is not None:
        mixed = matmul(back, mirrored(g[1]))
        mixed = mixed - matmul(back, vectors) * expand_dims(real(diagonal(mixed, 0, -2, -1)), -2)
        gaps = mirrored(expand_dims(values, -2) - expand_dims(values, -1))
        is_same = np.eye(gaps.shape[-1], dtype=bool)
        inner = inner + where(is_same, 0, mixed / where(is_same, 1, gaps))
    found = mirrored(solve(back, matmul(inner, back)))
    return (found if x.dtype.kind == "c" else real(found),)


eig_pair.defvjp_all(_eig_rule)


def _on_diagonal(x):
    return expand_dims(x, -1) * np.eye(x.shape[-1], dtype=x.dtype)


@matrix(skips={"dtypes": _IS_COMPLEX["dtypes"]}, samples=(call(_SQUARE), call(_BATCH)))
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
    r"""The exponential of square matrices, $\sum_k X^k / k!$.

    $\bar X$ is the upper right block of the exponential of $\begin{pmatrix} X^\top & \bar Z \\ 0 & X^\top \end{pmatrix}$
    (Najfeld and Havel, 1995).
    """
    _linalg.check_square(x)
    return _linalg.computed(exponential, x)


def _matrix_exp_rule(g, x):
    n, back = x.shape[-1], transpose(x)
    whole = concatenate([concatenate([back, g], -1), concatenate([g * 0, back], -1)], -2)
    return matrix_exp(whole)[..., :n, n:]


matrix_exp.defvjp(_matrix_exp_rule)
