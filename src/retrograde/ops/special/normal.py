"""The normal distribution: error functions scaled and inverted, probabilities, their logarithms and quantiles."""

import math

from .._families import elementwise
from .._native import by_element
from .._samples import uniform
from ..elementary.arithmetic import square
from ..elementary.comparisons import where
from ..elementary.exponential import exp
from . import _normal
from ._blocks import in_blocks

_SLOPE = 2 / math.sqrt(math.pi)


@elementwise(is_real=True, samples=uniform(-1, 3))
def erfcx(x, /):
    r"""$e^{x^2} \operatorname{erfc} x$, which does not underflow for large $x$.

    $z = e^{x^2} \operatorname{erfc} x \;\Rightarrow\; \bar x = \bar z\,(2 x z - \tfrac{2}{\sqrt\pi})$
    """
    return in_blocks({"float64": _normal.scaled_complement}, x)


@elementwise(is_real=True, faster=by_element, samples=uniform(-0.9, 0.9))
def erfinv(x, /):
    r"""The inverse of `erf`: infinite at -1 and 1, NaN outside.

    $x = \operatorname{erf} z \;\Rightarrow\; \bar x = \bar z\, \tfrac{\sqrt\pi}{2}\, e^{z^2}$
    """
    return in_blocks({"float64": _normal.inverse_error_function}, x)


@elementwise(is_real=True, samples=uniform(0.1, 1.9))
def erfcinv(x, /):
    r"""The inverse of `erfc`: infinite at 0, minus infinity at 2, NaN outside.

    $x = \operatorname{erfc} z \;\Rightarrow\; \bar x = -\bar z\, \tfrac{\sqrt\pi}{2}\, e^{z^2}$
    """
    return in_blocks({"float64": _normal.inverse_complement}, x)


#: From here on the two parts of the derivative of `erfcx` would cancel, and a few terms of its expansion are it (DLMF 7.12.1).
_FAR, _TERMS = 20.0, 10


def _erfcx_slope(x, z):
    inverse = 0.5 / square(where(x > _FAR, x, _FAR))
    series = 0.0
    for n in range(_TERMS, 0, -1):
        series = -(2 * n - 1) * inverse * (1 + series)
    return where(x > _FAR, _SLOPE * series, 2 * where(x > _FAR, 0, x) * z - _SLOPE)


erfcx.defvjp(lambda g, x, z: g * _erfcx_slope(x, z))
erfinv.defvjp(lambda g, z: g * (exp(square(z)) / _SLOPE))
erfcinv.defvjp(lambda g, z: -g * (exp(square(z)) / _SLOPE))


@elementwise(is_real=True)
def ndtr(x, /):
    r"""$\Phi(x) = \tfrac12 \operatorname{erfc}(-x / \sqrt 2)$, the probability that a standard normal number is below `x`.

    $z = \Phi(x) \;\Rightarrow\; \bar x = \bar z\, e^{-x^2 / 2} / \sqrt{2 \pi}$
    """
    return in_blocks({"float64": _normal.normal_distribution}, x)


@elementwise(is_real=True)
def log_ndtr(x, /):
    r"""$\ln \Phi(x)$, finite for very negative `x` too.

    $z = \ln \Phi(x) \;\Rightarrow\; \bar x = \bar z\, \sqrt{2 / \pi} \,/ \operatorname{erfcx}(-x / \sqrt 2)$
    """
    return in_blocks({"float64": _normal.log_normal_distribution}, x)


@elementwise(is_real=True, samples=uniform(0.05, 0.95))
def ndtri(x, /):
    r"""The inverse of `ndtr`, the quantile of the standard normal distribution: infinite at 1, minus infinity at 0.

    $x = \Phi(z) \;\Rightarrow\; \bar x = \bar z\, \sqrt{2 \pi}\, e^{z^2 / 2}$
    """
    return in_blocks({"float64": _normal.normal_quantile}, x)


ndtr.defvjp(lambda g, x: g * (exp(-0.5 * square(x)) / math.sqrt(2 * math.pi)))
ndtri.defvjp(lambda g, z: g * (math.sqrt(2 * math.pi) * exp(0.5 * square(z))))


def _log_slope(x):
    """The density over the probability. Below 0 both vanish, and above `erfcx` overflows."""
    below = math.sqrt(2 / math.pi) / erfcx(where(x < 0, x, 0) * -math.sqrt(0.5))
    above = where(x < 0, 0, x)
    return where(x < 0, below, exp(-0.5 * square(above)) / (math.sqrt(2 * math.pi) * ndtr(above)))


log_ndtr.defvjp(lambda g, x: g * _log_slope(x))
