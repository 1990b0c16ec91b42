"""The normal distribution of vectors."""

import math

import numpy as np

from ...ops.axes.reductions import sum
from ...ops.elementary.exponential import exp
from ...ops.linalg.contractions import matmul
from ...ops.linalg.determinants import slogdet_pair
from ...ops.linalg.inverses import solve
from ...ops.linalg.matrices import diag
from ...ops.manipulation.movements import matrix_transpose
from ...tensor.counterparts.operands import constant, stacked
from .._distributions import methods

_LOG = math.log(2 * math.pi)


def _logpdf(x, mean=None, cov=1, allow_singular=False, **_):
    x, cov = stacked(x), stacked(cov)
    size = _size(mean, cov)
    off = x - (0 if mean is None else stacked(mean))
    off = off.reshape(*off.shape, 1) if size == 1 and (off.ndim == 0 or off.shape[-1] != 1) else off
    if allow_singular:
        return _singular(off, constant(_matrix(cov, size), "a singular covariance"))
    cov = _matrix(cov, size)
    distance = sum(off * (solve(cov, off) if off.ndim == 1 else matrix_transpose(solve(cov, matrix_transpose(off)))), -1)
    return -0.5 * (distance + slogdet_pair(cov)[1] + size * _LOG)


def _size(mean, cov):
    return int(np.size(mean)) if mean is not None and np.ndim(mean) else cov.shape[0] if cov.ndim else 1


def _matrix(cov, size):
    """The covariances, given as a matrix, as variances, or as one number."""
    if cov.ndim == 2:
        return cov
    return diag(cov) if cov.ndim == 1 and cov.shape[0] == size else cov.reshape(()) * np.eye(size)


def _singular(off, cov):
    values, vectors = np.linalg.eigh(cov)
    kept = values > values.max() * cov.shape[0] * np.finfo(cov.dtype).eps
    within = matmul(off, vectors[:, kept] / np.sqrt(values[kept]))
    return -0.5 * (sum(within * within, -1) + np.log(values[kept]).sum() + kept.sum() * _LOG)


def _entropy(mean=None, cov=1):
    cov = stacked(cov)
    size = _size(mean, cov)
    return 0.5 * (slogdet_pair(_matrix(cov, size))[1] + size * (1 + _LOG))


globals().update(methods(
    "multivariate_normal", logpdf=_logpdf, pdf=lambda *args, **kwargs: exp(_logpdf(*args, **kwargs)), entropy=_entropy))
