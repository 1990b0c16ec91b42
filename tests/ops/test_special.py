import mpmath
import numpy as np
import pytest

import retrograde as rg
from retrograde.ops.elementary.trigonometric import atan2, hypot, sinc
from retrograde.ops.special.entropies import xlogy
from retrograde.ops.special.error_function import erf, erfc
from retrograde.testing.gradients import check_gradients

RNG = np.random.default_rng(0)


def points(dtype):
    far = 9 if dtype == np.float32 else 26
    parts = RNG.uniform(-6, 6, 300), RNG.uniform(0.8, 3, 300), RNG.uniform(-6, far, 300), 10.0 ** RNG.uniform(-30, 0, 100)
    return np.concatenate(parts).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("ours", "exact"), [(erf, mpmath.erf), (erfc, mpmath.erfc)])
def test_errors_stay_within_two_units_in_the_last_place(ours, exact, dtype):
    x = points(dtype)
    z = ours(x)
    assert z.dtype == dtype
    with mpmath.workdps(40):
        for argument, found in zip(x.tolist(), z.tolist(), strict=True):
            expected = exact(argument)
            unit = float(np.spacing(dtype(abs(float(expected)))))
            assert abs(found - expected) <= 2 * unit, (argument, found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_error_functions_at_the_edges(dtype):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    np.testing.assert_array_equal(erf(x), [0, -0.0, 1, -1, np.nan])
    assert np.signbit(erf(x)[1])
    np.testing.assert_array_equal(erfc(x), [1, 1, 0, 2, np.nan])
    assert erfc(dtype(30)) == 0


def test_error_functions_of_any_shape_and_layout():
    x = RNG.standard_normal((70, 300))
    np.testing.assert_array_equal(erf(x[:, ::-2]), erf(np.ascontiguousarray(x[:, ::-2])))
    assert erf(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert erf(np.float32(0.5)).dtype == np.float32
    assert erf(np.array(0.5, np.float16)).dtype == np.float16
    assert erf(2) == erf(2.0)
    assert not isinstance(erf(rg.tensor([1, 2])).data[0], np.integer)


@pytest.mark.parametrize("function", [erf, erfc, sinc])
def test_derivatives_match_finite_differences(function):
    check_gradients(function, RNG.uniform(-3, 3, (3, 4)))


@pytest.mark.parametrize("function", [xlogy, hypot, atan2])
def test_derivatives_of_two_operands_match_finite_differences(function):
    check_gradients(function, (RNG.uniform(0.3, 3, (3, 4)), RNG.uniform(0.3, 3, (4,))))


def derivative(function, *point):
    x = [rg.tensor(p, dtype=rg.float64, requires_grad=True) for p in point]
    function(*x).backward()
    return [float(a.grad) for a in x]


def test_derivatives_at_removable_singularities_are_zero():
    assert derivative(sinc, 0.0) == [0]
    assert derivative(xlogy, 0.0, 0.0) == [0, 0]
    assert derivative(hypot, 0.0, 0.0) == [0, 0]
    assert derivative(atan2, 0.0, 0.0) == [0, 0]
    assert xlogy(0.0, 0.0) == 0
    assert np.isnan(xlogy(0.0, np.nan))


@pytest.mark.parametrize("x", [1e-8, 1e-3, 0.1, 0.2499, 0.2501, 0.5, 3.0])
def test_the_derivatives_of_sinc_are_precise_near_zero(x):
    with mpmath.workdps(40):
        first, second = (float(mpmath.diff(lambda t: mpmath.sinc(mpmath.pi * t), x, n)) for n in (1, 2))
    t = rg.tensor(x, dtype=rg.float64, requires_grad=True)
    assert float(rg.grad(sinc)(t)) == pytest.approx(first, rel=1e-11)
    assert float(rg.grad(rg.grad(sinc))(t)) == pytest.approx(second, rel=1e-8)


def test_hypot_and_atan2_do_not_overflow():
    assert derivative(hypot, 1e300, 1e300) == pytest.approx([0.5**0.5] * 2)
    assert derivative(atan2, 1e200, 1e200) == pytest.approx([0.5e-200, -0.5e-200])
