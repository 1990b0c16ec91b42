"""solve_ivp: SciPy's solutions, and their derivatives beside formulas and differences."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, GraphError, TraceError

scipy_integrate = pytest.importorskip("scipy.integrate")
solve_ivp = rg.scipy.integrate.solve_ivp
TIGHT = {"rtol": 1e-9, "atol": 1e-10}
WEIGHTS = np.random.default_rng(0).normal(size=(2, 3))


def damped(t, y, a, b):
    return [y[1] * b, -rg.numpy.sin(y[0]) * a[0] - a[1] * y[1] * t]


def weighted(x, **options):
    """A number made of a solution: x holds the start (2), parameters (2 and 1) and three times."""
    y = solve_ivp(damped, (0.0, 0.6), x[:2], t_eval=x[5:], args=(x[2:4], x[4]), **options, **TIGHT).y
    return (y * WEIGHTS + y**2).sum()


X = np.array([0.7, -0.3, 1.3, 0.5, 0.9, 0.1, 0.2, 0.5])


def differences(function, x, step=1e-4):
    return np.stack([(np.asarray(function(x + step * e)) - np.asarray(function(x - step * e))) / (2 * step) for e in np.eye(x.size)])


@pytest.mark.parametrize("sensitivity", ["forward", "adjoint"])
@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_gradients_of_each_method_agree_with_differences(method, sensitivity):
    found = rg.grad(lambda x: weighted(x, method=method, sensitivity=sensitivity))(X)
    assert found == pytest.approx(differences(lambda x: weighted(x, method="DOP853"), X), abs=2e-6)


@pytest.mark.parametrize("sensitivity", ["forward", "adjoint"])
def test_second_derivatives_and_forward_ones_agree(sensitivity):
    gradient = rg.grad(lambda x: weighted(x, method="DOP853", sensitivity=sensitivity))
    direction = np.linspace(-1, 1, 8)
    wanted = (gradient(X + 1e-4 * direction) - gradient(X - 1e-4 * direction)) / 2e-4
    assert rg.jvp(gradient, (X,), (direction,))[1] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("sensitivity", ["forward", "adjoint"])
def test_times_that_scipy_chooses_are_constants_and_the_last_one_is_the_end(sensitivity):
    grown = lambda end, rate: solve_ivp(lambda t, y, rate: rate * y, (0.0, end), [2.0], args=(rate,), sensitivity=sensitivity, **TIGHT).y
    assert rg.grad(lambda end: grown(end, 0.5)[0, -1])(1.0) == pytest.approx(np.exp(0.5), rel=1e-6)
    assert rg.grad(lambda rate: grown(1.0, rate)[0, -1])(0.5) == pytest.approx(2 * np.exp(0.5), rel=1e-6)
    begun = lambda start: solve_ivp(lambda t, y: t * y, (start, 1.0), [1.0], sensitivity=sensitivity, **TIGHT).y[0, -1]
    assert rg.grad(begun)(0.3) == pytest.approx(-0.3 * np.exp(0.5 - 0.045), rel=1e-6)
    inner = lambda rate: solve_ivp(lambda t, y, r: r * y, (0.0, 1.0), [1.0], args=(rate,), sensitivity=sensitivity, **TIGHT)
    assert rg.jacobian(lambda rate: inner(rate).y[0])(0.5) == pytest.approx(inner(0.5).t * np.exp(0.5 * inner(0.5).t), rel=1e-6)


def test_time_may_go_back():
    found = lambda y0: solve_ivp(lambda t, y: -y * t, (1.0, 0.0), y0, t_eval=[1.0, 0.5, 0.0], **TIGHT).y[0]
    assert rg.jacobian(found)(np.array([1.0]))[:, 0] == pytest.approx(np.exp([0, 0.375, 0.5]), rel=1e-6)


def stiff(t, y, k):
    return rg.stack([-k * (y[0] - rg.cos(t)), y[0] - y[1]])


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_a_stiff_problem_has_its_derivative_by_going_along_and_an_error_by_going_back(method):
    end = lambda k, **options: solve_ivp(stiff, (0.0, 2.0), [0.0, 1.0], method, t_eval=[2.0], args=(k,), **options, **TIGHT).y[1, 0]
    wanted = (end(500.5) - end(499.5)) / 1.0
    assert rg.grad(lambda k: end(k))(500.0) == pytest.approx(wanted, rel=1e-3)
    with pytest.raises(GraphError, match=r"unstable.*sensitivity=.forward."):
        rg.grad(lambda k: end(k, sensitivity="adjoint"))(500.0)


def test_odeint_says_where_going_back_is_unstable():
    end = lambda k: rg.scipy.integrate.odeint(lambda y, t, k: -k * y, [1.0], [0.0, 1.0], (k,))[1, 0]
    with pytest.raises(GraphError, match="going back in time is unstable"):
        rg.grad(end)(60.0)
    assert rg.grad(end)(1.0) == pytest.approx(-np.exp(-1), rel=1e-6)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_implicit_methods_get_the_jacobian(method):
    k = 300.0
    by_hand = scipy_integrate.solve_ivp(
        lambda t, y: np.array([-k * (y[0] - np.cos(t)), y[0] - y[1]]), (0, 1), [0.0, 1.0], method,
        jac=lambda t, y: np.array([[-k, 0.0], [1.0, -1.0]]))
    ours = solve_ivp(stiff, (0, 1), [0.0, 1.0], method, args=(k,))
    assert (ours.nfev, ours.njev, ours.nlu) == (by_hand.nfev, by_hand.njev, by_hand.nlu)
    assert np.allclose(ours.y, by_hand.y, rtol=1e-8)


def test_many_parameters_go_back_in_time():
    rng = np.random.default_rng(0)
    w = rng.normal(size=(6, 6)) * 0.3
    end = lambda w: (solve_ivp(lambda t, y, w: rg.tanh(w @ y), (0, 1), np.ones(6), t_eval=[1.0], args=(w,), **TIGHT).y ** 2).sum()
    direction = rng.normal(size=(6, 6))
    wanted = (end(w + 1e-5 * direction) - end(w - 1e-5 * direction)) / 2e-5
    assert (rg.grad(end)(w) * direction).sum() == pytest.approx(wanted, rel=1e-6)


def test_options_and_results_are_those_of_scipy():
    hit = lambda t, y, a: y[0] - 0.5
    hit.terminal = True
    ours = solve_ivp(lambda t, y, a: -a * y, (0, 5), [1.0], events=hit, dense_output=True, args=(1.0,), max_step=0.1)
    theirs = scipy_integrate.solve_ivp(lambda t, y, a: -a * y, (0, 5), [1.0], events=hit, dense_output=True, args=(1.0,), max_step=0.1)
    assert type(ours) is type(theirs)
    assert ours.t_events[0] == theirs.t_events[0] == pytest.approx(np.log(2), abs=1e-4)
    assert np.array_equal(ours.y, theirs.y)
    assert ours.sol(0.3) == theirs.sol(0.3)
    complex_one = solve_ivp(lambda t, y: 1j * y, (0, 1), [1.0 + 0j], "BDF")
    assert complex_one.y[0, -1] == pytest.approx(np.exp(1j), abs=0.02)
    vectorized = lambda a: solve_ivp(lambda t, y, a: -a * y, (0, 1), [1.0, 2.0], "Radau", vectorized=True, args=(a,), **TIGHT).y[1, -1]
    assert rg.grad(vectorized)(1.0) == pytest.approx(-2 * np.exp(-1), rel=1e-6)


def test_what_has_no_derivative_is_refused():
    decay = lambda t, y, a: -a * y
    hit = lambda t, y, a: y[0] - 0.5
    with pytest.raises(ArgumentError, match="no derivatives with events"):
        rg.grad(lambda a: solve_ivp(decay, (0, 5), [1.0], events=hit, args=(a,)).y[0, -1])(1.0)
    with pytest.raises(ArgumentError, match="dense_output"):
        rg.grad(lambda a: solve_ivp(decay, (0, 5), [1.0], dense_output=True, args=(a,)).y[0, -1])(1.0)
    with pytest.raises(ArgumentError, match="y0 is complex"):
        rg.grad(lambda a: rg.abs(solve_ivp(decay, (0, 5), [1.0 + 1j], args=(a,)).y[0, -1]))(1.0)
    with pytest.raises(ArgumentError, match="reads a tensor from outside"):
        rg.grad(lambda a: solve_ivp(lambda t, y: -a * y, (0, 5), [1.0]).y[0, -1])(1.0)
    with pytest.raises(ArgumentError, match="sensitivity must be"):
        solve_ivp(decay, (0, 5), [1.0], args=(1.0,), sensitivity="back")
    with pytest.raises(TraceError, match="solve_ivp runs SciPy"):
        rg.jit(lambda a: solve_ivp(decay, (0, 5), [1.0], args=(a,)).y)(rg.tensor(1.0))
    with pytest.raises(GraphError, match="was not reached"):
        rg.grad(lambda a: solve_ivp(lambda t, y, a: a * y**2, (0, 2), [1.0], args=(a,)).y[0, -1])(1.0)
    # Where nothing is differentiated a tensor is a number.
    assert solve_ivp(decay, (0, 5), [1.0], events=hit, args=(rg.tensor(1.0),)).t_events[0] == pytest.approx(np.log(2), abs=1e-3)
