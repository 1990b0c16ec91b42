"""How gamma distributed numbers move with their shapes, beside mpmath, in both tails and for small and great shapes."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

import retrograde as rg
from retrograde.ops.random import _gamma_slope
from retrograde.ops.random.gammas import gamma_slope
from retrograde.testing import check_gradients

mpmath = pytest.importorskip("mpmath")
SHAPES = [1e-5, 0.01, 0.3, 1.0, 2.67, 7.0, 9.99, 15.99, 16.0, 17.0, 48.0, 300.0, 1e5]
#: Places over the shape: both tails, and both sides of where one formula takes over from another.
RATIOS = [1e-6, 0.01, 0.3999, 0.4001, 0.7, 1.0, 1.0 + 1e-9, 1.5, 2.2999, 2.3001, 12.0]
PLACES = [1e-30, 1e-3, 0.5, 1.3, 5.999, 6.001]


def _cases():
    around = [(a, a * ratio) for a in SHAPES for ratio in RATIOS]
    beside = [(a, x) for a in SHAPES for x in PLACES if a < 10]
    # Where both chances are none a density of mpmath's has no digits left, and no sample is there.
    return np.array([(a, x) for a, x in around + beside if abs(x - a) < 40 * (a**0.5 + 1)]).T


def _exact(a, x):
    with mpmath.workdps(60):
        a, x, step = mpmath.mpf(a), mpmath.mpf(x), mpmath.mpf(10) ** -22 * mpmath.mpf(a)
        # The smaller of both chances, which has its own digits.
        bounds, sign = ((0, x), -1) if x < a else ((x, mpmath.inf), 1)
        chance = lambda a: mpmath.gammainc(a, *bounds, regularized=True)
        density = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
        return float(sign * (chance(a + step) - chance(a - step)) / (2 * step) / density)


@pytest.fixture(scope="module")
def known():
    a, x = _cases()
    return a, x, np.array([_exact(*pair) for pair in zip(a, x, strict=True)])


def test_slopes_are_those_of_mpmath_by_numpy_by_compiled_code_and_in_jitted_functions(known):
    a, x, exact = known
    many = [np.tile(part, 3) for part in (a, x)]  # compiled code takes 256 or more
    np.testing.assert_allclose(_gamma_slope.slope(a, x), exact, rtol=5e-12)
    np.testing.assert_allclose(gamma_slope(*many), np.tile(exact, 3), rtol=5e-12)
    np.testing.assert_allclose(rg.jit(lambda a, x: gamma_slope(a, x))(a, x), exact, rtol=5e-12)


def test_float32_is_computed_in_float64(known):
    a, x, _ = known
    is_there = (x > 1e-30) & (a < 1e6)
    narrow = [np.tile(part[is_there].astype(np.float32), 3) for part in (a, x)]
    expected = _gamma_slope.slope(*[part.astype(np.float64) for part in narrow])
    for found in (gamma_slope(*narrow), np.asarray(rg.jit(lambda a, x: gamma_slope(a, x))(*narrow))):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=2e-7)


def test_what_is_no_shape_or_no_place_has_no_slope_and_zero_does_not_move():
    a, x = np.array([2.0, 0.1, 0.0, -1.0, 1.0, np.nan, 1.0]), np.array([0.0, 0.0, 1.0, 1.0, -1.0, 1.0, np.nan])
    with np.errstate(all="raise"):
        for repeats in (1, 50):
            found = gamma_slope(np.repeat(a, repeats), np.repeat(x, repeats))[::repeats]
            np.testing.assert_array_equal(found, [0, 0, *[np.nan] * 5])


def test_the_series_is_that_of_its_recurrence_in_rational_numbers():
    count = 40
    below = [Fraction(1, factorial(n + 1)) for n in range(count + 2)]  # (e^u - 1) / u

    def over(series):
        found = []
        for n, value in enumerate(series):
            found.append(value - sum([found[j] * below[n - j] for j in range(n)]))
        return found

    #: Of psi(a) - log a, in powers of the inverse of a: -B_k / k, with the first B of the other sign.
    digamma = {1: Fraction(-1, 2), 2: Fraction(-1, 12), 4: Fraction(1, 120), 6: Fraction(-1, 252), 8: Fraction(1, 240)}
    term = over([Fraction(1), *[Fraction(0)] * count])
    for k, row in enumerate(_gamma_slope.SERIES):
        if k:
            slope = [(n + 1) * value for n, value in enumerate(term[1:])]
            slope[0] -= digamma.get(k, 0)
            assert slope[0] == 0  # or the term would have a pole at u = 0
            term = over(slope[1:])
        assert row == tuple(map(float, term[: len(row)]))


def test_slopes_have_slopes_in_both():
    check_gradients(gamma_slope, (np.array([0.4, 2.0, 30.0]), np.array([0.3, 2.5, 26.0])), order=2)
