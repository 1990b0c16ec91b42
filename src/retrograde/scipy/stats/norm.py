"""The normal distribution."""

import math

from ...ops.elementary.exponential import exp, log
from ...ops.special.normal import log_ndtr, ndtr
from .._distributions import methods

_HALF_LOG = 0.5 * math.log(2 * math.pi)


def _logpdf(x, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return -0.5 * (z * z) - (log(scale) + _HALF_LOG)


def _upside_down(function):
    return lambda x, loc=0.0, scale=1.0: function((loc - x) / scale)


def _standard(function):
    return lambda x, loc=0.0, scale=1.0: function((x - loc) / scale)


globals().update(methods(
    "norm", logpdf=_logpdf, pdf=lambda *args, **kwargs: exp(_logpdf(*args, **kwargs)), cdf=_standard(ndtr),
    logcdf=_standard(log_ndtr), sf=_upside_down(ndtr), logsf=_upside_down(log_ndtr)))
