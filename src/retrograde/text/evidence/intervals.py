"""Intervals: how far a share, or a difference of paired scores, may lie from what was measured."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ...errors import ArgumentError, ShapeError

#: How many samples a bootstrap draws.
_DRAWS = 4000


class Interval(NamedTuple):
    """A measured value and the interval that holds the true one with the stated confidence.

    >>> print(Interval(0.9, 0.81, 0.95))
    0.900 [0.810, 0.950]
    """

    value: float
    low: float
    high: float

    def __str__(self):
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def wilson(hits, count, confidence=0.95):
    """Wilson's interval of a share of `hits` in `count` (Wilson 1927, J. Am. Stat. Assoc. 22); right near 0 and 1 too.

    >>> print(wilson(27, 30))
    0.900 [0.744, 0.965]
    """
    if not 0 <= hits <= count or count < 1:
        raise ArgumentError(f"a share needs at least one item, and hits between 0 and their number, got {hits} of {count}")
    z, share = _quantile(confidence), hits / count
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return Interval(share, max(0.0, float(centre - half)), min(1.0, float(centre + half)))


def bootstrap(scores, confidence=0.95, seed=0):
    """The percentile interval of the mean of `scores` (Efron 1979, Annals of Statistics 7), from 4,000 seeded draws.

    >>> print(bootstrap([0.1, 0.2, 0.3, 0.4]))
    0.250 [0.150, 0.350]
    """
    scores = np.asarray(scores, float)
    if not scores.size:
        raise ArgumentError("an interval needs at least one score, got none")
    drawn = np.random.default_rng(seed).integers(0, scores.size, (_DRAWS, scores.size))
    tail = (1 - _checked(confidence)) / 2
    low, high = np.quantile(scores[drawn].mean(1), [tail, 1 - tail])
    return Interval(float(scores.mean()), float(low), float(high))


def mean_interval(scores, confidence=0.95):
    """The interval of a mean score: Wilson's where all scores are 0 or 1, else a bootstrap's."""
    scores = np.asarray(scores, float)
    if scores.size and np.isin(scores, (0, 1)).all():
        return wilson(int(scores.sum()), scores.size, confidence)
    return bootstrap(scores, confidence)


def difference(before, after, confidence=0.95, seed=0):
    """The interval of the mean of after - before over the same items: a paired bootstrap.

    >>> difference([0, 0, 1, 1], [1, 1, 1, 1]).value
    0.5
    """
    if len(before) != len(after):
        raise ShapeError(f"a paired difference needs scores of the same items, got {len(before)} and {len(after)}")
    return bootstrap(np.asarray(after, float) - np.asarray(before, float), confidence, seed)


def _quantile(confidence):
    return NormalDist().inv_cdf(0.5 + _checked(confidence) / 2)


def _checked(confidence):
    if not 0 < confidence < 1:
        raise ArgumentError(f"a confidence must lie between 0 and 1, got {confidence}")
    return confidence
