"""Student's t distribution."""

from ...ops.elementary.exponential import exp, log, log1p
from .._distributions import betaln, integral, methods


def _logpdf(x, df, loc=0.0, scale=1.0):
    z, half = (x - loc) / scale, (df + 1) / 2
    return -betaln(0.5, df / 2) - 0.5 * log(df) - log(scale) - half * log1p(z * z / df)


_integral = integral("t", _logpdf)


def _cdf(x, df, loc=0.0, scale=1.0):
    return _integral((x - loc) / scale, df)


def _sf(x, df, loc=0.0, scale=1.0):
    return _integral((loc - x) / scale, df)


globals().update(methods(
    "t", logpdf=_logpdf, pdf=lambda *args, **kwargs: exp(_logpdf(*args, **kwargs)), cdf=_cdf,
    logcdf=lambda *args, **kwargs: log(_cdf(*args, **kwargs)), sf=_sf, logsf=lambda *args, **kwargs: log(_sf(*args, **kwargs))))
