"""The gamma function's logarithm and its derivatives of any order, and what is made of them."""

import math
import operator

from ...errors import ArgumentError
from .._families import composite, elementwise
from .._native import by_element
from .._samples import call, of, uniform
from ..elementary.comparisons import where
from ..elementary.conversions import as_floats
from ..elementary.exponential import log, log1p
from . import _log_gamma
from ._blocks import in_blocks

_DOMAIN = uniform(0.3, 5)
# Between two poles.
_BETWEEN = uniform(-2.6, -2.4)


@elementwise(is_real=True, faster=by_element, aliases=("gammaln",), samples=_DOMAIN)
def lgamma(x, /):
    r"""$\ln |\Gamma(x)|$, the logarithm of the factorial of $x - 1$.

    $z = \ln |\Gamma(x)| \;\Rightarrow\; \bar x = \bar z\, \psi(x)$, where $\psi$ is `digamma`.

    >>> rg.lgamma(rg.tensor([1.0, 5.0]))
    tensor([0.       , 3.1780539])
    """
    return in_blocks({"float64": _log_gamma.log_gamma}, x)


@elementwise(is_real=True, faster=by_element, aliases=("psi",), samples=_DOMAIN)
def digamma(x, /):
    r"""$\psi(x)$, the derivative of $\ln \Gamma(x)$; NaN at the negative integers.

    $z = \psi(x) \;\Rightarrow\; \bar x = \bar z\, \psi'(x)$, where $\psi'$ is `polygamma` of order 1.
    """
    return in_blocks({"float64": _log_gamma.digamma}, x)


@elementwise(is_real=True, samples=(call(of((2, 3), _DOMAIN), 1), call(of((3,), _DOMAIN), n=2),
                      call(of((2, 2), _BETWEEN), n=1), call(of((), _DOMAIN), n=0)))
def polygamma(x, /, n=1):
    r"""Derivative `n` of `digamma` at `x`; `n` is an integer of at least 0.

    $z = \psi^{(n)}(x) \;\Rightarrow\; \bar x = \bar z\, \psi^{(n + 1)}(x)$
    """
    try:
        n = operator.index(n)
    except TypeError:
        raise ArgumentError(f"polygamma(x, n) needs an integer n, got {n!r}") from None
    if n < 0:
        raise ArgumentError(f"polygamma needs an n of at least 0, got {n}")
    return in_blocks({"float64": _log_gamma.digamma if n == 0 else lambda x: _log_gamma.polygamma(n, x)}, x)


lgamma.defvjp(lambda g, x: g * digamma(x))
digamma.defvjp(lambda g, x: g * polygamma(x, 1))
polygamma.defvjp(lambda g, x, n: g * polygamma(x, n + 1))


@composite(is_real=True, samples=(call(of((3,), uniform(2, 5)), p=3), call(of((), uniform(2, 5)), p=1)))
def multigammaln(x, /, p):
    r"""Logarithm of the multivariate gamma function of dimension `p`, for $x > (p - 1) / 2$.

    $z = \tfrac{p (p - 1)}{4} \ln \pi + \sum_{i < p} \ln \Gamma(x - \tfrac i2)$, whose derivative is the sum of `digamma` at
    the same places.
    """
    return sum((lgamma(x - i / 2) for i in range(p)), p * (p - 1) / 4 * math.log(math.pi))


@composite(is_real=True, samples=(call(of((2, 3), _DOMAIN), of((3,), _DOMAIN)), call(of((), _DOMAIN), of((2,), _DOMAIN))))
def betaln(x, y, /):
    r"""$\ln |B(x, y)| = \ln |\Gamma(x)| + \ln |\Gamma(y)| - \ln |\Gamma(x + y)|$, the logarithm of the beta function.

    The derivative in $x$ is $\psi(x) - \psi(x + y)$, and likewise in $y$. Where the greater one, $b$, is so great that logarithms
    would cancel, $\ln \Gamma(b) - \ln \Gamma(a + b)$ comes from Stirling's series (DiDonato and Morris, ACM TOMS 708, 1992).
    """
    x, y = as_floats(x, y)
    is_first = x >= y
    a, b = where(is_first, y, x), where(is_first, x, y)
    is_great = (b >= _GREAT) & (a > 0)
    of_great = lgamma(a) - _rise(where(is_great, a, 1), where(is_great, b, _GREAT))
    return where(is_great, of_great, lgamma(x) + lgamma(y) - lgamma(x + y))


#: From here on Stirling's series gives the gamma function to rounding by its first terms.
_GREAT = 16


def _rise(a, b):
    """The logarithm of Gamma(a + b) over that of Gamma(b)."""
    return (a + b - 0.5) * log1p(a / b) + a * (log(b) - 1) + stirling(1 / (a + b)) - stirling(1 / b)


def stirling(r):
    """What the logarithm of the gamma function of 1 / r is above the greatest terms of Stirling's series (DLMF 5.11.1)."""
    square = r * r
    return r * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
