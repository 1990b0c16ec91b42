"""Random counts of events: Poisson's and binomial numbers, exact, in rounds: who is rejected in one proposes again in the next.

Where few are expected, the chances are summed up to a uniform number; where many are, by Hörmann's transformed rejection with a
decomposition ("The transformed rejection method for generating Poisson random variables", 1993, PTRS, and "The generation of
binomial random variates", 1993, BTRS).
"""

from itertools import count

import numpy as np

from ...dtypes import float64
from .._families import sampling
from .._samples import call, of, uniform
from ..special._log_gamma import log_gamma
from .draws import random_uniform

# Each round accepts more than three of four proposals, so that the chance to be left after the last one is below 1e-24.
_ROUNDS = 40
#: From so many expected events on, rejection is used; its bounds hold from here on.
_MANY = 10.0
# A chance so small changes no sum: what is still above the sum then is so by rounding.
_LEAST = 2.0**-60
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


def words_of_counts(size):
    """How many words of a stream `size` numbers are made of."""
    return 4 * (2 * _ROUNDS + 1) * _blocks(size)


def _blocks(size):
    """The blocks of four words from which `size` numbers of float64 are made: two words each."""
    return -(-size // 2)


def poisson(state, rate):
    """A number for each of the array `rate`, of its dtype; NaN where that is negative or none."""
    mean = rate.reshape(-1).astype(float64)
    found = np.full(mean.shape, np.nan)
    with np.errstate(all="ignore"):
        few = (mean >= 0) & (mean < _MANY)
        found[few] = _summed(_even(state, 0, mean.size)[few], np.exp(-mean[few]), lambda k, chosen: mean[few][chosen] / k)
        many = np.flatnonzero((mean >= _MANY) & np.isfinite(mean))
        if many.size:
            found[many] = _rejected(state, mean.size, many, _poisson_facts(mean[many]))
    return found.astype(rate.dtype).reshape(rate.shape)


def binomial(state, trials, chance):
    """A number for each of `trials` and `chance`, arrays of one shape, of the dtype of `chance`; NaN where they are none."""
    n, p = (x.reshape(-1).astype(float64) for x in (trials, chance))
    is_turned = p > 0.5
    p = np.where(is_turned, 1 - p, p)
    found = np.full(n.shape, np.nan)
    with np.errstate(all="ignore"):
        is_known = (n >= 0) & (n == np.floor(n)) & np.isfinite(n) & (p >= 0)
        few = is_known & (n * p < _MANY)
        odds, tried = (p / (1 - p))[few], n[few]
        first = np.exp(tried * np.log1p(-p[few]))
        found[few] = _summed(_even(state, 0, n.size)[few], first, lambda k, chosen: (tried[chosen] - k + 1) / k * odds[chosen])
        many = np.flatnonzero(is_known & ~few)
        if many.size:
            found[many] = _rejected(state, n.size, many, _binomial_facts(n[many], p[many]))
        found = np.where(is_turned, n - found, found)
    return found.astype(chance.dtype).reshape(chance.shape)


def _even(state, number, size):
    """The uniform numbers of a round, over [0, 1)."""
    return random_uniform(state + np.array([0, number * _blocks(size)], state.dtype), (size,), float64)


def _summed(even, first, ratio):
    """How many chances, of which each is a `ratio` of the last, must be added before their sum is above a uniform number."""
    found, waiting = np.zeros_like(even), np.arange(even.size)
    total, term = first.copy(), first.copy()
    for k in count(1):
        waiting = waiting[(even[waiting] >= total[waiting]) & (term[waiting] > _LEAST)]
        if not waiting.size:
            return found
        found[waiting] = k
        term[waiting] *= ratio(k, waiting)
        total[waiting] += term[waiting]
    raise AssertionError  # it counts on until it returns


def _rejected(state, size, places, facts):
    """Numbers for the `places` in an array of a `size`: a fraction of two uniform numbers, kept where its chance allows.

    `facts` are (a, b, middle, bound of quick acceptance, 1 / alpha, greatest, log of the chance), the last a function of a number
    and the positions of those that wait.
    """
    a, b, middle, quick, inverse, greatest, log_chance = facts
    found, waiting = np.floor(middle), np.arange(places.size)
    for number in range(_ROUNDS):
        if not waiting.size:
            break
        u = _even(state, 1 + 2 * number, size)[places[waiting]] - 0.5
        v = 1 - _even(state, 2 + 2 * number, size)[places[waiting]]
        side = 0.5 - np.abs(u)
        k = np.floor((2 * a[waiting] / side + b[waiting]) * u + middle[waiting])
        is_taken = (side >= 0.07) & (v <= quick[waiting])
        is_possible = (k >= 0) & (k <= greatest[waiting])
        level = np.log(v * inverse[waiting] / (a[waiting] / (side * side) + b[waiting]))
        is_taken |= is_possible & (level <= log_chance(np.maximum(k, 0), waiting))
        found[waiting[is_taken]] = k[is_taken]
        waiting = waiting[~is_taken]
    return found


def _poisson_facts(mean):
    b = 0.931 + 2.53 * np.sqrt(mean)
    a = -0.059 + 0.02483 * b
    log_mean = np.log(mean)
    chance = lambda k, at: k * log_mean[at] - mean[at] - log_gamma(k + 1)
    return a, b, mean + 0.43, 0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4), np.full(mean.shape, np.inf), chance


def _binomial_facts(n, p):
    spread = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * spread
    mode = np.floor((n + 1) * p)
    log_odds = np.log(p / (1 - p))
    most = log_gamma(mode + 1) + log_gamma(n - mode + 1)

    def chance(k, at):
        k = np.minimum(k, n[at])
        return most[at] - log_gamma(k + 1) - log_gamma(n[at] - k + 1) + (k - mode[at]) * log_odds[at]

    return a, b, n * p + 0.5, 0.92 - 4.2 / b, alpha, n, chance
