"""Dirichlet distributed vectors, with the derivative that leaves the ranks of their parts as they are."""

import numpy as np

from ..dtypes import is_float
from . import _dirichlet
from ._families import elementwise, sampling
from ._marsaglia import standard_gamma
from ._samples import call, of, uniform
from .exponential import log, log1p
from .gamma import digamma, polygamma
from .reductions import sum

_STATE = np.array([5, 7], np.int64)
_SHAPE, _PLACE = uniform(0.3, 5), uniform(0.1, 0.9)


@elementwise(is_public=False, is_real=True, samples=(
    call(of((2, 3), _PLACE), of((3,), _SHAPE), of((2, 3), _SHAPE)),
    call(of((), _PLACE), of((2,), _SHAPE), of((2,), _SHAPE), i=0, j=1),
    call(of((2,), _PLACE), of((2,), _SHAPE), of((2,), _SHAPE), i=1, j=1)))
def beta_slope(x, a, b, /, i=1, j=0):
    r"""$z = -\partial^i_a\, \partial^j_b\, I_x(a, b) / w$ with $w = (1 - x)\, p(x)$, where $I_x$ is the chance of a beta variable
    to be below $x$ and $p$ its density.

    $\partial_a \ln w = l_a = \ln x - \psi(a) + \psi(a + b)$ and likewise $l_b$ with $\ln(1 - x)$, so that
    $\bar a = \bar z\,(z_{i + 1, j} - z\, l_a)$ and $\bar b = \bar z\,(z_{i, j + 1} - z\, l_b)$. As $\partial_x I = p$,
    $\bar x = -\bar z\,(\frac{\partial^i_a \partial^j_b\, p}{w} + z\,(\frac{a - 1}{x} - \frac{b}{1 - x}))$.
    """
    dtype = np.result_type(x, a, b)
    found = _dirichlet.slope(i, j, *[np.asarray(part, np.float64) for part in (x, a, b)])
    return found.astype(dtype if is_float(dtype) else np.float64)


def _of_place(g, z, x, a, b, i, j):
    density = _dirichlet.bell((i, j), lambda k, m: _slope_of_log(k, m, x, a, b))
    return -g * (density / (1 - x) + z * ((a - 1) / x - b / (1 - x)))


def _slope_of_log(k, m, x, a, b):
    """The derivative of orders `k` in `a` and `m` in `b` of the logarithm of the density."""
    found = polygamma(a + b, k + m - 1)
    if k and m:
        return found
    found = found - polygamma(a if k else b, k + m - 1)
    return found + (log(x) if k else log1p(-x)) if k + m == 1 else found


beta_slope.defvjp(
    _of_place,
    lambda g, z, x, a, b, i, j: g * (beta_slope(x, a, b, i + 1, j) - z * (log(x) - digamma(a) + digamma(a + b))),
    lambda g, z, x, a, b, i, j: g * (beta_slope(x, a, b, i, j + 1) - z * (log1p(-x) - digamma(b) + digamma(a + b))))


@sampling(is_public=False, is_real=True, samples=(call(_STATE, of((2, 3), _SHAPE)), call(_STATE, of((0, 3), _SHAPE))),
          skips={"gradients": "a rejected proposal is a jump to differences; test_dirichlet.py checks the derivative"})
def random_dirichlet(state, a, /):
    r"""Rows of positive numbers whose sum is 1, with the density proportional to $\prod_i x_i^{a_i - 1}$.

    Each $x_i$ has a beta distribution of $a_i$ and the sum of the others. With $a_i$ it moves so that its rank stays as it
    is, by $(1 - x_i)\,s_i$ with $s$ = `beta_slope`, and the others keep their proportions (Figurnov, Mohamed and Mnih,
    "Implicit reparameterization gradients", 2018): $\bar a_i = s_i\,(\bar z_i - \sum_j z_j \bar z_j)$.
    """
    a = np.asarray(a)
    parts = standard_gamma(state, a.astype(np.float64))
    found = parts / np.maximum(parts.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
    return np.maximum(found, float(np.finfo(a.dtype).tiny) if a.dtype.kind == "f" else 1e-38).astype(a.dtype)


def _slope(g, z, a):
    rest = sum(a, -1, keepdims=True) - a
    return beta_slope(z, a, rest) * (g - sum(z * g, -1, keepdims=True))


random_dirichlet.defvjp(None, lambda g, a, z: _slope(g, z, a))
