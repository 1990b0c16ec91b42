"""The gamma function's logarithm and its derivatives with the numbers of SciPy, whose compiled loops are at hand here."""

import math

from ..core.op import Op, publish
from ..extras import optional
from ..ops._arrays import arrays
from ..ops.special import log_gamma

special = optional("scipy.special", "scipy")


def gammaln(x, /):
    r"""$\ln |\Gamma(x)|$; its derivative is `psi`."""
    return special.gammaln(x)


def psi(x, /):
    r"""$\psi(x)$, the derivative of $\ln \Gamma(x)$; its own is `polygamma` of order 1."""
    return special.psi(x)


def polygamma(x, /, n=1):
    r"""Derivative `n` of `psi`; its own is that of order `n` + 1."""
    return special.psi(x) if n == 0 else (-1.0) ** (n + 1) * math.factorial(n) * special.zeta(n + 1.0, x)


def _with_numbers_of(kernel, ours, rule):
    """An op like `ours` for whoever runs it, and `ours` itself for the compiler."""
    made = publish(Op(kernel, family="elementwise", algebra=arrays, broadcasts=True, expansion=ours))
    made.defvjp(rule)
    return made


#: By SciPy's names.
OPS = {
    "gammaln": _with_numbers_of(gammaln, log_gamma.lgamma, lambda g, x: g * OPS["psi"](x)),
    "psi": _with_numbers_of(psi, log_gamma.digamma, lambda g, x: g * OPS["polygamma"](x, 1)),
    "polygamma": _with_numbers_of(polygamma, log_gamma.polygamma, lambda g, x, n: g * OPS["polygamma"](x, n + 1)),
}
