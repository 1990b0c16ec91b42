"""The gate: whether a candidate is better than what there is, by more than chance, over all that a run looks at."""

from typing import NamedTuple

import numpy as np

from ...errors import ArgumentError, CheckpointError, ShapeError
from .flips import chance, largest_loss, patterns, share, summed, weight


class Decision(NamedTuple):
    """What the gate found.

    before, after  mean scores of what there was and of the candidate, over the items that both have answers to
    p              the probability of such a gain by chance, corrected for the candidates that it was chosen from
    level          the probability of a false acceptance that the gate allowed this decision; it accepts where p is at most that
    winner         which candidate was tested
    won, lost      places of the items on which its score is higher, and lower
    """

    is_accepted: bool
    before: float
    after: float
    p: float
    level: float = 1.0
    winner: int = 0
    won: tuple = ()
    lost: tuple = ()

    def __str__(self):
        p = f"p = {self.p:.3f}" if self.p >= 0.0005 else "p < 0.001"
        allowed = f"at most {self.level:.3g} allowed" if self.level < 1 else "no test was asked for"
        counts = f"{len(self.won)} won, {len(self.lost)} lost"
        if self.is_accepted:
            return f"better on the validation items: {counts}, {p}, {allowed}"
        if self.after < self.before:
            return f"worse on the validation items: {counts}"
        return f"not better than by chance: {counts}, {p}, {allowed}"


def compare(before, after, level=0.05):
    """Whether scores `after`, one for each item, are better than those `before` by more than chance: one comparison, by itself.

    A candidate passes if its mean is higher, and a gain as large would come by chance with a probability of at most `level`.
    Level 1 passes everything that is not worse, ties included. For a run that compares again and again there is `Gate`.

    >>> compare([0, 0, 0, 0, 1], [1, 1, 1, 1, 1], level=0.1).is_accepted
    True
    """
    if len(before) != len(after) or not len(before):
        raise ShapeError(f"the gate compares scores of the same items, got {len(before)} and {len(after)}")
    check_level(level)
    before, after = numbers(before), numbers(after)
    gains = _gains(before, after)
    p = chance(gains, bound=largest_loss(before, after))
    return _decision(before, after, gains, p, level, 0, _passes(gains, p, level))


class Gate:
    """Decides on the candidates of a run, one step after another, so that it is rarely wrong over all of them together.

    level  the probability that a run in which nothing is better accepts anything, whatever it has looked at
    steps  over how many steps the level is spread, evenly; a fiftieth of it is kept for those that may follow
    seed   of the draws of the test

    It is a permutation test by sign flips. A step hands over the scores of all its candidates and how they were thinned out
    (`rungs`); the choice is repeated under each pattern of signs, so that what counts is how large the gain of *a winner* is when
    nothing is better (the max-statistic of Westfall and Young 1993, "Resampling-Based Multiple Testing", studentised; for means of
    many candidates: Chernozhukov, Chetverikov and Kato 2013, Annals of Statistics 41). Each step has its own part of the level,
    which is known beforehand (Bonferroni's inequality, with the spending of Lan and DeMets 1983, Biometrika 70): the parts add up
    to no more than the level, however the scores of the steps depend on one another. What a step could not use is lost. To hand
    it on to the next would be wrong, since all steps share the scores of what there is: where these are low by chance, few items
    differ, and all that differ are gains.

    A flip takes a loss to be as likely as a gain of its size, which follows from equal accuracies where scores are 0 or 1. Of
    others a candidate may gain a little on most items and lose much on few, so many of its gains count for less: see
    `flips.weight`.

    It holds for any proposals that know of the validation items no more than what the gate decided: as long as everything is
    rejected, these are fixed beforehand. Proposals that see scores of validation items, item by item, void it.

    >>> gate = Gate(steps=1)
    >>> print(gate.decide([0] * 8, [1] * 8))
    better on the validation items: 8 won, 0 lost, p = 0.004, at most 0.049 allowed
    """

    #: The share of the level that steps after the last planned one have among them.
    RESERVE = 0.02

    def __init__(self, level=0.05, steps=10, seed=0):
        check_level(level)
        if steps < 1:
            raise ArgumentError(f"a gate needs at least one step to spread its level over, got {steps}")
        self.level, self.steps, self.seed = level, steps, seed
        self.made = 0  # decisions

    def left(self):
        """The level that the next decision has."""
        return self._allowed(self.made + 1) - self._allowed(self.made)

    def spent(self):
        """The part of the level that the decisions so far may have used."""
        return self._allowed(self.made)

    def decide(self, before, after, rungs=(), winner=None, units=None):
        """The Decision on the best of some candidates, which counts as one step.

        before  the scores of what there is, one for each item; None or NaN where there is no answer
        after   the same for a candidate, or an array of shape (items, candidates); items that a candidate was not asked, because
                it had been left behind, lie after all that it was asked, and are NaN
        rungs   (items, candidates left) pairs: after so many items the candidates with the highest total gain were kept
        winner  the candidate that was left, where there are rungs; otherwise the one with the largest studentised gain is tested
        units   for each item a number that repeated items share
        """
        before, after = numbers(before), _columns(after)
        if len(before) != len(after) or not len(before):
            raise ShapeError(f"the gate compares scores of the same items, got {len(before)} and {len(after)}")
        units = np.arange(len(before)) if units is None else np.asarray(units)
        gains = _gains(before[:, None], after)
        winner = _best(gains, units) if winner is None else winner
        allowed, self.made = self.left(), self.made + 1
        if self.level == 1:
            return _decision(before, after[:, winner], gains[:, winner], chance(gains[:, winner], units), 1.0, winner,
                             gains[:, winner].sum() >= 0)
        observed = _observed(gains[:, winner], units, largest_loss(before, after))
        p = self._chance(observed, gains, _asked(after, rungs), rungs, units)
        return _decision(before, after[:, winner], gains[:, winner], p, allowed, winner, _passes(gains[:, winner], p, allowed))

    def _chance(self, observed, gains, asked, rungs, units):
        """The probability that the studentised gain of some winner is at least `observed`, if nothing is better."""
        count = int(units.max()) + 1
        signs = patterns(count, self.seed)
        filled = _filled(gains, asked, np.random.default_rng((self.seed, self.made)))
        sizes = _sizes(filled, units)
        sizes[sizes == 0] = np.inf
        flipped = signs if np.array_equal(units, np.arange(count)) else signs.take(units, axis=1)
        scale = np.abs(filled).max() or 1.0
        strength = _strengths(flipped, filled / scale, rungs, sizes / scale)
        return share(int((strength >= observed - 1e-5).sum()), len(signs), count)

    def _allowed(self, made):
        """The level that may be spent by the end of so many decisions."""
        if self.level == 1:
            return 1.0
        planned = self.level * (1 - self.RESERVE)
        if made <= self.steps:
            return planned * made / self.steps
        return self.level - (self.level - planned) * 2.0 ** (1 - made / self.steps)

    def state_dict(self):
        """What a later decision depends on, as JSON data."""
        return {"level": self.level, "steps": self.steps, "seed": self.seed, "made": self.made}

    def load_state_dict(self, state):
        """Go on from what `state_dict` gave, of a gate with the same settings."""
        other = [f"{name} {state[name]} (here {getattr(self, name)})" for name in ("level", "steps", "seed")
                 if state[name] != getattr(self, name)]
        if other and state["made"]:
            raise CheckpointError(f"the saved gate has {', '.join(other)}; go on with the same, since its guarantee spans all "
                                  "steps")
        self.made = state["made"]


def check_level(level):
    """Raise an error unless `level` is the probability of a false acceptance."""
    if not isinstance(level, (int, float)) or not 0 < level <= 1:
        raise ArgumentError(f"the level of the gate must lie above 0 and be at most 1, got {level!r}")


def numbers(scores):
    """Scores as an array of float64, NaN where there is no answer; an ArgumentError for an infinity."""
    # NumPy makes NaN of None.
    found = np.array(scores, float)
    if np.isinf(found).any():
        place = np.argwhere(np.isinf(found))[0]
        raise ArgumentError(f"scores must be finite numbers, got {found[tuple(place)]} for item {place[0]}")
    return found


def _columns(after):
    """Candidates' scores as an array (items, candidates)."""
    after = numbers(after)
    return after[:, None] if after.ndim == 1 else after


def _gains(before, after):
    """The gain of each item; 0 where one of the two has no answer, so that the pair says nothing."""
    return np.nan_to_num(after - before, nan=0.0)


def _observed(gains, units, bound):
    """The studentised gain that a candidate is tested with."""
    own, most = summed(gains, units), int(np.bincount(units).max())
    return weight(own, most * bound) * own.sum() / (np.sqrt((own**2).sum()) or np.inf)


def _asked(after, rungs):
    """How many items each candidate was asked: up to its last answer, and all for those that were left at the end."""
    is_answered = ~np.isnan(after)
    last = np.where(is_answered.any(0), len(after) - is_answered[::-1].argmax(0), 0)
    if not rungs:
        return np.full(after.shape[1], len(after))
    stops = np.array([0, *[stop for stop, _ in rungs], len(after)])
    return stops[np.searchsorted(stops, last)]


def _filled(gains, asked, draw):
    """`gains` with those of items that a candidate was not asked drawn from its others, the same ones for all candidates.

    What a candidate that was left behind would have done matters only for how large a winner's gain gets by chance.
    """
    places, shares = np.arange(len(gains))[:, None], draw.random((len(gains), 1))
    drawn = np.minimum((shares * asked).astype(int), np.maximum(asked - 1, 0))
    return np.where(places < asked, gains, np.take_along_axis(gains, np.broadcast_to(drawn, gains.shape), 0)).astype(np.float32)


def _best(gains, units):
    """The candidate with the largest studentised gain."""
    totals, sizes = gains.sum(0), _sizes(gains, units)
    return int(np.argmax(np.divide(totals, sizes, out=np.zeros_like(totals), where=sizes > 0)))


def _sizes(gains, units):
    """The root of the sum of squares of each candidate's gains, those of an item that is repeated added up first."""
    if units.max() + 1 < len(units):
        added = np.zeros((units.max() + 1, gains.shape[1]))
        np.add.at(added, units, gains)
        gains = added
    return np.sqrt((gains.astype(float) ** 2).sum(0))


def _thinned(signs, gains, rungs, order):
    """Totals of shape (patterns, candidates) plus `order`, minus infinity for those left behind, and up to which item they go."""
    totals, done = np.tile(order, (len(signs), 1)), 0
    # Fresh memory for each of these arrays would take longer than what is computed in it.
    room, is_below = np.empty_like(totals), np.empty(totals.shape, bool)
    for stop, kept in rungs:
        totals += np.matmul(signs[:, done:stop], gains[done:stop], out=room)
        if kept == 1:
            bound = totals.max(1)
        else:
            room[:] = totals
            room.sort(axis=1)  # rows are short: faster than partitioning them
            bound = room[:, -kept]
        np.copyto(totals, -np.inf, where=np.less(totals, bound[:, None], out=is_below))
        done = stop
    return totals, done


def _strengths(signs, gains, rungs, sizes):
    """The studentised gain of the winner under each pattern of signs."""
    if not rungs:
        return (signs @ gains / sizes.astype(np.float32)).max(1)
    # Of equals the earlier one stays. These steps are larger than the rounding of a total, and smaller than most differences.
    order = -2e-5 * np.arange(gains.shape[1], dtype=np.float32)
    totals, done = _thinned(signs, gains, rungs, order)
    winner = totals.argmax(1)[:, None]
    rest = np.take_along_axis(signs[:, done:] @ gains[done:], winner, 1)
    return ((np.take_along_axis(totals, winner, 1) - order[winner] + rest) / sizes[winner])[:, 0]


def _passes(gains, p, level):
    return bool(gains.sum() >= 0 if level == 1 else gains.sum() > 0 and p <= level)


def _decision(before, after, gains, p, level, winner, is_accepted):
    both = ~(np.isnan(before) | np.isnan(after))
    mean_of = lambda x: float(x[both].mean()) if both.any() else float("nan")
    won, lost = (tuple(np.flatnonzero(found).tolist()) for found in (gains > 0, gains < 0))
    return Decision(bool(is_accepted), mean_of(before), mean_of(after), float(p), float(level), winner, won, lost)
