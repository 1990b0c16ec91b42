"""The incomplete gamma function, its derivatives in its order, and the numbers whose distribution it is."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.ops.random.gammas import random_gamma
from retrograde.ops.special import _incomplete
from retrograde.ops.special.incomplete import gammainc_slope
from retrograde.testing import check_gradients

mpmath = pytest.importorskip("mpmath")
STATE = np.array([3, 4], np.uint64)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(("a", "x"), [(0.01, 1e-3), (0.5, 0.4), (1.0, 1.0), (2.5, 9.0), (40.0, 35.0), (900.0, 960.0), (3.0, 200.0)])
def test_derivatives_in_the_order_are_those_of_mpmath(order, a, x):
    with mpmath.workdps(60):
        def chance(a):
            return mpmath.gammainc(a, 0, mpmath.mpf(x), regularized=True)
        expected = float(mpmath.diff(chance, mpmath.mpf(a), order) if order else chance(mpmath.mpf(a)))
    found = rg.gammainc(np.float64(a), np.float64(x)) if order == 0 else gammainc_slope(np.float64(a), np.float64(x), order)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


_BOTH_TAILS = [(0.3, 50.0), (2.0, 700.0), (1e-8, 1e-100), (1e-8, 0.9), (0.7, 1.09), (0.4, 1.2), (20.0, 1e-5), (1.0, 690.0),
               (187.0, 3.0), (940.0, 2190.0), (1400.0, 764.0), (3e3, 3.1e3), (1e5, 1.01e5), (1e5, 9.9e4), (1e6, 1.005e6), (2e4, 1.7e4)]


@pytest.mark.parametrize(("a", "x"), _BOTH_TAILS)
def test_both_tails_have_their_digits_and_so_have_their_derivatives(a, x):
    with mpmath.workdps(60):
        order, place = mpmath.mpf(a), mpmath.mpf(x)
        below, above = mpmath.gammainc(order, 0, place, regularized=True), mpmath.gammainc(order, place, regularized=True)
        density = mpmath.exp((order - 1) * mpmath.log(place) - place - mpmath.loggamma(order))
        expected = [float(below), float(above), float(density), float(-density / above), float(-(1 + (1 - order) / place))]
    found = [rg.gammainc(a, x), rg.gammaincc(a, x), rg.grad(rg.gammainc, argnums=1)(a, x),
             rg.grad(lambda a, x: rg.log(rg.gammaincc(a, x)), argnums=1)(a, x),
             rg.jit(rg.grad(lambda x: rg.log(rg.grad(rg.gammainc, argnums=1)(a, x))))(np.float64(x))]
    np.testing.assert_allclose(found, expected, rtol=4e-13)
    np.testing.assert_array_equal(rg.jit(rg.gammaincc)(a, np.float64(x)), found[1])


@pytest.mark.parametrize(("a", "x"), [(2.0, 700.0), (0.4, 1.3), (330.0, 707.0), (5e4, 5.5e4), (187.0, 3.0)])
def test_the_slope_in_the_order_has_its_digits_where_it_is_tiny(a, x):
    with mpmath.workdps(80):
        def tail(a):
            return mpmath.gammainc(a, mpmath.mpf(x), regularized=True) if x > a else -mpmath.gammainc(a, 0, mpmath.mpf(x), regularized=True)
        step = mpmath.mpf(a) * mpmath.mpf(10) ** -20
        expected = (tail(mpmath.mpf(a) + step) - tail(mpmath.mpf(a) - step)) / (2 * step)
    np.testing.assert_allclose(rg.grad(rg.gammaincc)(a, x), float(expected), rtol=1e-12)


def test_the_ends_of_the_range():
    x = np.array([0.0, np.inf, -1.0, np.nan])
    np.testing.assert_array_equal(rg.gammainc(2.0, x), [0, 1, np.nan, np.nan])
    np.testing.assert_array_equal(rg.gammaincc(2.0, x), [1, 0, np.nan, np.nan])
    slopes = [rg.grad(lambda x, a=a: rg.gammainc(a, x))(0.0) for a in (0.5, 1.0, 2.0)]
    np.testing.assert_array_equal(slopes, [np.inf, 1, 0])
    np.testing.assert_array_equal(gammainc_slope(2.0, x), [0, 0, np.nan, np.nan])
    assert np.isnan(rg.gammainc(-1.0, np.array([1.0])))


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 3.0, 50.0, 1e4])
def test_a_gamma_number_keeps_its_rank_when_its_shape_moves(shape):
    a = rg.tensor(np.full(40, shape), requires_grad=True)
    z = random_gamma(STATE, a)
    z.sum().backward()
    step = 1e-4 * shape
    rank = rg.gammainc(shape, z.data)
    moved = [rg.gammainc(shape + d, z.data + d * a.grad.data) for d in (step, -step)]
    inner = (rank > 1e-3) & (rank < 1 - 1e-3)
    np.testing.assert_allclose((moved[0] - moved[1])[inner] / (2 * step), 0, atol=2e-6 * max(1, 1 / shape))
    assert inner.sum() > 30


def test_derivatives_of_a_gamma_number_of_any_order_are_those_of_its_rule():
    def slope(a):
        z = rg.tensor(1.3)
        return -gammainc_slope(a, z) / rg.exp((a - 1) * rg.log(z) - z - rg.lgamma(a))

    check_gradients(slope, np.array([0.7, 2.0]), order=1)


def test_gamma_numbers_have_the_moments_of_their_shape():
    for shape in (0.3, 1.0, 4.0):
        z = random_gamma(STATE, np.full(50_000, shape))
        assert abs(z.mean() - shape) < 5 * np.sqrt(shape / z.size)
        assert abs(z.var() / shape - 1) < 0.06


def test_shapes_that_are_not_positive_give_nan_and_none_gives_zero():
    z = random_gamma(STATE, np.array([0.0, -1.0, 1e-4, 1e-4]))
    assert np.isnan(z[:2]).all()
    assert (z[2:] > 0).all()
    assert random_gamma(STATE, np.zeros((0, 3), np.float32)).dtype == np.float32


@pytest.mark.parametrize("place", [1e4, 1e6, 1e10, 1e15, 1e17, 1e300])
def test_orders_as_great_as_numbers_can_be_are_computed_to_rounding_and_in_no_time(place):
    """By the normal distribution with Edgeworth's first correction, which is exact to 1 / place: DLMF 8.11.10."""
    from scipy.special import gammainc as expected
    from scipy.special import ndtr

    deviations = np.array([-4.0, -1.0, 0.0, 0.5, 2.0])
    a = place + deviations * np.sqrt(place) if place < 1e30 else np.full(5, place)
    found = rg.gammainc(a, np.full(5, place))
    if place <= 1e15:
        np.testing.assert_allclose(found, expected(a, place), rtol=2e-12)
    z = (place - a) / np.sqrt(place)
    np.testing.assert_allclose(found, ndtr(z), atol=3 / np.sqrt(place) + 1e-13)
    slopes = rg.jacobian(lambda a: rg.gammainc(a, place))(a) if place < 1e30 else np.zeros((5, 5))
    np.testing.assert_allclose(np.diag(slopes) * np.sqrt(place), -np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (place < 1e30),
                               atol=3 / np.sqrt(place) + 1e-9)


def test_of_order_zero_all_lies_at_zero():
    np.testing.assert_array_equal(rg.gammainc(np.zeros(2), np.array([0.5, 3.0])), [1, 1])
    np.testing.assert_array_equal(rg.gammaincc(np.zeros(2), np.array([0.5, 3.0])), [0, 0])


@pytest.mark.parametrize(("x", "y"), [(1e10, 1.0), (1e10, 0.3), (1e10, 1e10), (3.0, 1e12), (17.0, 16.0), (16.0, 15.9), (1e15, 2.5)])
def test_the_beta_function_of_great_numbers_keeps_its_digits_and_so_do_its_derivatives(x, y):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        s = mpmath.mpf(x) + y
        expected = mpmath.loggamma(x) + mpmath.loggamma(y) - mpmath.loggamma(s)
        slopes = [mpmath.digamma(x) - mpmath.digamma(s), mpmath.digamma(y) - mpmath.digamma(s)]
        bend, beta = mpmath.psi(1, x) - mpmath.psi(1, s), mpmath.exp(expected)
    np.testing.assert_allclose(rg.betaln(np.array(x), np.array(y)), float(expected), rtol=1e-14)
    np.testing.assert_allclose(rg.grad(rg.betaln, argnums=(0, 1))(np.array(x), np.array(y)), [float(slope) for slope in slopes], rtol=1e-13)
    np.testing.assert_allclose(rg.grad(rg.grad(rg.betaln))(np.array(x), np.array(y)), float(bend), rtol=1e-11)
    np.testing.assert_allclose(rg.beta(np.array(x), np.array(y)), float(beta), rtol=1e-13)


@pytest.mark.parametrize("function", [_incomplete.lower, _incomplete.upper])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_rows_that_need_fewer_steps_than_others_have_the_same_digits(function, order):
    rng = np.random.default_rng(order)
    a, x = rng.gamma(1.0, 3.0, 400) + 1e-3, rng.gamma(1.0, 5.0, 400) + 1e-3
    alone = np.concatenate([function(order, a[i : i + 1], x[i : i + 1]) for i in range(400)])
    np.testing.assert_allclose(function(order, a, x), alone, rtol=1e-13, atol=2e-13)
    np.testing.assert_allclose(function(order, a, x, 2.0**-34), alone, rtol=1e-8, atol=1e-9)
