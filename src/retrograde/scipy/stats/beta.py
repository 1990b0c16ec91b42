"""The beta distribution."""

from ...ops.elementary.comparisons import where
from ...ops.elementary.exponential import exp, log
from ...ops.special.entropies import xlog1py, xlogy
from .._distributions import betaln, integral, methods


def _logpdf(x, a, b, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    found = xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b) - log(scale)
    return where((z >= 0) & (z <= 1), found, -float("inf"))


_integral = integral("beta", _logpdf)

globals().update(methods(
    "beta", logpdf=_logpdf, pdf=lambda *args, **kwargs: exp(_logpdf(*args, **kwargs)),
    cdf=lambda x, a, b, loc=0.0, scale=1.0: _integral((x - loc) / scale, a, b)))
