"""Digits: special functions and their derivatives to rounding where formulas cancel, vanish or overflow on the way, beside mpmath."""

import math

import numpy as np
import pytest

import retrograde as rg
from retrograde import special
from retrograde.ops.special.entropies import log1pmx

mpmath = pytest.importorskip("mpmath")
scipy_special = pytest.importorskip("retrograde.scipy.special")
scipy_stats = pytest.importorskip("retrograde.scipy.stats")
ROUNDING = 2.0**-53


def in_many_digits(function, *operands):
    with mpmath.workdps(60):
        return np.array([float(mpmath.re(function(*map(mpmath.mpf, numbers)))) for numbers in zip(*operands, strict=True)])


def everywhere(function, *operands):
    """The values of a function of tensors, eager; they must be those of compiled code to rounding."""
    found = function(*[rg.tensor(x) for x in operands]).data
    np.testing.assert_allclose(rg.jit(function)(*operands), found, rtol=1e-13)
    return found


def test_factorials_of_whole_numbers_are_the_nearest_floats_and_so_are_values_of_gamma():
    n = np.arange(171.0)
    expected = [float(math.factorial(int(k))) for k in n]
    np.testing.assert_array_equal(everywhere(scipy_special.factorial, n), expected)
    np.testing.assert_array_equal(rg.gamma(n + 1), expected)
    np.testing.assert_array_equal(everywhere(scipy_special.factorial, np.array([-1.0, -0.5])), [0, 0])


GAMMA_PLACES = np.array([1e-310, -3e-18, 1e-9, 0.3, 0.5, 1.2, 1.7, 2.6, 17.3, 32.9, 33.1, 106.9, 171.6, -0.4, -1.5, -27.7637, -60.2, -170.5, -178.3])


def test_gamma_and_its_inverse_value_are_right_to_rounding():
    expected = in_many_digits(mpmath.gamma, GAMMA_PLACES[1:])
    np.testing.assert_allclose(everywhere(rg.gamma, GAMMA_PLACES[1:]), expected, rtol=16 * ROUNDING, atol=1e-323)
    places = np.concatenate([GAMMA_PLACES, [172.5, 177.1, 500.0]])
    np.testing.assert_allclose(everywhere(rg.rgamma, places), in_many_digits(mpmath.rgamma, places), rtol=16 * ROUNDING, atol=1e-323)
    np.testing.assert_array_equal(rg.gamma(np.array([0.0, -0.0, -3.0, np.inf, -np.inf, np.nan])), [np.inf, -np.inf, *[np.nan] * 1, np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(rg.rgamma(np.array([0.0, -3.0, np.inf])), [0, 0, 0])
    np.testing.assert_allclose(rg.grad(lambda x: rg.gamma(x))(2.5), float(mpmath.gamma(2.5) * mpmath.digamma(2.5)), rtol=1e-14)


def test_digamma_beside_its_pole_at_zero_is_infinite():
    np.testing.assert_array_equal(rg.digamma(np.array([-1e-320, 1e-320])), [np.inf, -np.inf])
    np.testing.assert_array_equal(rg.jit(rg.digamma)(np.array([-1e-320, 1e-320])), [np.inf, -np.inf])


def test_logarithms_of_gamma_of_no_numbers_are_none():
    from retrograde.ops.special._log_gamma import log_gamma

    assert log_gamma(np.zeros(0)).shape == (0,)


def test_numbers_of_ways_are_whole_and_keep_their_digits_for_great_numbers():
    n, k = np.array([5.0, 52, 60, 1e10, 3e7, 3, -1, 2.5]), np.array([2.0, 5, 30, 3, 8, 7, 2, 4])
    found = everywhere(scipy_special.comb, n, k)
    np.testing.assert_array_equal(found[[0, 1, 5, 6, 7]], [10, 2598960, 0, 0, 0])
    np.testing.assert_allclose(found[2:5], in_many_digits(mpmath.binomial, n[2:5], k[2:5]), rtol=1e-13)
    np.testing.assert_allclose(rg.grad(lambda n: scipy_special.comb(n, 3.0))(1e10), 5e19, rtol=1e-9)


def test_angles_in_degrees_are_reduced_exactly():
    x = np.array([0.0, 30, 90, 180, 270, 360, 450, -90, 540, 1.8e7, 1e300])
    import scipy.special

    np.testing.assert_allclose(everywhere(scipy_special.sindg, x), scipy.special.sindg(x), rtol=4 * ROUNDING, atol=0)
    np.testing.assert_allclose(everywhere(scipy_special.cosdg, x)[:-1], scipy.special.cosdg(x)[:-1], rtol=4 * ROUNDING, atol=0)
    tangents = np.array([45.0, 60.0, 135, 180, -30, 720])
    np.testing.assert_allclose(everywhere(scipy_special.tandg, tangents), scipy.special.tandg(tangents), rtol=8 * ROUNDING, atol=0)
    np.testing.assert_allclose(rg.grad(lambda x: scipy_special.sindg(x))(400.0), math.cos(math.radians(40)) * math.pi / 180, rtol=1e-14)


def test_powers_of_ten_keep_their_digits():
    x = np.array([22.0, -290.3, 209.7, 1e-9])
    np.testing.assert_allclose(everywhere(scipy_special.exp10, x), in_many_digits(lambda x: mpmath.mpf(10) ** x, x), rtol=4 * ROUNDING)


def test_gelu_keeps_its_digits_far_below_zero():
    x = np.array([-4.0, -9.3, -20.1, -30.5, -37.0])
    expected = in_many_digits(lambda x: x * mpmath.ncdf(x), x)
    np.testing.assert_allclose(everywhere(rg.gelu, x), expected, rtol=1e-14)


SLOPES = {
    "erfcx": (special.erfcx, lambda x: 2 * x * mpmath.exp(x * x) * mpmath.erfc(x) - 2 / mpmath.sqrt(mpmath.pi), [-3.0, 0.0, 5, 19, 21, 400, 1e4]),
    "i0e": (special.i0e, lambda x: mpmath.exp(-abs(x)) * (mpmath.besseli(1, x) - mpmath.sign(x) * mpmath.besseli(0, x)),
            [0.5, -0.5, 30, 49, 51, -51, 1e3, 1e5]),
    "i1e": (special.i1e, lambda x: mpmath.exp(-abs(x)) * (mpmath.besseli(0, x) - (mpmath.sign(x) + 1 / x) * mpmath.besseli(1, x)),
            [0.5, -0.5, 30, 49, 51, -51, 1e3, 1e5]),
    "expm1": (rg.expm1, mpmath.exp, [-700.0, -40, -20, -1, 3]),
    "softsign": (rg.nn.functional.softsign, lambda x: 1 / (1 + abs(x)) ** 2, [1e-9, -0.5, 2, -1e9, 1e150]),
    "log1pmx": (log1pmx, lambda x: -x / (1 + x), [-0.9, 1e-12, 0.14, 0.16, 1e9]),
}


@pytest.mark.parametrize("name", SLOPES)
def test_a_derivative_that_vanishes_is_no_difference_of_great_numbers(name):
    function, slope, places = SLOPES[name]
    x = np.array(places, np.float64)
    with mpmath.workdps(60 if name != "erfcx" else 40):
        expected = [float(slope(mpmath.mpf(place))) for place in places]
    for form in (lambda f: f, rg.jit):
        np.testing.assert_allclose(form(rg.grad(lambda x: rg.sum(function(x))))(x), expected, rtol=2e-13)


def test_a_derivative_far_out_has_a_derivative():
    for function, place in ((special.erfcx, 60.0), (special.i0e, -60.0), (special.i1e, 60.0), (special.log_ndtr, 30.0),
                            (special.log_ndtr, -60.0)):
        slope = rg.grad(function)
        expected = (slope(place + 1e-4) - slope(place - 1e-4)) / 2e-4
        np.testing.assert_allclose(rg.grad(slope)(place), expected, rtol=1e-5)


def test_the_logarithm_of_a_normal_probability_has_the_bend_of_a_square_far_below_and_none_far_above():
    bend = rg.jit(rg.vmap(rg.grad(rg.grad(special.log_ndtr))))
    np.testing.assert_allclose(bend(np.array([-1e3, -1e5, -1e8, 60.0])), [-1 + 1e-6 - 6e-12, -1 + 1e-10, -1, 0], rtol=1e-11)


@pytest.mark.parametrize(("a", "b", "x"), [(1e4, 1e4, 0.5), (1e4, 2e4, 0.334), (5.0, 1e5, 3e-5), (1e6, 1e6, 0.5003), (20, 30, 1e-3),
                                           (300, 2, 0.999), (0.5, 0.5, 1e-10), (17, 16, 0.95)])
def test_the_density_of_the_beta_distribution_fits_for_great_parameters(a, b, x):
    with mpmath.workdps(60):
        p, q, place = mpmath.mpf(a), mpmath.mpf(b), mpmath.mpf(x)
        density = mpmath.exp((p - 1) * mpmath.log(place) + (q - 1) * mpmath.log1p(-place) - mpmath.loggamma(p) - mpmath.loggamma(q)
                             + mpmath.loggamma(p + q))
        bend = density * ((p - 1) / place - (q - 1) / (1 - place))
    slope = rg.grad(lambda x: rg.regularized_beta(x, a, b))
    np.testing.assert_allclose([slope(x), rg.jit(slope)(np.float64(x))], float(density), rtol=1e-12)
    np.testing.assert_allclose(rg.grad(slope)(x), float(bend), rtol=1e-11, atol=1e-8)


def test_the_density_of_the_beta_distribution_at_its_ends():
    bends = [rg.grad(rg.grad(lambda x, a=a, b=b: rg.regularized_beta(x, a, b)))(x)
             for a, b, x in ((20, 2, 1.0), (2, 20, 0.0), (2, 3, 0.0), (20, 3, 0.0), (20, 1, 1.0))]
    np.testing.assert_allclose(bends, [-420, 420, 12, 0, 380], rtol=1e-12)
    assert np.isnan(rg.grad(lambda x: rg.regularized_beta(x, 2, 3))(-0.5))


def test_a_divergence_of_nearly_equal_numbers_keeps_its_digits():
    x, y = np.ones(5), np.array([1 + 1e-9, 1 - 1e-5, 1.3, 0.4, 7.0])
    expected = in_many_digits(lambda x, y: x * mpmath.log(x / y) - x + y, x, y)
    np.testing.assert_allclose(everywhere(scipy_special.kl_div, x, y), expected, rtol=1e-14)


def test_tails_of_distributions_have_their_digits():
    import scipy.stats

    x = np.array([3.0, 40.0, 1e9])
    np.testing.assert_allclose(scipy_stats.t.sf(rg.tensor(x), 6.5).data, scipy.stats.t.sf(x, 6.5), rtol=1e-13)
    np.testing.assert_allclose(everywhere(lambda x: scipy_stats.gamma.sf(x, 2.5), np.array([0.5, 600.0])), scipy.stats.gamma.sf([0.5, 600.0], 2.5), rtol=1e-12)
    np.testing.assert_allclose(everywhere(lambda x: scipy_stats.chi2.sf(x, 5.0), np.array([0.5, 1200.0])), scipy.stats.chi2.sf([0.5, 1200.0], 5.0), rtol=1e-12)
    np.testing.assert_allclose(everywhere(lambda mu: scipy_stats.poisson.sf(80, mu), np.array([2.0])), scipy.stats.poisson.sf(80, 2.0), rtol=1e-12)
    expected = in_many_digits(lambda k: mpmath.exp(k * mpmath.log(1e6) - 1e6 - mpmath.loggamma(k + 1)), [998_000.0])
    np.testing.assert_allclose(scipy_stats.poisson.pmf(998_000.0, rg.tensor(1e6, dtype=rg.float64)).data, expected[0], rtol=1e-13)
    np.testing.assert_allclose(everywhere(lambda x: scipy_stats.gamma.pdf(x, 998_001.0), np.array([1e6])), expected, rtol=1e-13)


def test_students_density_of_many_degrees_is_the_normal_one():
    x = np.array([0.3, 2.0])
    expected = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(everywhere(lambda x: scipy_stats.t.pdf(x, 1e13), x), expected, rtol=1e-12)


def test_a_norm_of_scipys_does_not_overflow_on_the_way():
    from retrograde.scipy import linalg

    rows = np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]])
    np.testing.assert_allclose(everywhere(lambda x: linalg.norm(x, axis=1), rows), [5e200, 5e-200, 0], rtol=4 * ROUNDING)
    np.testing.assert_allclose(linalg.norm(rg.tensor(np.array([1e20], np.float32))).data, np.float32(1e20))
    np.testing.assert_allclose(rg.grad(lambda x: linalg.norm(x))(rows[0]), [0.6, 0.8], rtol=4 * ROUNDING)
    assert linalg.norm(rg.tensor([1.0, 0.0, 3.0]), 0).data == 2


def test_equations_of_a_stack_of_factors_with_one_vector_have_the_solutions_of_each():
    from retrograde.scipy import linalg

    x, y = np.array([[[2.0, 1], [1, 3]], [[4, 1], [1, 5]]]), np.array([1.0, 2.0])
    expected = np.linalg.solve(x, y)
    np.testing.assert_allclose(linalg.solve(rg.tensor(x), rg.tensor(y), assume_a="pos").data, expected, rtol=1e-14)
    np.testing.assert_allclose(linalg.cho_solve((rg.tensor(np.linalg.cholesky(x)), True), y).data, expected, rtol=1e-14)
