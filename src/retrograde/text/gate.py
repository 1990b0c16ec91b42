"""The gate: whether a candidate did better on the same items, and not by chance."""

import random
from itertools import product
from math import comb, fsum
from typing import NamedTuple

from ..errors import ArgumentError, ShapeError

_EXACT, _DRAWS = 12, 20_000


class Decision(NamedTuple):
    """What the gate found: mean scores before and after, and the probability of such a gain by chance."""

    is_accepted: bool
    before: float
    after: float
    p: float


def compare(before, after, level=0.25):
    """Whether scores `after`, one for each item, are no worse than those `before` and better by more than chance.

    A candidate passes if its mean is not lower, and a gain as large would come by chance with a probability of at most
    `level`. Level 1 passes everything that is not worse, ties included.

    >>> compare([0, 0, 0, 1], [1, 1, 0, 1])
    Decision(is_accepted=True, before=0.25, after=0.75, p=0.25)
    """
    if not 0 < level <= 1:
        raise ArgumentError(f"the level of the gate must lie above 0 and be at most 1, got {level}")
    if len(before) != len(after) or not before:
        raise ShapeError(f"the gate compares scores of the same items, got {len(before)} and {len(after)}")
    gains = [b - a for a, b in zip(before, after, strict=True)]
    p = chance(gains)
    return Decision(fsum(gains) >= 0 and p <= level, fsum(before) / len(before), fsum(after) / len(after), p)


def chance(gains):
    """The probability of a sum of at least that of `gains` if each gain were as likely a loss: the paired sign-flip test.

    Exact where all gains have one size or there are few, else from 20,000 seeded draws.

    >>> chance([1, 1, 1, -1, 0])
    0.3125
    """
    sizes = [abs(gain) for gain in gains if gain]
    if not sizes:
        return 1.0
    total = fsum(gains) - 1e-9 * max(sizes)
    if len(set(sizes)) == 1:
        wins, n = sum(gain > 0 for gain in gains), len(sizes)
        return sum(comb(n, k) for k in range(wins, n + 1)) / 2**n
    if len(sizes) <= _EXACT:
        flips = product((-1, 1), repeat=len(sizes))
        return sum(fsum(s * a for s, a in zip(signs, sizes, strict=True)) >= total for signs in flips) / 2 ** len(sizes)
    draw = random.Random(0)  # noqa: S311 - not for secrets
    hits = sum(fsum(draw.choice((-a, a)) for a in sizes) >= total for _ in range(_DRAWS))
    return (hits + 1) / (_DRAWS + 1)


class Validation:
    """Items that candidates are compared on, and how they are scored: `score(items)` gives a number for each.

    >>> held_out = Validation([1, 2, 3], lambda items: [item * 0.1 for item in items])
    >>> held_out([0, 2])
    [0.1, 0.30000000000000004]
    """

    def __init__(self, items, score):
        self.items, self._score = list(items), score
        if not self.items:
            raise ArgumentError("a validation needs at least one item, got none")

    def __len__(self):
        return len(self.items)

    def __call__(self, places=None):
        """The scores of all items, or of those at `places`."""
        chosen = self.items if places is None else [self.items[i] for i in places]
        scores = [float(score) for score in self._score(chosen)]
        if len(scores) != len(chosen):
            raise ShapeError(f"the validation must give one score for each item, got {len(scores)} for {len(chosen)} items")
        return scores
