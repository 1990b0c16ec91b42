"""Derivatives of odeint in every argument, first and second ones, beside differences and closed formulas."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError

pytest.importorskip("scipy")
odeint = rg.scipy.integrate.odeint
TIGHT = {"rtol": 1e-9, "atol": 1e-9}
WEIGHTS = np.random.default_rng(0).normal(size=(3, 2))


def damped(y, t, a, b):
    return [y[1] * b, -rg.numpy.sin(y[0]) * a[0] - a[1] * y[1] * t]


def weighted(x):
    """A number made of a solution: x holds the start (2), parameters (2 and 1) and three times."""
    states = odeint(damped, x[:2], x[5:], (x[2:4], x[4]), **TIGHT)
    return (states * WEIGHTS + states**2).sum()


def differences(function, x, step):
    return np.stack([(np.asarray(function(x + step * e)) - np.asarray(function(x - step * e))) / (2 * step) for e in np.eye(x.size)])


@pytest.mark.parametrize("times", [[0.0, 0.2, 0.5], [0.5, 0.2, -0.1]], ids=["rising", "falling"])
def test_first_second_and_mixed_derivatives_agree_with_differences(times):
    x, step = np.array([0.7, -0.3, 1.3, 0.5, 0.9, *times]), np.linspace(-1, 1, 8) * 1e-4
    gradient = rg.grad(weighted)
    np.testing.assert_allclose(gradient(x), differences(weighted, x, 1e-4), rtol=1e-5, atol=1e-6)
    wanted = (gradient(x + step) - gradient(x - step)) / 2e-4
    np.testing.assert_allclose(rg.jvp(gradient, (x,), (step / 1e-4,))[1], wanted, rtol=1e-5, atol=1e-6)


def test_the_second_derivative_in_time_sees_a_slope_that_depends_on_time():
    found = rg.hessian(lambda ts: np.sum(odeint(lambda y, t: -y * t, np.array([1.0]), ts)[1:]))(np.array([0.0, 0.5, 1.0]))
    curvature = lambda t: (t * t - 1) * np.exp(-t * t / 2)  # of exp((s² - t²) / 2) in t, at s = 0
    wanted = np.diag([np.exp(-0.125) + np.exp(-0.5), curvature(0.5), curvature(1.0)])
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def decay(y, t, a, *others):
    return -a * y * t


@pytest.mark.parametrize("call", [
    lambda a: odeint(decay, np.ones(1), [0.0, 1.0], args=(a,)), lambda a: odeint(func=decay, y0=[1.0], t=[0.0, 1.0], args=(a,)),
    lambda a: odeint(decay, 1.0, np.arange(2), (a, 3, "name", None)), lambda a: odeint(decay, np.ones(1), [0.0, 1.0], (a,), h0=0.01),
    lambda a: odeint(lambda t, y, a: decay(y, t, a), np.ones(1), [0.0, 1.0], (a,), tfirst=True),
    lambda a: odeint(lambda y, t, p: [-p["a"] * y[0] * t], np.ones(1), [0.0, 1.0], ({"a": a},)),
    lambda a: odeint(decay, np.ones(1), [0.0, 1.0], (a,), lambda y, t, a: np.array([[-float(a) * t]])),
    lambda a: odeint(decay, np.ones(1), [0.0, 1.0], (a,), full_output=True)[0],
    lambda a: odeint(decay, np.ones(1), [0.0, 1.0], (a,), rtol=np.array([1e-8])),
])
def test_arguments_have_gradients_however_they_are_given(call):
    assert rg.grad(lambda a: call(a)[1, 0])(0.7) == pytest.approx(-0.5 * np.exp(-0.35), rel=1e-6)


def test_a_tensor_that_the_slope_reads_from_outside_is_refused():
    with pytest.raises(ArgumentError, match="hand it over in args"):
        rg.grad(lambda a: odeint(lambda y, t: -a * y, np.ones(1), [0.0, 1.0]).sum())(0.7)
