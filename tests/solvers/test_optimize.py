"""SciPy's optimizers with our derivatives, and derivatives through what they find, beside formulas, differences and SciPy itself."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, GraphError, LinAlgError, TraceError

scipy_optimize = pytest.importorskip("scipy.optimize")
optimize = rg.scipy.optimize

METHODS = ["Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYQA", "SLSQP", "trust-constr", "dogleg", "trust-ncg",
           "trust-krylov", "trust-exact"]


def rosen(x, a):
    return (a - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2


def distance(x, a):
    return ((x - a) ** 2).sum()


def differences(function, x, step=1e-5):
    x = np.asarray(x, float)
    moved = np.eye(x.size).reshape(x.size, *x.shape) * step
    return np.stack([(np.asarray(function(x + e)) - np.asarray(function(x - e))) / (2 * step) for e in moved], -1)


@pytest.mark.parametrize("method", METHODS)
def test_each_method_finds_the_minimum_and_its_derivative_is_exact(method):
    solved = lambda a: optimize.minimize(rosen, [1.2, 1.3], (a,), method)
    assert solved(1.5).success
    assert solved(1.5).x == pytest.approx([1.5, 2.25], abs=2e-3)
    assert rg.jacobian(lambda a: solved(a).x)(1.5) == pytest.approx(np.array([1.0, 3.0]), rel=1e-9)
    assert rg.grad(lambda a: solved(a).fun)(1.5) == pytest.approx(0, abs=3e-3)


@pytest.mark.parametrize("method", METHODS)
def test_methods_get_the_derivatives_that_they_take_and_no_others(method):
    """What SciPy is handed: the same number of iterations as with derivatives written by hand, and no finite differences."""
    slopes = lambda x, a: np.array([2 * (x[0] - a) - 40 * x[0] * (x[1] - x[0] ** 2), 20 * (x[1] - x[0] ** 2)])
    hess = lambda x, a: np.array([[2 - 40 * x[1] + 120 * x[0] ** 2, -40 * x[0]], [-40 * x[0], 20]])
    given = {} if method in ("Nelder-Mead", "Powell", "COBYQA") else {"jac": slopes}
    given |= {"hess": hess} if method in ("Newton-CG", "trust-constr", "dogleg", "trust-ncg", "trust-krylov", "trust-exact") else {}
    theirs = scipy_optimize.minimize(rosen, [1.2, 1.3], (1.5,), method, **given)
    ours = optimize.minimize(rosen, [1.2, 1.3], (1.5,), method)
    assert (ours.nfev, ours.nit) == (theirs.nfev, theirs.nit)
    assert ours.x == pytest.approx(theirs.x, rel=1e-6)


def test_a_callable_method_gets_gradients_and_products():
    def newton(fun, x0, args, jac, hessp, **_):
        bends = np.stack([hessp(x0, e) for e in np.eye(2)]) if hessp is not None else None
        return scipy_optimize.OptimizeResult(x=x0 - np.linalg.solve(np.eye(2) * 2, jac(x0)), success=True, fun=0.0, bends=bends)

    found = optimize.minimize(distance, [5.0, 7.0], (np.array([1.0, 2.0]),), newton)
    assert found.x == pytest.approx([1, 2])


def test_compiled_or_not_it_is_the_same_and_what_cannot_be_compiled_runs():
    seen = []

    def branching(x, a):
        seen.append(type(x))
        return rosen(x, a) if float(rg.stop_gradient(x[0])) > -10 else rosen(x, a) * 2

    wanted = optimize.minimize(rosen, [0.0, 0.0], (1.5,), compiled=False)
    for found in (optimize.minimize(rosen, [0.0, 0.0], (1.5,)), optimize.minimize(branching, [0.0, 0.0], (1.5,))):
        assert found.x == pytest.approx(wanted.x, rel=1e-7)
    assert len(seen) > 10


def test_a_compiled_function_is_traced_once_for_a_call():
    calls = []

    def counted(x):
        calls.append(1)
        return rosen(x, 1.5)

    assert optimize.minimize(counted, [0.0, 0.0]).nfev > 10
    assert len(calls) == 2  # once with numbers, to see what it reads, and once traced


def test_what_a_function_reads_from_outside_is_that_of_the_call():
    box = {"a": 1.0}
    function = lambda x: ((x - box["a"]) ** 2).sum()
    assert optimize.minimize(function, [0.0]).x == pytest.approx([1], abs=1e-5)
    box["a"] = 3.0
    assert optimize.minimize(function, [0.0]).x == pytest.approx([3], abs=1e-5)


def test_derivatives_of_the_user_are_used_as_they_are():
    calls = []

    def slopes(x, a):
        calls.append("jac")
        return 2 * (x - a)

    optimize.minimize(distance, [0.0], (2.0,), jac=slopes)
    assert calls
    both = lambda x, a: (distance(x, a), 2 * (x - a))
    assert rg.grad(lambda a: optimize.minimize(both, [0.0], (a,), jac=True).x[0])(2.0) == pytest.approx(1)


def least(a):
    """A minimum without a formula: of a function of three variables with parameters in its curvature."""
    weights = np.array([[1.0, 0.3, -0.2], [0.1, 1.2, 0.4], [0.0, 0.5, 0.9]])
    function = lambda x, a: rg.logsumexp(weights @ x * a) + 0.5 * (x**2).sum() + (rg.sin(a) * x).sum() + 0.1 * (x**4).sum()
    return optimize.minimize(function, np.zeros(3), (a,), tol=1e-10, method="BFGS", options={"gtol": 1e-9}).x


def test_first_and_higher_derivatives_agree_with_differences_in_both_directions():
    a = np.array([0.5, -0.3, 0.8])
    wanted = differences(least, a)
    assert rg.jacobian(least)(a) == pytest.approx(wanted, abs=1e-7)
    assert rg.jacfwd(least)(a) == pytest.approx(wanted, abs=1e-7)
    assert rg.jvp(least, (a,), (np.ones(3),))[1] == pytest.approx(wanted @ np.ones(3), abs=1e-7)
    second = rg.hessian(lambda a: least(a)[1])(a)
    assert second == pytest.approx(differences(rg.grad(lambda a: least(a)[1]), a), abs=1e-6)
    third = rg.jvp(rg.hessian(lambda a: least(a)[1]), (a,), (np.ones(3),))[1]
    moved = [rg.hessian(lambda a: least(a)[1])(a + sign * 1e-4) for sign in (1, -1)]
    assert third == pytest.approx((moved[0] - moved[1]) / 2e-4, abs=1e-5)


def test_a_rough_solution_has_an_exact_derivative_or_none():
    rough = lambda a: optimize.minimize(lambda x, a: rg.cosh(x - a**2).sum(), [1.0], (a,), method="Nelder-Mead",
                                        options={"xatol": 1e-3, "fatol": 1e-3}).x[0]
    assert abs(rough(1.3) - 1.69) > 1e-6
    assert rg.grad(rough)(1.3) == pytest.approx(2.6, rel=1e-9)
    rougher = lambda a: optimize.minimize(distance, [0.0], (a,), method="Nelder-Mead", options={"xatol": 5.0, "fatol": 50.0}).x[0]
    with pytest.raises(GraphError, match=r"too rough for a derivative.*smaller tol"):
        rg.grad(rougher)(1.3)


def test_a_solution_that_has_not_converged_has_no_derivative_but_its_numbers():
    unfinished = lambda a: optimize.minimize(rosen, [0.0, 0.0], (a,), options={"maxiter": 2})
    a = rg.tensor(1.5, requires_grad=True, dtype="float64")
    found = unfinished(a)
    assert not found.success
    assert found.x.shape == (2,)
    with pytest.raises(GraphError, match=r"no derivative: it has not converged \(Maximum number"):
        found.x.sum().backward()


def test_a_singular_solution_is_an_error():
    flat = lambda x, a: (x[0] + x[1] - a) ** 2
    with pytest.raises(LinAlgError, match="singular"):
        rg.jacobian(lambda a: optimize.minimize(flat, [0.0, 0.0], (a,)).x)(1.0)
    quartic = lambda a: optimize.minimize(lambda x, a: (x[0] - a) ** 4, [0.5], (a,), tol=1e-14).x[0]
    with pytest.raises((GraphError, LinAlgError), match=r"no derivative|rough"):
        rg.grad(quartic)(1.0)
    with pytest.raises(LinAlgError, match="singular"):
        rg.grad(lambda a: optimize.root(lambda x, a: x * 0 + x[0] - a, [0.0, 0.0], (a,)).x[0])(1.0)


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Nelder-Mead", "Powell", "COBYQA"])
def test_variables_held_by_bounds_stay_there(method):
    a = np.array([0.5, 2.0, -1.0])
    mixed = lambda x, a: distance(x, a) + 0.2 * x[0] * x[1] - 0.3 * x[1] * x[2]
    options = {"xtol": 1e-10, "ftol": 1e-12} if method == "Powell" else {}
    found = lambda a: optimize.minimize(mixed, [0.2, 0.3, 0.4], (a,), method, bounds=[(0, 1), (None, 1), (0, None)], options=options).x
    assert found(a) == pytest.approx([0.4, 1, 0], abs=2e-3)
    jac = rg.jacobian(found)(a)
    assert jac == pytest.approx(np.diag([1.0, 0, 0]), abs=1e-8)
    assert optimize.minimize(mixed, [0.2] * 3, (a,), bounds=scipy_optimize.Bounds(0, 1)).x == pytest.approx([0.4, 1, 0], abs=1e-5)


def test_a_bound_that_holds_by_accident_is_an_error():
    with pytest.raises(GraphError, match="at its bound and is not held by it"):
        rg.jacobian(lambda a: optimize.minimize(distance, [0.5], (a,), bounds=[(0, 1)]).x)(0.0)
    with pytest.raises(ArgumentError, match="bounds of minimize are numbers"):
        rg.jacobian(lambda a: optimize.minimize(distance, [0.5], (1.0,), bounds=[(0, a)]).x)(0.5)


def projected(a, b):
    """The point of the plane b · x = 1 nearest to a."""
    return a + b * (1 - (a * b).sum()) / (b * b).sum()


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_equations_are_kept_as_their_arguments_move(method):
    a, b = np.array([0.5, 2.0, -1.0]), np.array([1.0, 2.0, 0.5])

    def found(a, b):
        constraint = {"type": "eq", "fun": lambda x, b: (x * b).sum() - 1, "args": (b,)}
        return optimize.minimize(distance, np.ones(3), (a,), method, constraints=constraint, tol=1e-10).x

    assert found(a, b) == pytest.approx(projected(a, b), abs=1e-5)
    for number in (0, 1):
        assert rg.jacobian(found, number)(a, b) == pytest.approx(rg.jacobian(projected, number)(a, b), abs=1e-6)
    second = rg.hessian(lambda b: found(a, b)[1])(b)
    assert second == pytest.approx(rg.hessian(lambda b: projected(a, b)[1])(b), abs=1e-5)


def test_inequalities_count_where_they_hold():
    disc = {"type": "ineq", "fun": lambda x, r: r**2 - (x**2).sum(), "args": (1.0,)}
    found = lambda a: optimize.minimize(distance, [0.1, 0.1], (a,), method="SLSQP", constraints=[disc], tol=1e-9).x
    inside, outside = np.array([0.2, 0.3]), np.array([3.0, 4.0])
    assert rg.jacobian(found)(inside) == pytest.approx(np.eye(2), abs=1e-8)
    assert rg.jacobian(found)(outside) == pytest.approx(rg.jacobian(lambda a: a / rg.sqrt((a * a).sum()))(outside), abs=1e-6)
    by_radius = lambda r: optimize.minimize(distance, [0.1, 0.1], (outside,), method="SLSQP", constraints=[{**disc, "args": (r,)}]).x
    assert rg.jacobian(by_radius)(1.0) == pytest.approx([0.6, 0.8], abs=1e-6)
    with pytest.raises(GraphError, match="a constraint is at its limit and is not held"):
        rg.jacobian(found)(np.array([0.6, 0.8]))


#: What each solver reaches wherever its last digits are rounded; beyond that SciPy says that it has not converged.
TOLERANCES = {"SLSQP": 1e-8, "trust-constr": 1e-10, "COBYQA": 1e-7}


@pytest.mark.parametrize("method", TOLERANCES)
def test_constraints_of_all_kinds_get_their_derivatives(method):
    a = np.array([0.5, 2.0, -1.0])
    plane = scipy_optimize.LinearConstraint([[1.0, 1.0, 1.0]], 1.0, 1.0)
    ball = scipy_optimize.NonlinearConstraint(lambda x: (x**2).sum(), -np.inf, 2.0)
    found = lambda a: optimize.minimize(distance, np.full(3, 0.3), (a,), method, constraints=[plane, ball], tol=TOLERANCES[method]).x
    by_hand = scipy_optimize.minimize(distance, np.full(3, 0.3), (a,), "SLSQP", constraints=[plane, ball], tol=1e-12).x
    assert found(a) == pytest.approx(by_hand, abs=1e-4)
    centre = np.full(3, 1 / 3)
    exact = lambda a: centre + (radial := a - rg.mean(a)) * np.sqrt(2 - 1 / 3) / rg.sqrt((radial**2).sum())
    assert rg.jacobian(found)(a) == pytest.approx(rg.jacobian(exact)(a), abs=1e-4)


def test_the_start_may_be_a_tree_or_have_any_shape():
    function = lambda p, a: ((p["w"] - a) ** 2).sum() + (p["b"] - a.sum()) ** 2
    solved = lambda a: optimize.minimize(function, {"w": np.zeros((2, 2)), "b": 0.0}, (a,)).x
    a = np.arange(4.0).reshape(2, 2)
    assert solved(a)["w"] == pytest.approx(a, abs=1e-5)
    assert rg.jacobian(lambda a: solved(a)["b"])(a) == pytest.approx(np.ones((2, 2)))
    for method in ("Newton-CG", "trust-exact", "Nelder-Mead"):
        assert optimize.minimize(distance, np.zeros((2, 2)), (a,), method).x == pytest.approx(a, abs=1e-3)
    linear = optimize.root(lambda x: [x[0] @ x[0] - 4, x[1] - x[0]], [np.ones(1), np.ones(1)]).x
    assert [part.tolist() for part in linear] == [[pytest.approx(2)], [pytest.approx(2)]]


def test_tensors_read_from_outside_and_traced_calls_are_refused():
    with pytest.raises(ArgumentError, match=r"minimize reads a tensor from outside.*hand it over in args"):
        rg.grad(lambda a: optimize.minimize(lambda x: distance(x, a), [0.0]).x[0])(1.0)
    with pytest.raises(ArgumentError, match="root reads a tensor"):
        rg.grad(lambda a: optimize.root(lambda x: x - a, [0.0]).x[0])(1.0)
    with pytest.raises(ArgumentError, match="args of the constraint"):
        rg.grad(lambda a: optimize.minimize(distance, [0.0], (1.0,), constraints={"type": "eq", "fun": lambda x: x - a}).x[0])(1.0)
    with pytest.raises(TraceError, match="minimize runs SciPy"):
        rg.jit(lambda a: optimize.minimize(distance, [0.0], (a,)).x)(rg.tensor(1.0))


def test_results_are_those_of_scipy():
    found = optimize.minimize(rosen, [0.0, 0.0], (1.5,))
    assert isinstance(found, scipy_optimize.OptimizeResult)
    assert isinstance(found.x, np.ndarray)
    assert isinstance(found.fun, float)
    held = optimize.minimize(rosen, [0.0, 0.0], (rg.tensor(1.5, dtype="float64"),))
    assert isinstance(held.x, rg.Tensor)
    assert held.x.tolist() == found.x.tolist()


# Roots.
def coupled(x, a):
    return rg.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - a[0], 0.5 * (x[1] - x[0]) ** 3 + a[1] * x[1]])


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
def test_roots_and_their_derivatives(method):
    a = np.array([1.0, 1.2])
    found = lambda a: optimize.root(coupled, [0.8, 0.1], (a,), method).x
    theirs = scipy_optimize.root(lambda x: np.asarray(coupled(x, a)), [0.0, 0.0], tol=1e-12).x
    assert found(a) == pytest.approx(theirs, abs=1e-5)
    exact = lambda a: optimize.root(coupled, [0.0, 0.0], (a,), tol=1e-13).x
    assert rg.jacobian(found)(a) == pytest.approx(differences(exact, a), abs=1e-7)
    assert rg.hessian(lambda a: found(a)[0])(a) == pytest.approx(differences(rg.grad(lambda a: exact(a)[0]), a), abs=1e-6)


def test_what_is_no_root_has_no_derivative():
    with pytest.raises(GraphError, match="has not converged"):
        rg.grad(lambda a: optimize.root(lambda x, a: x**2 + a, [1.0], (a,)).x[0])(1.0)
    # To SciPy's "lm" the least squares are a success.
    nowhere = lambda a: optimize.root(lambda x, a: rg.stack([x[0] ** 2 + a, x[1]]), [1.0, 1.0], (a,), "lm").x[0]
    assert optimize.root(lambda x: np.array([x[0] ** 2 + 1, x[1]]), [1.0, 1.0], method="lm").success
    with pytest.raises((GraphError, LinAlgError), match="no derivative"):
        rg.grad(nowhere)(1.0)


@pytest.mark.parametrize("options", [
    {"bracket": (0, 2)}, {"x0": 1.0}, {"x0": 1.0, "method": "halley"}, {"x0": 1.0, "x1": 1.1, "method": "secant"},
    {"bracket": (0, 2), "method": "bisect"}, {"bracket": (0, 2), "method": "toms748"}])
def test_roots_of_one_variable(options):
    found = lambda a: optimize.root_scalar(lambda x, a: rg.cos(x) - a * x, (a,), **options).root
    assert found(1.0) == pytest.approx(0.7390851332)
    x = 0.7390851332151607
    assert rg.grad(found)(1.0) == pytest.approx(-x / (np.sin(x) + 1))
    assert rg.grad(rg.grad(found))(1.0) == pytest.approx(differences(lambda a: rg.grad(found)(a[0]), [1.0], 1e-4)[0], rel=1e-5)
    options = {"method": "newton", **options} if [*options] == ["x0"] else options
    theirs = scipy_optimize.root_scalar(lambda x: np.cos(x) - x, fprime=lambda x: -np.sin(x) - 1, fprime2=lambda x: -np.cos(x), **options)
    assert optimize.root_scalar(lambda x: rg.cos(x) - x, **options).iterations == theirs.iterations


def test_fixed_points():
    found = lambda a: optimize.fixed_point(lambda x, a: rg.sqrt(a * x + 2), np.ones(2), (a,))
    wanted = lambda a: (a + rg.sqrt(a * a + 8)) / 2
    a = np.array([0.5, 1.0])
    assert found(a) == pytest.approx(wanted(a))
    assert rg.jacobian(found)(a) == pytest.approx(rg.jacobian(wanted)(a))


# Least squares.
TIMES = np.linspace(0, 2, 12)


def misfit(x, y, scale=1.0):
    return (x[0] * rg.exp(-x[1] * TIMES) + x[2] - y) * scale


def observed():
    rng = np.random.default_rng(0)
    y = 2.5 * np.exp(-1.3 * TIMES) + 0.5 + rng.normal(size=12) * 0.05
    y[3] += 1.0
    return y


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_fits_and_their_derivatives_in_the_data(method, loss):
    if method == "lm" and loss != "linear":
        with pytest.raises(ValueError, match="linear"):
            optimize.least_squares(misfit, [1.0, 1.0, 0.0], method=method, loss=loss, args=(observed(),))
        return
    options = {"method": method, "loss": loss, "f_scale": 0.3}
    tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
    found = lambda y: optimize.least_squares(misfit, [1.0, 1.0, 0.0], args=(y,), **options)
    y = observed()
    theirs = scipy_optimize.least_squares(lambda x: np.asarray(misfit(x, y)), [1.0, 1.0, 0.0], **options, **tight)
    assert found(y).x == pytest.approx(theirs.x, rel=1e-3)
    assert rg.grad(lambda y: found(y).cost)(y) == pytest.approx(
        differences(lambda y: optimize.least_squares(misfit, [1.0, 1.0, 0.0], args=(y,), **options, **tight).cost, y), abs=1e-4)
    exact = lambda y: scipy_optimize.least_squares(
        lambda x: np.asarray(misfit(x, y)), theirs.x, jac=lambda x: np.asarray(rg.jacobian(misfit)(x, y)), **options, **tight).x
    direction = np.random.default_rng(1).normal(size=12)
    wanted = (exact(y + 1e-4 * direction) - exact(y - 1e-4 * direction)) / 2e-4
    assert rg.jvp(lambda y: found(y).x, (y,), (direction,))[1] == pytest.approx(wanted, rel=2e-3, abs=1e-3)


def test_bounds_of_least_squares_hold():
    a = np.array([0.5, 2.0, -1.0])
    for method in ("trf", "dogbox"):
        found = lambda a: optimize.least_squares(lambda x, a: x - a, [0.2, 0.3, 0.4], bounds=([0, 0, 0], [1, 1, 1]), args=(a,),
                                                 method=method).x
        assert rg.jacobian(found)(a) == pytest.approx(np.diag([1.0, 0, 0]), abs=1e-9)


def test_keyword_arguments_have_derivatives_too():
    wanted = rg.grad(lambda y: optimize.least_squares(misfit, [1.0, 1.0, 0.0], args=(y,)).x[1])(observed())
    found = rg.grad(lambda y: optimize.least_squares(misfit, [1.0, 1.0, 0.0], kwargs={"y": y, "scale": 1.0}).x[1])(observed())
    assert found == pytest.approx(wanted)


def test_a_loss_of_the_users_has_no_derivative_through_it():
    loss = lambda z: np.stack([z, np.ones_like(z), np.zeros_like(z)])
    with pytest.raises(GraphError, match=r"loss is a function of the user's"):
        rg.grad(lambda y: optimize.least_squares(misfit, [1.0, 1.0, 0.0], loss=loss, args=(y,)).x[0])(observed())


def test_curves_are_fitted_with_our_jacobian():
    curve = lambda x, a, b, c: a * rg.exp(-b * x) + c
    ours = optimize.curve_fit(curve, TIMES, observed())
    theirs = scipy_optimize.curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, TIMES, observed())
    assert ours[0] == pytest.approx(theirs[0], rel=1e-5)
    assert ours[1] == pytest.approx(theirs[1], rel=1e-4)
    with pytest.raises(ArgumentError, match="use least_squares"):
        rg.grad(lambda y: optimize.curve_fit(curve, TIMES, y)[0][0])(observed())
