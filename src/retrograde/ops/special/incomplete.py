"""The incomplete gamma functions."""

import numpy as np

from ...dtypes import is_float
from .._families import elementwise
from .._samples import call, of, uniform
from . import _incomplete

_ORDER, _PLACE = uniform(0.3, 5), uniform(0.2, 6)


@elementwise(is_real=True, samples=(_ORDER, _PLACE))
def gammainc(a, x, /):
    r"""$P(a, x) = \frac{1}{\Gamma(a)} \int_0^x t^{a - 1} e^{-t} dt$: the chance that a gamma variable of shape `a` is below `x`.

    $\bar x = \bar z\, x^{a - 1} e^{-x} / \Gamma(a)$, and $\bar a = \bar z\, \partial P / \partial a$: see `gammainc_slope`.

    >>> rg.gammainc(1.0, rg.tensor([0.0, 1.0]))
    tensor([0.       , 0.6321206])
    """
    return _computed(_incomplete.lower, 0, a, x)


@elementwise(is_real=True, samples=(_ORDER, _PLACE))
def gammaincc(a, x, /):
    r"""$Q(a, x) = 1 - P(a, x)$, the chance that a gamma variable of shape `a` is above `x`, to its own digits where it is tiny.

    The derivatives are those of `gammainc` with the other sign.
    """
    return _computed(_incomplete.upper, 0, a, x)


@elementwise(is_public=False, is_real=True, samples=(
    call(of((2, 3), _ORDER), of((3,), _PLACE)), call(of((), _ORDER), of((2,), _PLACE), n=2),
    call(of((0, 3), _ORDER), of((3,), _PLACE))))
def gammainc_slope(a, x, /, n=1):
    r"""Derivative `n` in `a` of $P(a, x)$, `gammainc`.

    $P = \sum_j e^{l_j}$ with $l_j = (a + j) \ln x - x - \ln \Gamma(a + j + 1)$, and $\partial^n_a e^l$ follows from
    $\partial_a l = \ln x - \psi(a + j + 1)$. Hence $\bar a = \bar z\, \partial^{n + 1}_a P$ and
    $\bar x = \bar z\, \partial^n_a\, p$ with the density $p$, `gamma_density`.
    """
    return _computed(_incomplete.lower, n, a, x)


@elementwise(is_public=False, is_real=True, samples=(
    call(of((2, 3), _ORDER), of((3,), _PLACE)), call(of((), _ORDER), of((2,), _PLACE), n=2),
    call(of((0, 3), _ORDER), of((3,), _PLACE))))
def gamma_density(a, x, /, n=0):
    r"""Derivative `n` in `a` of $p(a, x) = x^{a - 1} e^{-x} / \Gamma(a)$, the density of a gamma variable of shape `a`.

    $\bar a = \bar z\, \partial^{n + 1}_a p$ and $\bar x = \bar z\, ((\tfrac{a - 1}{x} - 1)\, \partial^n_a p +
    \tfrac{n}{x}\, \partial^{n - 1}_a p)$
    """
    return _computed(_incomplete.density, n, a, x)


def _density_slope(a, x, n):
    found = ((a - 1) / x - 1) * gamma_density(a, x, n)
    return found + n / x * gamma_density(a, x, n - 1) if n else found


def _computed(function, order, a, x):
    dtype = np.result_type(a, x)
    dtype = dtype if is_float(dtype) else np.dtype(np.float64)
    rounding = _incomplete.ROUNDING if dtype.itemsize > 4 else _ROUNDING_OF_FLOAT32
    return function(order, np.asarray(a, np.float64), np.asarray(x, np.float64), rounding).astype(dtype)


#: Some thousandth of what float32 and shorter types tell apart.
_ROUNDING_OF_FLOAT32 = 2.0**-34


gammainc.defvjp(lambda g, a, x: g * gammainc_slope(a, x, 1), lambda g, a, x: g * gamma_density(a, x))
gammaincc.defvjp(lambda g, a, x: -g * gammainc_slope(a, x, 1), lambda g, a, x: -g * gamma_density(a, x))
gammainc_slope.defvjp(lambda g, a, x, n: g * gammainc_slope(a, x, n + 1), lambda g, a, x, n: g * gamma_density(a, x, n))
gamma_density.defvjp(lambda g, a, x, n: g * gamma_density(a, x, n + 1), lambda g, a, x, n: g * _density_slope(a, x, n))
