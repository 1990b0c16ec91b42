"""Special functions against mpmath, at their edges, and in their derivatives."""

import mpmath
import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError
from retrograde.testing import check_gradients

RNG = np.random.default_rng(0)
SMALL = 10.0 ** RNG.uniform(-20, 0, 60)
POSITIVE = np.concatenate([RNG.uniform(0, 12, 200), SMALL, 10.0 ** RNG.uniform(0, 8, 60), 1 + SMALL / 2, 2 - SMALL / 2, 1 - SMALL / 2])
BOTH = np.concatenate([RNG.uniform(-20, 20, 200), SMALL, 10.0 ** RNG.uniform(0, 2, 60)])
PARTS = np.concatenate([RNG.uniform(0, 1, 200), SMALL, 1 - SMALL])


def inverse(function, ours):
    """The inverse of mpmath's `function` near what `ours` says, by Newton's method in logarithms."""
    return lambda p: mpmath.findroot(lambda y: mpmath.log(function(y)) - mpmath.log(p), float(ours(np.float64(p))))


CASES = [
    (rg.lgamma, lambda x: mpmath.log(abs(mpmath.gamma(x))) if x < 1e3 else mpmath.loggamma(x), POSITIVE),
    (rg.digamma, mpmath.digamma, POSITIVE),
    *[(lambda x, n=n: rg.polygamma(x, n), lambda x, n=n: mpmath.psi(n, x), np.concatenate([RNG.uniform(0.01, 30, 80), 10.0 ** RNG.uniform(0, 4, 40)]))
      for n in (1, 2, 3)],
    (rg.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), np.concatenate([RNG.uniform(-5, 30, 200), RNG.uniform(-26, 0, 30)])),
    (rg.erfinv, mpmath.erfinv, np.concatenate([PARTS, -PARTS])),
    (rg.erfcinv, inverse(mpmath.erfc, rg.erfcinv), np.concatenate([RNG.uniform(0, 2, 60), 10.0 ** RNG.uniform(-300, 0, 40)])),
    (rg.ndtr, mpmath.ncdf, RNG.uniform(-37, 8, 200)),
    (rg.log_ndtr, lambda x: mpmath.log(mpmath.ncdf(x)), np.concatenate([RNG.uniform(-40, 8, 200), RNG.uniform(-3, 3, 100)])),
    (rg.ndtri, inverse(mpmath.ncdf, rg.ndtri), np.concatenate([RNG.uniform(0, 0.49, 60), 10.0 ** RNG.uniform(-300, -1, 40)])),
    (rg.i0, lambda x: mpmath.besseli(0, x), BOTH), (rg.i1, lambda x: mpmath.besseli(1, x), BOTH),
    (rg.i0e, lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), BOTH), (rg.i1e, lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), BOTH),
    (rg.logit, lambda x: mpmath.log(x / (1 - x)), PARTS[(PARTS > 0) & (PARTS < 1)]),
]
NAMES = "lgamma digamma polygamma1 polygamma2 polygamma3 erfcx erfinv erfcinv ndtr log_ndtr ndtri i0 i1 i0e i1e logit".split()


@pytest.mark.parametrize(("ours", "exact", "points"), CASES, ids=NAMES)
def test_special_functions_stay_within_five_units_in_the_last_place(ours, exact, points):
    points = np.unique(points)
    with mpmath.workdps(40), np.errstate(all="ignore"):
        for x, found in zip(points.tolist(), ours(points).tolist(), strict=True):
            expected = exact(mpmath.mpf(x))
            if mpmath.isinf(expected) or abs(expected) > 1e308:
                continue
            assert abs(found - expected) <= 5 * np.spacing(abs(float(expected))), (x, found, float(expected))


@pytest.mark.parametrize(("ours", "exact", "points"), CASES, ids=NAMES)
def test_special_functions_in_single_precision_are_rounded_once(ours, exact, points):
    x = points.astype(np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ours(x), ours(x.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize(("ours", "exact"), [
    (rg.lgamma, lambda x: mpmath.log(abs(mpmath.gamma(x)))), (rg.digamma, mpmath.digamma),
    (lambda x: rg.polygamma(x, 1), lambda x: mpmath.psi(1, x)), (lambda x: rg.polygamma(x, 4), lambda x: mpmath.psi(4, x)),
], ids=["lgamma", "digamma", "polygamma1", "polygamma4"])
def test_gamma_functions_of_negative_numbers(ours, exact):
    points = np.random.default_rng(1).uniform(-15, 0, 200)
    with mpmath.workdps(40):
        for x, found in zip(points.tolist(), ours(points).tolist(), strict=True):
            expected = float(exact(mpmath.mpf(x)))
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-12), x


def test_digamma_of_negative_numbers_stays_precise_where_its_two_parts_cancel():
    points = -np.concatenate([RNG.uniform(0, 30, 200), RNG.uniform(0, 1e4, 100)])
    with mpmath.workdps(40):
        for x, found in zip(points.tolist(), rg.digamma(points).tolist(), strict=True):
            expected = mpmath.digamma(mpmath.mpf(x))
            assert abs(found - expected) <= 3 * max(np.spacing(abs(float(expected))), 2.0**-52), (x, found, float(expected))


def test_special_functions_at_their_edges():
    inf, nan = np.inf, np.nan
    edges = {
        rg.lgamma: ([0, -0.0, -3, inf, -inf, nan, 1, 2], [inf, inf, inf, inf, inf, nan, 0, 0]),
        rg.digamma: ([0.0, -0.0, -2, inf, nan], [-inf, inf, nan, inf, nan]),
        rg.erfinv: ([-1, 1, 0.0, 2, nan], [-inf, inf, 0.0, nan, nan]),
        rg.erfcinv: ([0, 2, 1, 3, nan], [inf, -inf, 0, nan, nan]),
        rg.ndtri: ([0, 1, 0.5, -1, nan], [-inf, inf, 0, nan, nan]),
        rg.ndtr: ([-inf, inf, nan], [0, 1, nan]), rg.log_ndtr: ([-inf, inf, nan], [-inf, 0, nan]),
        rg.erfcx: ([inf, nan], [0, nan]), rg.i0: ([0, inf, -inf, nan], [1, inf, inf, nan]), rg.i1: ([0, nan], [0, nan]),
        rg.logit: ([0, 1, 0.5, -1], [-inf, inf, 0, nan]), rg.entr: ([0, 1, -1, nan], [0, 0, -inf, nan]),
    }
    for function, (points, expected) in edges.items():
        np.testing.assert_array_equal(function(np.array(points, float)), expected, err_msg=function.__name__)


def test_gradients_at_removable_singularities():
    x = rg.tensor(np.zeros(1), requires_grad=True)
    (rg.i1(x) + rg.i1e(x)).backward(np.ones(1))
    assert x.grad.tolist() == [1.0]
    x, y = (rg.tensor(np.array([v]), requires_grad=True) for v in (0.0, -1.0))
    rg.xlog1py(x, y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([0.0], [0.0])


def test_the_logarithm_of_gamma_can_be_differentiated_four_times():
    check_gradients(rg.lgamma, RNG.uniform(0.5, 4, 5), order=4)


def test_the_logarithm_of_the_normal_distribution_has_a_gradient_far_out():
    points = [-40.0, -300.0]
    x = rg.tensor(np.array(points), requires_grad=True)
    rg.log_ndtr(x).sum().backward()
    np.testing.assert_allclose(x.grad.data, [float(mpmath.npdf(p) / mpmath.ncdf(p)) for p in points], rtol=1e-14)


def test_an_order_that_is_no_count_is_refused():
    with pytest.raises(ArgumentError, match="integer n"):
        rg.polygamma(np.ones(2), 1.5)
    with pytest.raises(ArgumentError, match="at least 0"):
        rg.polygamma(np.ones(2), -1)
