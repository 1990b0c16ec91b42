"""Power: which gains a run can see, told before it is paid for, and how many items a gain asks for."""

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from ...errors import ArgumentError
from .gate import Gate, check_level

_DRAWS = 20_000
_NORMAL = NormalDist()


def power(items, gain, *, baseline=0.5, width=1, steps=10, level=0.05, strict=False):
    """The probability that a candidate which is truly better by `gain` is accepted, in the one step that proposes it.

    items     how many validation items there are
    baseline  the accuracy of what there is; answers are taken to be independent of one another, the least favourable case
    width     how many candidates a step compares
    steps     over how many steps the gate spreads its `level`; `strict` is the gate's

    From the normal approximation of the gate's statistic: wins and losses are `items` draws, and the largest of `width` gains over
    one baseline, which are correlated by a half, is the bar. That of a strict gate comes from simulated runs.

    >>> power(100, 0.2, baseline=0.7, width=8, steps=5)
    0.67
    """
    mean, deviation = _statistic(items, gain, baseline)
    return round(_NORMAL.cdf((mean - _bar(width, steps, level, strict)) / deviation), 2)


def smallest_gain(items, *, chance=0.8, baseline=0.5, width=1, steps=10, level=0.05, strict=False):
    """The smallest gain that is accepted in at least a share `chance` of runs; None if not even a perfect score would be.

    >>> smallest_gain(100, baseline=0.7, width=8, steps=5)
    0.22
    """
    gains = np.arange(1, round((1 - baseline) * 100) + 1) / 100
    settings = {"baseline": baseline, "width": width, "steps": steps, "level": level, "strict": strict}
    seen = [gain for gain in gains if power(items, gain, **settings) >= chance]
    return float(seen[0]) if seen else None


def items_needed(gain, *, chance=0.8, baseline=0.5, width=1, steps=10, level=0.05, strict=False):
    """How many validation items it takes to accept a `gain` in at least a share `chance` of runs.

    >>> items_needed(0.1, baseline=0.7, width=8, steps=5) > 2 * items_needed(0.2, baseline=0.7, width=8, steps=5)
    True
    """
    low, high = 1, 2
    settings = {"baseline": baseline, "width": width, "steps": steps, "level": level, "strict": strict}
    reaches = lambda items: power(items, gain, **settings) >= chance
    while not reaches(high):
        low, high = high, 2 * high
        if high > 10**7:
            raise ArgumentError(f"a gain of {gain} is not seen with ten million items")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _statistic(items, gain, baseline):
    """Mean and standard deviation of the studentised gain."""
    if items < 1 or not 0 <= baseline <= 1:
        raise ArgumentError(f"power needs at least one item and a baseline from 0 to 1, got {items} and {baseline}")
    if not 0 < gain <= 1 - baseline + 1e-9:
        raise ArgumentError(f"a gain over {baseline} must lie above 0 and be at most {1 - baseline:g}, got {gain}")
    after = baseline + gain
    differ = after * (1 - baseline) + baseline * (1 - after)
    return gain * np.sqrt(items / differ), max(np.sqrt(max(differ - gain**2, 0.0) / differ), 0.05)


@lru_cache(maxsize=256)
def _bar(width, steps, level, strict):
    """What the studentised gain of the largest of `width` candidates passes by chance with the level of one step."""
    check_level(level)
    allowed = Gate(level, steps).left()
    if strict:
        # A constant stake would have to be passed by the second, and a normal quantile by the first; stakes that follow the game
        # were half way between: 3.35 (3.03 and 3.66) with width 8 and 5 steps, 2.0 (1.65 and 2.46) with one candidate.
        return (_NORMAL.inv_cdf(1 - allowed / width) + np.sqrt(2 * np.log(width / allowed))) / 2
    if width == 1:
        return _NORMAL.inv_cdf(1 - allowed)
    draw = np.random.default_rng(0)
    shared, own = draw.standard_normal((_DRAWS, 1)), draw.standard_normal((_DRAWS, width))
    # Of many draws beyond the last quantile that 20,000 tell, the normal tail of one with Bonferroni's correction.
    if allowed * _DRAWS < 20:
        return _NORMAL.inv_cdf(1 - allowed / width)
    return float(np.quantile((np.sqrt(0.5) * (shared + own)).max(1), 1 - allowed))
