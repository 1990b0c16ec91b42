"""Gamma and Dirichlet distributed numbers, with the derivatives that leave their ranks as they are.

The method is Marsaglia and Tsang's, in rounds: who is rejected in one proposes again in the next.
"""

import numpy as np

from ...dtypes import float64, is_float
from .._families import elementwise, sampling
from .._native import by_element
from .._samples import call, of, uniform
from ..axes.reductions import sum
from ..elementary.conversions import as_floats
from ..elementary.exponential import log, log1p
from ..special.incomplete import gamma_density, gammainc_slope
from ..special.log_gamma import digamma, polygamma
from . import _beta_slope, _dirichlet, _gamma_slope
from ._streams import NORMAL, UNIFORM, numbers_alone

# Each round rejects at most one proposal in twenty, so that the chance to be left after the last one is below 1e-20.
_ROUNDS = 16
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


@elementwise(is_public=False, is_real=True, faster=by_element, samples=(
    call(of((2, 3), _PLACE), of((3,), _SHAPE), of((2, 3), _SHAPE)), call(of((), _PLACE), of((2,), _SHAPE), of((2,), _SHAPE))))
def first_beta_slope(x, a, b, /):
    r"""`beta_slope` of the orders 1 and 0: how a beta variable moves with $a$ while its rank stays, over $1 - x$."""
    dtype = np.result_type(x, a, b)
    found = _beta_slope.slope(*[np.asarray(part, np.float64) for part in (x, a, b)])
    return found.astype(dtype if is_float(dtype) else np.float64)


first_beta_slope.defvjp(
    lambda g, z, x, a, b: _of_place(g, z, x, a, b, 1, 0),
    lambda g, z, x, a, b: g * (beta_slope(x, a, b, 2, 0) - z * (log(x) - digamma(a) + digamma(a + b))),
    lambda g, z, x, a, b: g * (beta_slope(x, a, b, 1, 1) - z * (log1p(-x) - digamma(b) + digamma(a + b))))


@elementwise(is_public=False, is_real=True, faster=by_element, samples=(
    call(of((2, 3), _SHAPE), of((3,), _SHAPE)), call(of((), _SHAPE), of((2,), _SHAPE)), call(of((0, 3), _SHAPE), of((3,), _SHAPE))))
def gamma_slope(a, x, /):
    r"""$z = -\frac{\partial P / \partial a}{\partial P / \partial x}$ of $P(a, x)$, `gammainc`: how a gamma variable moves with its
    shape while its rank stays.

    With the density $p$, $\partial_a \ln p = \ln x - \psi(a)$ and $\partial_x \ln p = \tfrac{a - 1}{x} - 1$, so that
    $\bar a = -\bar z\,(\tfrac{\partial^2_a P}{p} + z\,(\ln x - \psi(a)))$ and
    $\bar x = -\bar z\,(\ln x - \psi(a) + z\,(\tfrac{a - 1}{x} - 1))$.
    """
    dtype = np.result_type(a, x)
    found = _gamma_slope.slope(np.asarray(a, np.float64), np.asarray(x, np.float64))
    return found.astype(dtype if is_float(dtype) else np.float64)


gamma_slope.defvjp(
    lambda g, z, a, x: -g * (gammainc_slope(a, x, 2) / gamma_density(a, x) + z * (log(x) - digamma(a))),
    lambda g, z, a, x: -g * (log(x) - digamma(a) + z * ((a - 1) / x - 1)))


@sampling(is_public=False, is_real=True,
    samples=(call(_STATE, of((2, 3), _SHAPE)), call(_STATE, of((), _SHAPE)), call(_STATE, of((0, 3), _SHAPE))),
    skips={"gradients": "a rejected proposal is a jump to differences; test_incomplete.py checks the derivative"})
def random_gamma(state, a, /):
    r"""Gamma distributed numbers of shape `a` and scale 1, by the method of Marsaglia and Tsang (2000).

    The derivative is that of the number whose rank $P(a, z)$ stays as it is (Figurnov, Mohamed and Mnih, "Implicit
    reparameterization gradients", 2018): $dP = 0$, so $\bar a = \bar z\, s$ with $s$ = `gamma_slope`.
    """
    return standard_gamma(state, *as_floats(np.asarray(a)))


random_gamma.defvjp(None, lambda g, a, z: g * gamma_slope(a, z))


@sampling(is_public=False, is_real=True, samples=(call(_STATE, of((2, 3), _SHAPE)), call(_STATE, of((0, 3), _SHAPE))),
          skips={"gradients": "a rejected proposal is a jump to differences; test_dirichlet.py checks the derivative"})
def random_dirichlet(state, a, /):
    r"""Rows of positive numbers whose sum is 1, with the density proportional to $\prod_i x_i^{a_i - 1}$.

    Each $x_i$ has a beta distribution of $a_i$ and the sum of the others. With $a_i$ it moves so that its rank stays as it
    is, by $(1 - x_i)\,s_i$ with $s$ = `first_beta_slope`, and the others keep their proportions (Figurnov, Mohamed and Mnih,
    "Implicit reparameterization gradients", 2018): $\bar a_i = s_i\,(\bar z_i - \sum_j z_j \bar z_j)$.
    """
    (a,) = as_floats(np.asarray(a))
    parts = standard_gamma(state, a.astype(np.float64))
    found = parts / np.maximum(parts.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
    return np.maximum(found, float(np.finfo(a.dtype).tiny) if a.dtype.kind == "f" else 1e-38).astype(a.dtype)


def _slope(g, z, a):
    rest = sum(a, -1, keepdims=True) - a
    return first_beta_slope(z, a, rest) * (g - sum(z * g, -1, keepdims=True))


random_dirichlet.defvjp(None, lambda g, a, z: _slope(g, z, a))


def words_of_gamma(count):
    """How many words of a stream `count` gamma distributed numbers are made of."""
    return 4 * (_ROUNDS * 2 * _blocks(count) + _blocks(count))


def _blocks(count):
    """The blocks of four words from which `count` numbers of float64 are made: two words each."""
    return -(-(count + count % 2) // 2)


def standard_gamma(state, a):
    """A number for each shape in the array `a`, of its dtype; NaN where the shape is not positive."""
    shape = a.reshape(-1).astype(float64)
    # A shape below 1 is reached from the next one.
    result = _from_one_up(state, shape + (shape < 1))
    is_small = np.flatnonzero(shape < 1)
    with np.errstate(all="ignore"):
        if is_small.size:
            chance = _drawn(UNIFORM, state, 2 * _ROUNDS * _blocks(shape.size), shape.size)[is_small]
            result[is_small] *= (1 - chance) ** (1 / shape[is_small])
        result = np.where(shape > 0, result, np.nan).astype(a.dtype)
    # No number is 0: logarithms and quotients of samples are finite.
    return np.maximum(result, _least(a.dtype)).reshape(a.shape)


def _least(dtype):
    return np.finfo(dtype).tiny if dtype.kind == "f" else np.asarray(1e-38, dtype)


def _from_one_up(state, shape):
    step, offset = _blocks(shape.size), shape - 1 / 3
    result, waiting = offset.copy(), np.arange(shape.size)
    for number in range(_ROUNDS):
        d = offset[waiting]
        normal = _drawn(NORMAL, state, 2 * number * step, d.size)
        chance = 1 - _drawn(UNIFORM, state, (2 * number + 1) * step, d.size)
        with np.errstate(all="ignore"):
            root = 1 + normal / np.sqrt(9 * d)
            cube, square = root * root * root, normal * normal
            # Most are below this bound, which lies below the exact one (Marsaglia and Tsang, 2000); logarithms are for the others.
            is_taken = (cube > 0) & (chance < 1 - 0.0331 * square * square)
            rest = np.flatnonzero(~is_taken & (cube > 0))
            of_rest = d[rest] * (1 - cube[rest] + np.log(cube[rest]))
            is_taken[rest] = np.log(chance[rest]) < square[rest] / 2 + of_rest
        result[waiting[is_taken]] = (d * cube)[is_taken]
        waiting = waiting[~is_taken]
        if not waiting.size:
            break
    return result


def _drawn(kinds, state, skip, count):
    """Numbers of float64 from the state's stream, so many blocks further on."""
    key, block = state
    return numbers_alone(kinds[float64], int(key), int(block) + skip, count)
