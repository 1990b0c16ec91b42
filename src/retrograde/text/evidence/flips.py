"""Sign flips: what paired gains look like when nothing is better, since each gain might then as well be a loss."""

from functools import lru_cache

import numpy as np

from ...errors import ArgumentError

#: How many sign patterns are drawn. Where there are no more than that in all (12 items), each is taken once.
COUNT = 4096


@lru_cache(maxsize=4)
def patterns(units, seed=0):
    """Signs of shape (patterns, units), of float32: all patterns where these are few, else 4,096 that are drawn from `seed`."""
    if 2**units <= COUNT:
        bits = np.arange(2**units, dtype=np.uint32)[:, None] >> np.arange(units, dtype=np.uint32) & 1
    else:
        drawn = np.random.default_rng(seed).bytes(COUNT * -(-units // 8))
        bits = np.unpackbits(np.frombuffer(drawn, np.uint8).reshape(COUNT, -1), axis=1)[:, :units]
    signs = bits.astype(np.float32) * 2 - 1
    signs.flags.writeable = False
    return signs


def share(hits, count, units):
    """The probability that `hits` of `count` patterns stand for.

    Of drawn patterns what was observed counts as one more, so that the test keeps its level (Phipson and Smyth 2010, "Permutation
    p-values should never be zero").
    """
    return hits / count if 2**units <= COUNT else (hits + 1) / (count + 1)


def chance(gains, units=None, bound=0.0):
    """The probability of a mean of at least that of `gains` if each were as likely a loss: the paired sign-flip test.

    `gains` are differences of scores, one for each item; `units` names the item where some occur more than once: their gains are
    flipped together. Exact for up to 12 items, and where all gains have one size (then it is the sign test); else from 4,096
    seeded draws. 0 gains, as of ties, change nothing. Fisher 1935, "The Design of Experiments", section 21. Where the largest loss
    is known, as `bound`, the total counts with its `weight`.

    >>> round(chance([1, 1, 1, -1, 0]), 6)
    0.3125
    """
    gains = summed(np.asarray(gains, float), units)
    gains = gains[gains != 0]
    if not gains.size:
        return 1.0
    part = weight(gains, bound)
    if part == 1 and np.ptp(np.abs(gains)) == 0:
        return _sign_test(int((gains > 0).sum()), gains.size)
    gains = gains / np.abs(gains).max()
    totals = patterns(gains.size) @ gains.astype(np.float32)
    return share(int((totals >= part * gains.sum() - tolerance(gains.size)).sum()), totals.size, gains.size)


def weight(gains, bound):
    """What part of a total gain counts, at most 1, when no loss is larger than `bound`; all of it where that is 0.

    Signs are flipped as if a loss were as likely as a gain of its size. Gains of which most are small, while one loss could undo
    many of them, are no such evidence: that few losses were seen, or none, may be chance. What they are worth is told by the most
    that a bet on a mean above 0 would have won, whose stake the largest loss bounds: its logarithm is the empirical likelihood
    ratio, of which the signed root is normal in both directions (Owen 2001, "Empirical Likelihood"; as bets Waudby-Smith and Ramdas
    2024, Journal of the Royal Statistical Society B 86). Gains and losses of one size, those of right and wrong answers, keep their
    weight.

    >>> weight(np.array([1.0, 1.0, -1.0, 1.0, 1.0]), 1.0), round(weight(np.full(40, 0.05), 1.0), 2)
    (1.0, 0.31)
    """
    total, size = gains.sum(), np.sqrt((gains**2).sum())
    if not bound or total <= 0:
        return 1.0
    # The last of these is the best one where all gains and losses have one size, and near it where the mean is small.
    stakes = np.minimum([*np.linspace(0, 1, 66)[1:-1], bound * total / size**2], 1 - 1e-6) / bound
    won = np.log1p(np.outer(stakes, gains)).sum(1).max()
    return float(min(1.0, np.sqrt(2 * max(won, 0.0)) * size / total))


def largest_loss(before, after):
    """The largest loss that an item may have: 1 where all scores lie between 0 and 1, else the range of those seen."""
    scores = np.concatenate([before.ravel(), after.ravel()])
    scores = scores[~np.isnan(scores)]
    if not scores.size or (scores.min() >= 0 and scores.max() <= 1):
        return 1.0
    return float(np.ptp(scores))


def summed(gains, units=None):
    """The gains of items that occur more than once, added up; `units` holds a number from 0 up for each gain."""
    if units is None:
        return gains
    if len(units) != len(gains):
        raise ArgumentError(f"units must name the item of each gain, got {len(units)} for {len(gains)} gains")
    return np.bincount(units, weights=gains)


def tolerance(count):
    """How far two sums of `count` float32 numbers of at most 1 may lie apart and count as equal."""
    return 1e-6 * count


def _sign_test(wins, count):
    """The probability of at least `wins` heads of `count` coins."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    k = np.arange(wins, count + 1)
    return float(min(1.0, np.exp(logs[count] - logs[k] - logs[count - k] - count * np.log(2)).sum()))
