"""Random counts: Poisson's and binomial numbers."""

import numpy as np

from ._counts import binomial, poisson, words_of_counts
from ._families import sampling
from ._samples import call, of, uniform

__all__ = ["random_binomial", "random_poisson", "words_of_counts"]

_STATE = np.array([5, 7], np.int64)
_RATE, _CHANCE, _TRIALS = uniform(0.3, 30), uniform(0.1, 0.9), np.array([3.0, 50.0, 0.0])


@sampling(is_public=False, is_real=True, is_differentiable=False, samples=(
    call(_STATE, of((2, 3), _RATE)), call(_STATE, of((), _RATE)), call(_STATE, of((0, 3), _RATE))))
def random_poisson(state, rate, /):
    """How many events happen where `rate` are expected, as floats."""
    return poisson(state, np.asarray(rate))


@sampling(is_public=False, is_real=True, is_differentiable=False, samples=(
    call(_STATE, _TRIALS, of((3,), _CHANCE)), call(_STATE, np.full((2, 3), 40.0), of((2, 3), _CHANCE))))
def random_binomial(state, trials, chance, /):
    """How many of `trials` succeed, each with a `chance`, as floats; the two have one shape."""
    return binomial(state, np.asarray(trials), np.asarray(chance))
