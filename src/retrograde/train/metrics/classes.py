"""Metrics of classes that are found by scores. Targets that are their `ignore_index`, as padding is, do not count."""

import math

import numpy as np

from ...dtypes import bool_, float64, int64
from ...errors import ArgumentError
from ...nn.functional import cross_entropy
from ...ops.axes.reductions import max as largest
from ...ops.axes.reductions import sum as total_of
from ...ops.elementary.comparisons import where
from ...ops.elementary.rounding import ceil
from ...ops.networks.activation import sigmoid, softmax
from ...tensor.creation import arange
from .base import Metric, check_scores, ratio


class Accuracy(Metric):
    """The part of the targets that is recognised: the class with the largest score, or, for outputs of the shape of the targets,
    whether a score is above `threshold`.
    """

    name = "accuracy"

    def __init__(self, threshold=0.0, ignore_index=-100):
        self.threshold, self.ignore_index = threshold, ignore_index

    def batch(self, outputs, targets):
        """How many are right, and how many there are."""
        found, counts = _classes(outputs, targets, self.threshold), _counts(outputs, targets, self.ignore_index)
        return _of_classes(total_of((found == targets.astype(found.dtype)) & counts), outputs, targets), total_of(counts)

    def result(self, total):
        """The part that is right."""
        _check_classes(self, total[0])
        return ratio(*total)


class TopK(Metric):
    """The part of the targets that is among the `k` classes with the largest scores; of equal ones the first class counts first."""

    def __init__(self, k=5, ignore_index=-100):
        if type(k) is not int or k < 1:
            raise ArgumentError(f"k must be an integer of at least 1, got {k!r}")
        self.k, self.name, self.ignore_index = k, f"top_{k}", ignore_index

    def batch(self, outputs, targets):
        """How many are right, and how many there are."""
        check_scores(outputs, targets)
        classes, own = _axis(outputs), targets.reshape(targets.shape[0], 1, *targets.shape[1:])
        is_own = classes == own
        score = total_of(where(is_own, outputs, 0), axis=1, keepdims=True)
        # A score that is not a number is never among the largest, nor is a class that there is not.
        before = ~(outputs <= score) | ((outputs == score) & (classes < own))
        counts = _counts(outputs, targets, self.ignore_index)
        return total_of((total_of(before, axis=1) < self.k) & is_own.any(axis=1) & counts), total_of(counts)

    def result(self, total):
        """The part that is right."""
        return ratio(*total)


class F1(Metric):
    """The harmonic mean of precision and recall of each class: its mean over the classes that occur ("macro"), weighted by how
    often they do ("weighted"), or that of all together ("micro"). For outputs of the shape of the targets it is that of scores
    above `threshold`.
    """

    name = "f1"

    def __init__(self, average="macro", threshold=0.0, ignore_index=-100):
        if average not in ("macro", "micro", "weighted"):
            raise ArgumentError(f'average must be "macro", "micro" or "weighted", got {average!r}')
        self.average, self.threshold, self.ignore_index = average, threshold, ignore_index

    def batch(self, outputs, targets):
        """By class: how many are found rightly, how many are found, how many there are."""
        found = _classes(outputs, targets, self.threshold).astype(int64).reshape(-1, 1)
        numbers = arange(1, 2) if outputs.shape == targets.shape else arange(outputs.shape[1])
        is_found = (found == numbers) & _counts(outputs, targets, self.ignore_index).reshape(-1, 1)
        is_there = targets.astype(int64).reshape(-1, 1) == numbers
        right, *others = (total_of(x, axis=0) for x in (is_found & is_there, is_found, is_there))
        return _of_classes(right, outputs, targets), *others

    def result(self, total):
        """The mean."""
        right, found, there = total
        _check_classes(self, right)
        if self.average == "micro":
            return ratio(2 * right.sum(), found.sum() + there.sum())
        each = np.divide(2 * right, found + there, out=np.zeros(len(right)), where=found + there > 0)
        weights = (found + there > 0) if self.average == "macro" else there
        return ratio((each * weights).sum(), weights.sum())


class Calibration(Metric):
    """The expected calibration error: how far confidence and accuracy differ, in `bins` of confidence (Guo et al., 2017)."""

    name = "calibration_error"

    def __init__(self, bins=15, ignore_index=-100):
        if type(bins) is not int or bins < 1:
            raise ArgumentError(f"bins must be an integer of at least 1, got {bins!r}")
        self.bins, self.ignore_index = bins, ignore_index

    def batch(self, outputs, targets):
        """By bin: the count, the sum of the confidences, and how many are right."""
        if outputs.shape == targets.shape:
            positive = sigmoid(outputs.astype(float64))
            confidence = where(positive > 0.5, positive, 1 - positive)
        else:
            check_scores(outputs, targets)
            confidence = largest(softmax(outputs.astype(float64), axis=1), axis=1)
        found = _classes(outputs, targets, 0.0)
        is_right, confidence = (found == targets.astype(found.dtype)).reshape(-1, 1), confidence.reshape(-1, 1)
        # Bins are open below and closed above.
        is_in = where(confidence > 0, ceil(confidence * self.bins) - 1, 0) == arange(self.bins).astype(float64)
        is_in = is_in & _counts(outputs, targets, self.ignore_index).reshape(-1, 1)
        right = _of_classes(total_of(is_in & is_right, axis=0), outputs, targets)
        return total_of(is_in, axis=0), total_of(where(is_in, confidence, 0), axis=0), right

    def result(self, total):
        """The mean difference, weighted by counts."""
        count, confidence, right = total
        _check_classes(self, right)
        return ratio(np.abs(confidence - right).sum(), count.sum())


class Perplexity(Metric):
    """The exponential of the mean cross entropy of scores (N, classes, ...) for each target that is not `ignore_index`."""

    name = "perplexity"

    def __init__(self, ignore_index=-100):
        self.ignore_index = ignore_index

    def batch(self, outputs, targets):
        """The sum of the cross entropies, and their count."""
        check_scores(outputs, targets)
        loss = cross_entropy(outputs, targets, reduction="sum", ignore_index=self.ignore_index)
        return loss.astype(float64), total_of(targets != self.ignore_index)

    def result(self, total):
        """The perplexity."""
        mean = ratio(*total)
        return math.inf if mean > 709 else math.exp(mean)


def _classes(outputs, targets, threshold):
    """The classes that are found, in the shape of the targets."""
    if outputs.shape == targets.shape:
        return outputs > threshold
    check_scores(outputs, targets)
    return outputs.argmax(axis=1)


def _counts(outputs, targets, ignore_index):
    """Whether each target counts: those of the shape of the scores, 0 or 1, all do."""
    return (targets.astype(int64) != ignore_index) | (outputs.shape == targets.shape)


def _of_classes(count, outputs, targets):
    """A count of a batch; NaN if targets of the shape of the scores are not all 0 or 1, which a compiled step cannot raise."""
    if outputs.shape != targets.shape or targets.dtype == bool_:
        return count
    return where(((targets == 0) | (targets == 1)).all(), count.astype(float64), math.nan)


def _check_classes(metric, count):
    """Raise an ArgumentError if `_of_classes` found targets that are no classes."""
    if np.isnan(count).any():
        raise ArgumentError(f"{type(metric).__name__} is of classes: targets of the shape of the outputs must be 0 or 1, and "
                            f"others were found; for numbers there is R2")


def _axis(outputs):
    """The numbers of the classes, along axis 1."""
    return arange(outputs.shape[1]).reshape(1, -1, *[1] * (outputs.ndim - 2))
