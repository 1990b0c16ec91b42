"""Dirichlet distributed vectors, and how they move with their parameters."""

import numpy as np
import pytest
from scipy import stats

import retrograde as rg
from retrograde.ops.random.gammas import beta_slope, first_beta_slope, random_dirichlet
from retrograde.testing import check_gradients

mpmath = pytest.importorskip("mpmath")
STATE = np.array([3, 4], np.int64)


@pytest.mark.parametrize(("x", "a", "b"), [
    (0.3, 0.5, 0.7), (0.999, 0.1, 0.2), (1e-9, 0.05, 3.0), (0.5, 1.0, 1.0), (0.9, 40.0, 3.0), (0.6, 100.0, 100.0), (0.2, 300.0, 900.0), (0.9999, 1000.0, 0.1)])
def test_the_slope_is_that_of_mpmath(x, a, b):
    with mpmath.workdps(50):
        point, first, other, step = mpmath.mpf(x), mpmath.mpf(a), mpmath.mpf(b), mpmath.mpf(10) ** -18
        chance = lambda a: mpmath.betainc(a, other, 0, point, regularized=True)
        moved = (chance(first + step) - chance(first - step)) / (2 * step)
        density = point ** (first - 1) * (1 - point) ** (other - 1) / mpmath.beta(first, other)
        expected = float(-moved / density / (1 - point))
    np.testing.assert_allclose(beta_slope(np.float64(x), np.float64(a), np.float64(b)), expected, 1e-11)


def test_the_ends_of_the_range():
    with np.errstate(all="raise"):
        found = beta_slope(np.array([0.0, 1.0, 0.5, 0.5, np.nan]), np.array([2.0, 2.0, -1.0, np.inf, 1.0]), np.array([3.0, 3.0, 1.0, 1.0, 1.0]))
    assert 0 <= found[0] < 1e-300 and np.isfinite(found[1]) and np.isnan(found[2:]).all()


def test_a_vector_moves_as_the_rank_of_each_part_stays():
    a = rg.tensor([[0.6, 1.7, 4.0]], dtype="float64")
    z = random_dirichlet(STATE, a)
    for i in range(3):
        (slope,) = rg.grad(lambda a, i=i: random_dirichlet(STATE, a)[0, i].sum(), argnums=(0,))(a)
        values, shapes = z.numpy()[0], a.numpy()[0]
        total = shapes.sum()
        up, down = (stats.beta.ppf(stats.beta.cdf(values[i], shapes[i], total - shapes[i]), shapes[i] + h, total - shapes[i]) for h in (1e-6, -1e-6))
        assert slope.numpy()[0, i] == pytest.approx((up - down) / 2e-6, rel=1e-5)


def test_the_parts_are_positive_and_have_their_means():
    for dtype in ("float32", "float64", "bfloat16"):
        z = random_dirichlet(STATE, rg.ones((2000, 3), dtype=dtype) * 0.01)
        assert z.dtype == dtype and bool((z > 0).all()) and bool((z <= 1).all())
    z = np.asarray(random_dirichlet(STATE, np.tile([0.5, 1.0, 2.5], (40_000, 1))))
    np.testing.assert_allclose(z.mean(0), [0.125, 0.25, 0.625], atol=5e-3)
    np.testing.assert_allclose(z.sum(1), 1)


@pytest.mark.parametrize(("i", "j"), [(2, 0), (1, 1), (0, 2), (0, 1), (3, 1)])
@pytest.mark.parametrize(("x", "a", "b"), [(0.3, 0.5, 0.7), (0.9, 4.0, 0.6), (0.6, 30.0, 20.0)])
def test_slopes_of_any_order_are_those_of_mpmath(i, j, x, a, b):
    with mpmath.workdps(60):
        chance = lambda a, b: mpmath.betainc(a, b, 0, mpmath.mpf(x), regularized=True)
        moved = mpmath.diff(chance, (mpmath.mpf(a), mpmath.mpf(b)), (i, j))
        density = mpmath.mpf(x) ** (a - 1) * (1 - mpmath.mpf(x)) ** (b - 1) / mpmath.beta(a, b)
        expected = float(-moved / density / (1 - mpmath.mpf(x)))
    np.testing.assert_allclose(beta_slope(np.float64(x), np.float64(a), np.float64(b), i, j), expected, 1e-9)


def test_derivatives_of_slopes_are_right_to_the_second_order():
    x, a, b = (rg.tensor(np.array(part)) for part in ([0.2, 0.7], [0.6, 3.0], [1.7, 0.8]))
    check_gradients(beta_slope, (x, a, b), order=2)


_SHAPES = [1e-3, 0.3, 1.0, 7.0, 60.0, 300.0]
#: How far from the mean, to either end.
_FAR = [-0.99, -0.6, -0.1, 0.0, 0.1, 0.6, 0.99]


@pytest.fixture(scope="module")
def known_slopes():
    places = lambda a, b: [a / (a + b) * (1 + f) if f < 0 else (a + b * f) / (a + b) for f in _FAR]
    cases = np.array([(x, a, b) for a in _SHAPES for b in _SHAPES for x in places(a, b) if x < 1 - 1e-8])
    return *cases.T, np.array([_exact_slope(*case) for case in cases])


def _exact_slope(x, a, b):
    with mpmath.workdps(50):
        x, a, b, step = mpmath.mpf(x), mpmath.mpf(a), mpmath.mpf(b), mpmath.mpf(a) * mpmath.mpf(10) ** -22
        chance, sign = _smaller_chance(x, a, b)
        density = x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b)
        return float(sign * (chance(a + step, b) - chance(a - step, b)) / (2 * step) / density / (1 - x))


def _smaller_chance(x, a, b):
    """The chance to be below or above `x`, whichever has its own digits, as a function of both parameters, and minus its slope's sign."""
    if x * (a + b) < a:
        return lambda a, b: mpmath.betainc(a, b, 0, mpmath.mpf(x), regularized=True), -1
    return lambda a, b: mpmath.betainc(b, a, 0, 1 - mpmath.mpf(x), regularized=True), 1


def test_first_slopes_are_those_of_mpmath_by_numpy_by_compiled_code_and_in_jitted_functions(known_slopes):
    *given, exact = known_slopes
    assert len(exact) > 200  # compiled code takes 256 or more
    np.testing.assert_allclose(first_beta_slope(*[part[:200] for part in given]), exact[:200], rtol=1e-9)
    np.testing.assert_allclose(first_beta_slope(*[np.tile(part, 2) for part in given]), np.tile(exact, 2), rtol=1e-9)
    np.testing.assert_allclose(rg.jit(lambda *parts: first_beta_slope(*parts))(*given), exact, rtol=1e-9)
    narrow = [np.tile(part, 2).astype(np.float32) for part in given]
    found, wide = first_beta_slope(*narrow), first_beta_slope(*[part.astype(np.float64) for part in narrow])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wide, rtol=2e-7)


def test_where_both_parameters_are_great_slopes_are_those_of_the_mean():
    a, b = np.array([1.2e7, 9e6]), np.array([2e7, 4e8])
    x = a / (a + b) + np.array([2.0, -3.0]) * np.sqrt(a * b / (a + b) ** 3)
    for repeats in (1, 200):
        found = first_beta_slope(*[np.repeat(part, repeats) for part in (x, a, b)])[::repeats]
        np.testing.assert_allclose(found, np.log1p((a / (a + b) - x) / x) / (a / (a + b) - x) * x / (a + b), rtol=1e-6)


def test_first_slopes_at_the_ends_of_the_range_and_of_what_is_no_parameter():
    x, a, b = np.array([0.0, 1.0, 0.5, 0.5, np.nan]), np.array([2.0, 2.0, -1.0, np.inf, 1.0]), np.array([3.0, 3.0, 1.0, 1.0, 1.0])
    with np.errstate(all="raise"):
        for repeats in (1, 60):
            found = first_beta_slope(*[np.repeat(part, repeats) for part in (x, a, b)])[::repeats]
            assert 0 <= found[0] < 1e-300 and np.isfinite(found[1]) and np.isnan(found[2:]).all()


@pytest.mark.parametrize(("x", "a", "b"), [(0.3222, 0.0242, 92.9), (0.8288, 176.6, 0.4847), (0.2255, 0.0033, 122.0)])
def test_slopes_far_from_the_mean_have_their_digits(x, a, b):
    for i, j in ((1, 0), (2, 0), (1, 1)):
        with mpmath.workdps(70):
            chance, sign = _smaller_chance(x, a, b)
            moved = mpmath.diff(chance, (mpmath.mpf(a), mpmath.mpf(b)), (i, j))
            density = mpmath.mpf(x) ** (a - 1) * (1 - mpmath.mpf(x)) ** (b - 1) / mpmath.beta(a, b)
            expected = float(sign * moved / density / (1 - mpmath.mpf(x)))
        np.testing.assert_allclose(beta_slope(np.float64(x), np.float64(a), np.float64(b), i, j), expected, 1e-7)


def test_first_slopes_have_slopes_in_all_three():
    check_gradients(first_beta_slope, tuple([np.array(part) for part in ([0.2, 0.7], [0.6, 3.0], [1.7, 0.8])]), order=2)
