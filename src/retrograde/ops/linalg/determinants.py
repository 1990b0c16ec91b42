"""Determinants and cofactors of square matrices in the last two axes, by the factors that solve equations."""

from typing import NamedTuple

import numpy as np

from .._families import matrix
from .._native import expensive_by_shape
from .._samples import call, of, well_conditioned
from ..axes.products import prod
from ..axes.reductions import max, sum
from ..complexes import real
from ..elementary.arithmetic import abs, sign
from ..elementary.comparisons import where
from ..elementary.conversions import astype
from ..elementary.exponential import exp2, log, log2
from ..elementary.rounding import round
from ..manipulation.joins import concatenate
from ..manipulation.movements import expand_dims, reshape, transpose
from ..manipulation.selections import getitem
from . import _linalg
from .contractions import matmul
from .elimination import lu_factor, lu_solve
from .inverses import has_factors, inv

_SQUARE, _BATCH = of((3, 3), well_conditioned()), of((2, 2, 2), well_conditioned())
_NONE = of((0, 0))


def _diagonal_of_factors(x):
    """The diagonal of U, and the sign of the permutation."""
    n, factors = x.shape[-1], lu_factor(x)
    flat = reshape(factors, (*x.shape[:-2], (n + 2) * n))
    return getitem(flat, (..., slice(0, n * n, n + 1))), getitem(factors, (..., n + 1, 0))


def _det_in_ops(x):
    if not has_factors(x, x):
        return NotImplemented
    numbers, turned = _diagonal_of_factors(x)
    return _times_product(turned, numbers)


def _times_product(x, numbers):
    """`x` times the product of numbers, where a part of them may be too great or too small for a float, and all together fit."""
    size = abs(numbers)
    is_plain = (size > 0) & (size < np.inf)
    exponents = round(log2(where(is_plain, size, 1)))
    near_one = prod(numbers / exp2(exponents), -1)
    exponent = sum(exponents, -1)
    half = round(exponent / 2)
    near_one, half, rest = (reshape(part, (*part.shape, *[1] * (x.ndim - part.ndim))) for part in (near_one, half, exponent - half))
    return where(near_one == 0, 0, x * near_one * exp2(half) * exp2(rest))


@matrix(expansion=_det_in_ops, samples=(call(_SQUARE), call(_BATCH), call(of((1, 1))), call(_NONE)))
def det(x, /):
    r"""The determinant of square matrices.

    $z = \det X \;\Rightarrow\; \bar X = \bar z \operatorname{adj}(X)^\top$, for singular matrices too.
    """
    _linalg.check_square(x)
    return _linalg.computed(np.linalg.det, x)


det.defvjp(lambda g, x: expand_dims(g, (-2, -1)) * transpose(adjugate(x)))


def _adjugate_in_ops(x):
    if not has_factors(x, x):
        return NotImplemented
    n, factors, (numbers, turned) = x.shape[-1], lu_factor(x), _diagonal_of_factors(x)
    # Cofactors are linear in each number of the diagonal: one that is 0 may be as small as an error of rounding.
    size = max(abs(x), (-2, -1), keepdims=True)[..., 0] * float(np.finfo(x.dtype).eps)
    small = where(numbers == 0, where(size == 0, 1, size), 0)
    mended = factors[..., :n, :] + expand_dims(small, -1) * np.eye(n, dtype=x.dtype)
    inverse = lu_solve(concatenate([mended, factors[..., n:, :]], -2), np.eye(n, dtype=x.dtype))
    found = _times_product(expand_dims(turned, (-2, -1)) * inverse, numbers + small)
    return where(expand_dims(sum(astype(numbers == 0, x.dtype), -1) > 1, (-2, -1)), 0, found)


@matrix(faster=expensive_by_shape, result_shape=_linalg.square_shape, expansion=_adjugate_in_ops, samples=(
    call(_SQUARE), call(_BATCH), call(of((1, 1)))))
def adjugate(x, /):
    r"""The transposed cofactors of square matrices, $\det(X)\, X^{-1}$ where that exists.

    $dZ = \operatorname{tr}(Z\, dX)\, X^{-1} - X^{-1} dX\, Z \;\Rightarrow\;
    \bar X = \langle \bar Z, X^{-1} \rangle Z^\top - X^{-\top} \bar Z Z^\top$, and its limit for singular matrices.
    """
    _linalg.check_square(x)
    return _linalg.computed(_linalg.adjugate, x)


adjugate.defvjp(lambda g, x: adjugate_gradient(x, g))


@matrix(is_public=False, result_shape=_linalg.slope_shape, samples=(
    call(_SQUARE, (3, 3)), call(_BATCH, (2, 2, 2)), call(of((1, 1)), (1, 1))))
def adjugate_gradient(x, g, /):
    r"""The gradient of matrices by that of their adjugates, $\det(X)\,(a A - A P A)^\top$ with $A = X^{-1}$, $P = G^\top$ and
    $a = \operatorname{tr}(A P)$.

    With $b = \operatorname{tr}(A \bar Z)$, $\bar X = \det(X)\,((a b - \operatorname{tr}(A P A \bar Z))\, A - a A \bar Z A -
    b A P A + A P A \bar Z A + A \bar Z A P A)^\top$, for matrices that have an inverse; $\bar G$ is the transposed gradient by
    $\bar Z^\top$.
    """
    return _linalg.computed(_linalg.adjugate_gradient, x, g)


def _adjugate_gradient_rule(h, needs, x, g):
    of_slope = transpose(adjugate_gradient(x, transpose(h))) if needs[1] else None
    if not needs[0]:
        return None, of_slope
    inverse = inv(x)
    left, right = matmul(inverse, transpose(g)), matmul(inverse, h)
    a, b = (_trace(side) for side in (left, right))
    both = matmul(left, right)
    inner = (a * b - _trace(both)) * np.eye(x.shape[-1], dtype=x.dtype) - a * right - b * left + both + matmul(right, left)
    return expand_dims(det(x), (-2, -1)) * transpose(matmul(inner, inverse)), of_slope


def _trace(x):
    """The sum of the diagonal of matrices, as matrices of one number."""
    return sum(x * np.eye(x.shape[-1], dtype=x.dtype), (-2, -1), keepdims=True)


adjugate_gradient.defvjp_all(_adjugate_gradient_rule)


class SLogDet(NamedTuple):
    """The `sign` of a determinant and the logarithm of its size."""

    sign: object
    logabsdet: object


def slogdet(x, /):
    """The sign of the determinant of square matrices (of complex ones, a number of length 1), and the logarithm of its size.

    >>> rg.linalg.slogdet(rg.tensor([[2.0, 0.0], [0.0, -0.5]]))
    SLogDet(sign=tensor(-1.), logabsdet=tensor(0.))
    """
    return SLogDet(*slogdet_pair(x))


def _slogdet_in_ops(x):
    if not has_factors(x, x):
        return NotImplemented
    numbers, turned = _diagonal_of_factors(x)
    return prod(sign(numbers), -1) * turned, sum(log(abs(numbers)), -1)


@matrix(is_public=False, is_multiple=True, expansion=_slogdet_in_ops, samples=(call(_SQUARE), call(_BATCH)))
def slogdet_pair(x, /):
    r"""The two results of `slogdet`.

    $\ell = \ln |\det X| \;\Rightarrow\; \bar X = \bar\ell\, X^{-\top}$. The sign $s$ of real matrices is constant; of complex
    ones, $\bar X = -i \operatorname{Re}(i\, \bar s s)\, X^{-\top}$.
    """
    _linalg.check_square(x)
    return _linalg.computed(lambda x: tuple(np.linalg.slogdet(x)), x)


def _slogdet_rule(g, _, x, z):
    of_sign, of_size = g
    share = 0 if of_size is None else of_size
    if of_sign is not None and x.dtype.kind == "c":
        share = share - 1j * real(1j * of_sign * z[0])
    if isinstance(share, int):
        return (x * 0,)
    return (expand_dims(share, (-2, -1)) * transpose(inv(x)),)


slogdet_pair.defvjp_all(_slogdet_rule)
