"""Special functions by the names of PyTorch, in its order of arguments; most are ops of the package under the same name."""

from .ops.axes.reductions import logsumexp
from .ops.elementary.exponential import exp2, expm1, log1p
from .ops.elementary.rounding import round  # noqa: A004 - PyTorch's name
from .ops.elementary.trigonometric import sinc
from .ops.networks.activation import log_softmax, softmax
from .ops.networks.activation import sigmoid as expit
from .ops.special.bessel import bessel_j, bessel_y, i0, i0e, i1, i1e
from .ops.special.entropies import entr, logit, xlog1py, xlogy
from .ops.special.error_function import erf, erfc
from .ops.special.incomplete import gammainc, gammaincc
from .ops.special.log_gamma import digamma, multigammaln
from .ops.special.log_gamma import lgamma as gammaln
from .ops.special.log_gamma import polygamma as _polygamma
from .ops.special.normal import erfcx, erfinv, log_ndtr, ndtr, ndtri

__all__ = [
    "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit",
    "expm1", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp",
    "modified_bessel_i0", "modified_bessel_i1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc", "softmax",
    "xlog1py", "xlogy",
]
psi, modified_bessel_i0, modified_bessel_i1 = digamma, i0, i1


def polygamma(n, x, /):
    """The `n`-th derivative of `digamma`.

    >>> rg.special.polygamma(1, rg.tensor(1.0))
    tensor(1.644934)
    """
    return _polygamma(x, n)


def bessel_j0(x, /):
    """Bessel's function of the first kind of order 0. Needs the extra `scipy`."""
    return bessel_j(x, 0)


def bessel_j1(x, /):
    """Bessel's function of the first kind of order 1. Needs the extra `scipy`."""
    return bessel_j(x, 1)


def bessel_y0(x, /):
    """Bessel's function of the second kind of order 0. Needs the extra `scipy`."""
    return bessel_y(x, 0)


def bessel_y1(x, /):
    """Bessel's function of the second kind of order 1. Needs the extra `scipy`."""
    return bessel_y(x, 1)
