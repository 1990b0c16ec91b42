"""The gamma and beta functions themselves, by their logarithms, and the incomplete beta function."""

import numpy as np

from ..extras import optional
from ._families import composite, elementwise
from ._samples import call, of, uniform
from .arithmetic import power
from .comparisons import where
from .exponential import exp
from .gamma import betaln, lgamma
from .rounding import floor

_DOMAIN = uniform(0.3, 5)
_BETWEEN = uniform(-2.6, -2.4)


def _signed(value, x):
    """`value` with the sign of the gamma function at `x`, which changes at every pole."""
    return where((x > 0) | (floor(x) % 2 == 0), value, -value)


@composite(is_real=True, samples=(call(of((2, 3), _DOMAIN)), call(of((3,), _BETWEEN)), call(of((), _DOMAIN))))
def gamma(x, /):
    r"""$\Gamma(x)$, the factorial of $x - 1$.

    $z = \pm e^{\ln |\Gamma(x)|} \;\Rightarrow\; \bar x = \bar z\, z\, \psi(x)$, with `lgamma` and its derivative `digamma`.

    >>> rg.gamma(rg.tensor([1.0, 5.0])).round()
    tensor([ 1., 24.])
    """
    return _signed(exp(lgamma(x)), x)


@composite(is_real=True, samples=(call(of((2, 3), _DOMAIN)), call(of((3,), _BETWEEN))))
def rgamma(x, /):
    r"""$1 / \Gamma(x)$, which is 0 at the poles of $\Gamma$.

    $z = \pm e^{-\ln |\Gamma(x)|} \;\Rightarrow\; \bar x = -\bar z\, z\, \psi(x)$
    """
    return _signed(exp(-lgamma(x)), x)


@composite(is_real=True, samples=(call(of((2, 3), _DOMAIN), of((3,), _DOMAIN)), call(of((), _DOMAIN), of((2,), _DOMAIN))))
def beta(x, y, /):
    r"""$B(x, y) = \Gamma(x)\,\Gamma(y) / \Gamma(x + y)$.

    The derivative in $x$ is $B\,(\psi(x) - \psi(x + y))$, and likewise in $y$.
    """
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
    return (power(x, a - 1) * power(1 - x, b - 1) * exp(-betaln(a, b))).astype(x.dtype)


regularized_beta.defvjp(lambda g, x, a, b: g * _density(x, a, b))
