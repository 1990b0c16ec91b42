"""Poisson's and binomial numbers have the chances of SciPy's."""

import numpy as np
import pytest
from scipy import stats

from retrograde.ops.random.counts import random_binomial, random_poisson

STATE = np.array([3, 4], np.int64)
COUNT = 60_000


def spread(drawn, theirs):
    """The chance of numbers that are further from those expected."""
    values = np.arange(int(theirs.ppf(1e-5)), int(theirs.ppf(1 - 1e-5)) + 1)
    expected = theirs.pmf(values) * len(drawn)
    is_many = expected > 8
    found = np.array([(drawn == value).sum() for value in values[is_many]])
    found, expected = np.append(found, len(drawn) - found.sum()), np.append(expected[is_many], len(drawn) - expected[is_many].sum())
    return stats.chi2(len(found) - 1).sf(((found - expected) ** 2 / np.maximum(expected, 1)).sum())


@pytest.mark.parametrize("rate", [0.02, 0.7, 5.0, 9.99, 10.0, 13.0, 60.0, 700.0])
def test_poisson_numbers(rate):
    drawn = np.asarray(random_poisson(STATE, np.full(COUNT, rate)))
    assert spread(drawn, stats.poisson(rate)) > 1e-3 and abs(drawn.mean() - rate) < 5 * (rate / COUNT) ** 0.5


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (5, 0.5), (19, 0.5), (20, 0.5), (30, 0.4), (100, 0.02), (100, 0.97), (1000, 0.3), (10_000, 0.6)])
def test_binomial_numbers(n, p):
    drawn = np.asarray(random_binomial(STATE, np.full(COUNT, float(n)), np.full(COUNT, p)))
    assert spread(drawn, stats.binom(n, p)) > 1e-3 and drawn.min() >= 0 and drawn.max() <= n


def test_what_is_none_gives_nan_and_certain_things_are_certain():
    assert np.isnan(random_poisson(STATE, np.array([-1.0, np.nan, np.inf]))).all()
    assert np.isnan(random_binomial(STATE, np.array([-1.0, 2.5, 3.0]), np.array([0.5, 0.5, np.nan]))).all()
    assert random_binomial(STATE, np.array([4.0, 4.0, 0.0, 1e6]), np.array([0.0, 1.0, 0.5, 1.0])).tolist() == [0.0, 4.0, 0.0, 1e6]
    assert random_poisson(STATE, np.zeros(3)).tolist() == [0.0] * 3 and random_poisson(STATE, np.zeros((0, 2), np.float32)).shape == (0, 2)
    assert random_poisson(STATE, np.ones(3, np.float32)).dtype == np.float32


def test_a_number_does_not_depend_on_those_beside_it():
    rates = np.array([0.5, 40.0, 3.0, 90.0])
    assert random_poisson(STATE, rates).tolist()[1] == random_poisson(STATE, np.array([30.0, 40.0, 40.0, 1.0])).tolist()[1]
