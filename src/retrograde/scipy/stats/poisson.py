"""The Poisson distribution."""

import numpy as np

from ...ops.elementary.comparisons import where
from ...ops.special.entropies import xlogy
from ...ops.special.incomplete import gamma_density, gammainc, gammaincc
from ...tensor.counterparts.operands import constant
from .._distributions import gammaln, methods


def _logpmf(k, mu, loc=0):
    k = constant(k, "the count of a Poisson distribution") - loc
    return where((k >= 0) & (np.floor(k) == k), xlogy(k, mu) - mu - gammaln(k + 1.0), -float("inf"))


def _pmf(k, mu, loc=0):
    k = constant(k, "the count of a Poisson distribution") - loc
    is_count = (k >= 0) & (np.floor(k) == k)
    return where(is_count, gamma_density(np.where(is_count, k, 0) + 1.0, mu), 0.0)


def _chance(function, before):
    def of_count(k, mu, loc=0):
        k = np.floor(constant(k, "the count of a Poisson distribution") - loc)
        return where(k >= 0, function(np.maximum(k, 0) + 1.0, mu), before)

    return of_count


globals().update(methods("poisson", logpmf=_logpmf, pmf=_pmf, cdf=_chance(gammaincc, 0.0), sf=_chance(gammainc, 1.0)))
