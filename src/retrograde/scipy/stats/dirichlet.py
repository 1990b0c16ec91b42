"""Dirichlet's distribution."""

from ...ops.axes.reductions import sum
from ...ops.elementary.exponential import exp
from ...ops.manipulation.joins import concatenate
from ...ops.manipulation.movements import expand_dims
from ...ops.special.entropies import xlogy
from ...tensor.counterparts.operands import stacked
from .._distributions import gammaln, methods


def _logpdf(x, alpha):
    x, alpha = stacked(x), stacked(alpha)
    if x.shape[0] + 1 == alpha.shape[0]:
        x = concatenate([x, expand_dims(1 - sum(x, 0), 0)], 0)
    powers = alpha - 1 if x.ndim == 1 else expand_dims(alpha - 1, -1)
    return sum(xlogy(powers, x), 0) + gammaln(sum(alpha)) - sum(gammaln(alpha))


globals().update(methods("dirichlet", logpdf=_logpdf, pdf=lambda x, alpha: exp(_logpdf(x, alpha))))
