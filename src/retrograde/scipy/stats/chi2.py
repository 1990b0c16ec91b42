"""The chi-squared distribution: the gamma distribution of shape df / 2 and scale 2."""

from .._distributions import methods
from . import gamma as _gamma


def _of_gamma(name):
    return lambda x, df, loc=0.0, scale=1.0: getattr(_gamma, name)(x, df / 2, loc, scale * 2)


globals().update(methods("chi2", logpdf=_of_gamma("logpdf"), pdf=_of_gamma("pdf"), cdf=_of_gamma("cdf"), sf=_of_gamma("sf")))
