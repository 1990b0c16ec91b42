"""The gamma and beta functions themselves, and the incomplete beta function."""

import numpy as np

from ...extras import optional
from .._families import composite, elementwise
from .._samples import call, of, uniform
from ..elementary.arithmetic import power
from ..elementary.comparisons import where
from ..elementary.conversions import as_floats
from ..elementary.exponential import exp, log, log1p
from ..elementary.rounding import floor
from . import _gamma
from ._blocks import in_blocks
from .entropies import log1pmx
from .log_gamma import betaln, digamma, stirling

_DOMAIN = uniform(0.3, 5)
_BETWEEN = uniform(-2.6, -2.4)
#: From here on Stirling's series gives the gamma function to rounding by its first terms.
_GREAT = 16.0


@elementwise(is_real=True, samples=(call(of((2, 3), _DOMAIN)), call(of((3,), _BETWEEN)), call(of((), _DOMAIN))))
def gamma(x, /):
    r"""$\Gamma(x)$, the factorial of $x - 1$; NaN at the negative integers.

    $z = \Gamma(x) \;\Rightarrow\; \bar x = \bar z\, z\, \psi(x)$ with `digamma`.

    >>> rg.gamma(rg.tensor([1.0, 5.0]))
    tensor([ 1., 24.])
    """
    return in_blocks({"float64": _gamma.gamma}, x)


@elementwise(is_real=True, samples=(call(of((2, 3), _DOMAIN)), call(of((3,), _BETWEEN))))
def rgamma(x, /):
    r"""$1 / \Gamma(x)$, which is 0 at the poles of $\Gamma$.

    $z = 1 / \Gamma(x) \;\Rightarrow\; \bar x = -\bar z\, z\, \psi(x)$
    """
    return in_blocks({"float64": _gamma.inverse_gamma}, x)


gamma.defvjp(lambda g, x, z: g * z * digamma(x))
rgamma.defvjp(lambda g, x, z: -g * z * digamma(x))


def _signed(value, x):
    """`value` with the sign of the gamma function at `x`, which changes at every pole."""
    return where((x > 0) | (floor(x) % 2 == 0), value, -value)


@composite(is_real=True, samples=(call(of((2, 3), _DOMAIN), of((3,), _DOMAIN)), call(of((), _DOMAIN), of((2,), _DOMAIN))))
def beta(x, y, /):
    r"""$B(x, y) = \Gamma(x)\,\Gamma(y) / \Gamma(x + y)$.

    The derivative in $x$ is $B\,(\psi(x) - \psi(x + y))$, and likewise in $y$.
    """
    x, y = as_floats(x, y)
    return _signed(_signed(_signed(exp(betaln(x, y)), x), y), x + y)


@elementwise(is_real=True, samples=(call(of((2, 3), uniform(0.1, 0.9)), 2.0, 3.0), call(of((), uniform(0.1, 0.9)), a=0.7, b=1.5),
                      call(of((2,), uniform(0.1, 0.9)), a=np.array([0.5, 4.0]), b=2.5)))
def regularized_beta(x, /, a, b):
    r"""$I_x(a, b) = \frac{1}{B(a, b)} \int_0^x t^{a - 1} (1 - t)^{b - 1} dt$, from SciPy; `a` and `b` are constants.

    $\bar x = \bar z\, x^{a - 1} (1 - x)^{b - 1} / B(a, b)$
    """
    x = np.asarray(x)
    found = optional("scipy.special", "scipy").betainc(a, b, x.astype(np.float64))
    return found.astype(x.dtype if x.dtype.kind == "f" else np.float64)


def _density(x, a, b):
    """By powers for small parameters. Those of great ones would not fit; where both are great, what is left near the mean does."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    is_a_great, is_b_great = a >= _GREAT, b >= _GREAT
    is_great, inside = is_a_great & is_b_great, where((x > 0) & (x < 1), x, 0.5)
    powers = power(x, np.where(is_a_great, 1, a) - 1) * power(1 - x, np.where(is_b_great, 1, b) - 1)
    above_zero, below_one = where(x > 0, x, 0.5), where(x < 1, x, 0.5)
    level = np.where(is_a_great, a - 1, 0) * log(above_zero) + np.where(is_b_great, b - 1, 0) * log1p(-below_one)
    found = powers * exp(where(is_great, _level_near_mean(inside, np.where(is_great, a, _GREAT), np.where(is_great, b, _GREAT)),
                               level - betaln(np.where(is_great, 1, a), np.where(is_great, 1, b))))
    is_nothing = (is_a_great & (x <= 0)) | (is_b_great & (x >= 1))
    return where((x < 0) | (x > 1), np.nan, where(is_nothing, 0, found)).astype(x.dtype)


def _level_near_mean(x, a, b):
    """The logarithm of the density for great `a` and `b`, from how far x is from the mean (DiDonato and Morris, 1992)."""
    both = a + b
    off = both * x - a
    level = 0.5 * np.log(a / both * b / (2 * np.pi)) + stirling(1 / both) - stirling(1 / a) - stirling(1 / b)
    return a * log1pmx(off / a) + b * log1pmx(-off / b) + level - log(x) - log1p(-x)


regularized_beta.defvjp(lambda g, x, a, b: g * _density(x, a, b))
