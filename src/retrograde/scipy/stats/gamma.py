"""The gamma distribution."""

from ...ops.comparisons import maximum, where
from ...ops.exponential import exp, log
from ...ops.incomplete import gammainc
from ...ops.special import xlogy
from ...tensor.counterparts.operands import data_of
from .._distributions import gammaln, methods


def _logpdf(x, a, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return where(data_of(z) >= 0, xlogy(a - 1, z) - z - gammaln(a) - log(scale), -float("inf"))


def _cdf(x, a, loc=0.0, scale=1.0):
    return gammainc(a, maximum((x - loc) / scale, 0.0))


globals().update(methods("gamma", logpdf=_logpdf, pdf=lambda *args, **kwargs: exp(_logpdf(*args, **kwargs)), cdf=_cdf))
