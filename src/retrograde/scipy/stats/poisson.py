"""The Poisson distribution."""

import numpy as np

from ...ops.comparisons import where
from ...ops.exponential import exp
from ...ops.incomplete import gammaincc
from ...ops.special import xlogy
from ...tensor.counterparts.operands import constant
from .._distributions import gammaln, methods


def _logpmf(k, mu, loc=0):
    k = constant(k, "the count of a Poisson distribution") - loc
    return where((k >= 0) & (np.floor(k) == k), xlogy(k, mu) - mu - gammaln(k + 1.0), -float("inf"))


def _cdf(k, mu, loc=0):
    k = np.floor(constant(k, "the count of a Poisson distribution") - loc)
    return where(k >= 0, gammaincc(np.maximum(k, 0) + 1.0, mu), 0)


globals().update(methods("poisson", logpmf=_logpmf, pmf=lambda *args, **kwargs: exp(_logpmf(*args, **kwargs)), cdf=_cdf))
