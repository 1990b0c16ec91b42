"""Metrics that need more of a batch than sums: ranks of scores, and squares about a mean."""

import math

import numpy as np

from ...dtypes import float64
from ...errors import ArgumentError, ShapeError
from ...ops.axes.reductions import sum as total_of
from ...ops.networks.activation import softmax
from ...tensor.creation import asarray
from .base import Metric, check_scores


class AUC(Metric):
    """The area under the curve of true against false positives: how often a positive has a larger score than a negative.

    Of several classes the mean of each against the others, by softmax. All scores are kept until the end, so that it is exact.
    """

    name = "auc"

    def batch(self, outputs, targets):
        """The scores and the targets."""
        if outputs.ndim > 1 and outputs.shape[1:] != targets.shape[1:] and outputs.shape[1] == 2:
            outputs = outputs[:, 1] - outputs[:, 0]
        elif outputs.shape != targets.shape:
            check_scores(outputs, targets)
            outputs = softmax(outputs, axis=1)
        return outputs, targets

    def merge(self, total, more):
        """All scores and targets so far."""
        return tuple(np.concatenate(pair) for pair in zip(total, more, strict=True))

    def result(self, total):
        """The area; NaN if there are no positives, or no negatives."""
        scores, targets = total
        if scores.shape == targets.shape:
            if len(found := np.unique(targets)) > 2:
                raise ArgumentError(f"AUC is of classes: targets of the shape of the outputs must be 0 or 1, got {found[:5]} and "
                                    f"so on; for numbers there is R2")
            return _area(scores.reshape(-1), targets.reshape(-1) > 0)
        return float(np.mean([_area(scores[:, c], targets == c) for c in range(scores.shape[1])]))


class R2(Metric):
    """The part of the variance of the targets that the outputs explain; of several columns the mean."""

    name = "r2"

    def batch(self, outputs, targets):
        """By column: the count, the mean, the squares about it, and the squares of the errors."""
        if outputs.shape != targets.shape:
            raise ShapeError(f"R2 needs outputs of the shape of the targets, got {outputs.shape} and {targets.shape}")
        outputs, targets = (x.astype(float64).reshape(x.shape[0], -1) for x in (outputs, targets))
        mean = targets.mean(axis=0)
        squares, errors = (total_of(x * x, axis=0) for x in (targets - mean, targets - outputs))
        return asarray(targets.shape[0]), mean, squares, errors

    def merge(self, total, more):
        """Those of two parts together: Chan, Golub and LeVeque (1979), which loses no digits where the mean is large."""
        (n, mean, squares, errors), (m, other, more_squares, more_errors) = total, more
        change = other - mean
        return n + m, mean + change * (m / (n + m)), squares + more_squares + change**2 * (n * m / (n + m)), errors + more_errors

    def result(self, total):
        """The mean over columns; of one that is constant 1 if it is met, and else 0."""
        _, _, squares, errors = total
        each = 1 - np.divide(errors, squares, out=(errors > 0).astype(float), where=squares > 0)
        return each.mean()


def _area(scores, is_positive):
    """The statistic of Mann and Whitney: ranks, of which equal scores have the mean."""
    positives = int(is_positive.sum())
    negatives = len(scores) - positives
    if not positives or not negatives or np.isnan(scores).any():
        return math.nan
    _, where_it_is, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[where_it_is]
    return (ranks[is_positive].sum() - positives * (positives + 1) / 2) / (positives * negatives)
