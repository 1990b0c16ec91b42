"""Spaces: what settings a sweep may choose, and points of it by their number."""

import math
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError


class Between(NamedTuple):
    """Numbers from `low` to `high`, evenly spread, or with `log` their logarithms."""

    low: float
    high: float
    log: bool = False


def between(low, high, log=False):
    """Numbers from `low` to `high` for a sweep, evenly spread, or with `log` their logarithms, as for learning rates.

    >>> rg.sweeps.between(1e-4, 1e-1, log=True)
    Between(low=0.0001, high=0.1, log=True)
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high) or log and low <= 0:
        raise ArgumentError(f"between needs numbers low < high, above 0 with log=True, got {low!r} and {high!r}")
    return Between(low, high, log)


def checked(space):
    """A space of lists and `Between`s; raises an ArgumentError for what is none."""
    if not isinstance(space, dict) or not space:
        raise ArgumentError(f"a space is a dictionary of lists of choices, ranges or sweeps.between(low, high), got {space!r:.80}")
    found = {}
    for name, values in space.items():
        if not isinstance(values, (Between, range, list, tuple)) or not isinstance(values, Between) and not len(values):
            raise ArgumentError(f"{name} must be a list of choices, a range or sweeps.between(low, high), got {values!r:.80}")
        found[name] = values if isinstance(values, Between) else list(values)
    return found


def is_finite(space):
    """Whether a space is a grid."""
    return not any(isinstance(values, Between) for values in space.values())


def grid(space):
    """All points of a grid, the last name varies fastest."""
    return [dict(zip(space, values, strict=True)) for values in product(*space.values())]


def drawn(space, number, seed):
    """Point `number` of a random search; the same whatever other points there are."""
    rng, point = np.random.default_rng((seed, number)), {}
    for name, values in space.items():
        if not isinstance(values, Between):
            point[name] = values[int(rng.integers(len(values)))]
        elif values.log:
            point[name] = float(np.exp(rng.uniform(np.log(values.low), np.log(values.high))))
        else:
            point[name] = float(rng.uniform(values.low, values.high))
    return point


def suggested(space, trial):
    """A point that a trial of Optuna's suggests."""
    return {name: trial.suggest_float(name, values.low, values.high, log=values.log) if isinstance(values, Between)
            else values[trial.suggest_int(name, 0, len(values) - 1)] if _is_ordered(values)
            else values[trial.suggest_categorical(name, list(range(len(values))))]
            for name, values in space.items()}


def _is_ordered(values):
    """Whether choices are numbers in order, which a sampler may take for near each other."""
    return len(values) > 1 and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values) and all(
        a < b for a, b in pairwise(values))
