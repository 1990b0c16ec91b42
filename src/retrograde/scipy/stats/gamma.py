"""The gamma distribution."""

from ...ops.elementary.comparisons import maximum, where
from ...ops.elementary.exponential import log
from ...ops.special.entropies import xlogy
from ...ops.special.incomplete import gamma_density, gammainc, gammaincc
from .._distributions import gammaln, methods


def _logpdf(x, a, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return where(z >= 0, xlogy(a - 1, z) - z - gammaln(a) - log(scale), -float("inf"))


def _pdf(x, a, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return where(z >= 0, gamma_density(a, maximum(z, 0.0)), 0.0) / scale


def _below(function):
    return lambda x, a, loc=0.0, scale=1.0: function(a, maximum((x - loc) / scale, 0.0))


globals().update(methods("gamma", logpdf=_logpdf, pdf=_pdf, cdf=_below(gammainc), sf=_below(gammaincc)))
