"""Values that leave the graph: what is turned into plain numbers while it is differentiated or traced is right, or an error."""

import copy
import importlib
import logging
import math
import pickle
import threading
import warnings

import numpy as np
import pytest

import retrograde as rg
from retrograde.core.leaving import DIFFERENTIATED
from retrograde.errors import DTypeError, GraphError, LeavesGraphWarning, LostGradientError, TraceError
from retrograde.tensor import outside

X = np.array([0.3, 0.7, 1.1])
M = np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3)
BUFFER = np.zeros(3)
FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


def differences(function, x=X, step=1e-6):
    """The gradient by central differences of what is computed without gradients."""
    found = np.zeros_like(x)
    for i in range(x.size):
        up, down = x.copy(), x.copy()
        up[i], down[i] = up[i] + step, down[i] - step
        found[i] = (np.sum(np.asarray(function(up))) - np.sum(np.asarray(function(down)))) / (2 * step)
    return found


def agrees(function, transform=rg.grad):
    np.testing.assert_allclose(transform(function)(X), differences(function), rtol=1e-6, atol=1e-8)


#: Arrays of values: what NumPy makes of lists of values, and computes with them.
LISTS = {
    "array": lambda x: (np.array([x[0], 2 * x[1]]) ** 2).sum(),
    "array of rows": lambda x: (np.array([[x[0], 1.0], [x[1], x[2]]]) @ X[:2]).sum(),
    "array of vectors": lambda x: (np.array([x, 2 * x]) ** 2).sum(),
    "asarray of a tensor": lambda x: (np.asarray(x) ** 2).sum(),
    "full": lambda x: np.full(3, x[0]).sum(),
    "functions": lambda x: (np.sin(np.array([x[0], x[1]])) * np.exp(np.array([x[1], x[2]]))).sum(),
    "inverse functions": lambda x: (np.arctan(np.array([x[0]])) + np.arcsin(np.array([x[1]])) + np.arctan2(np.array([x[0]]), 1.0)).sum(),
    "linspace": lambda x: (np.linspace(0, x[0], 5) ** 2).sum(),
    "norm": lambda x: np.linalg.norm([x[0], x[1]]),
    "of our ops": lambda x: (rg.atan(np.array([x[0], x[1]])) + rg.mean(np.array([x[1], x[2]]))).sum(),
    "one of tensors": lambda x: np.concatenate([np.array([x[0], x[1]]), x]).prod(),
    "plain beside": lambda x: (M @ np.array([x[0], x[1], x[2]])).sum(),
    "polynomial": lambda x: np.polyval([x[0], x[1]], 2.0),
    "returned": lambda x: np.array([x[0] * x[1]]),
    "stack": lambda x: (np.stack([x, x**2]) ** 2).sum(),
    "tensor before": lambda x: (x * np.array([x[0], x[1], x[2]])).sum(),
    "tensor behind": lambda x: (np.array([x[0], x[1], x[2]]) * x).sum(),
    "vectorize": lambda x: np.vectorize(lambda t: t**2)(x).sum(),
    "where": lambda x: np.where(np.array([x[0], x[1]]) > 0.5, np.array([x[0], x[1]]), 0).sum(),
}
#: What needs a number, or all the elements of a tensor, to go on.
NOT_TRACED = {"array of vectors", "asarray of a tensor", "vectorize", "where"}


@pytest.mark.parametrize("name", sorted(LISTS))
def test_arrays_of_values_keep_their_gradients(name):
    agrees(LISTS[name])


@pytest.mark.parametrize("name", sorted(LISTS.keys() - NOT_TRACED))
def test_arrays_of_values_keep_their_gradients_in_a_jitted_function(name):
    agrees(LISTS[name], lambda f: rg.jit(rg.grad(f)))


@pytest.mark.parametrize("name", sorted(NOT_TRACED))
def test_what_needs_numbers_of_a_traced_value_is_an_error(name):
    with pytest.raises(TraceError):
        rg.jit(rg.grad(LISTS[name]))(X)


def test_a_function_may_return_an_array_of_values():
    f = lambda x: np.array([x[0] * x[1], x[2] ** 2])
    wanted = [[0.7, 0.3, 0.0], [0.0, 0.0, 2.2]]
    for transform in (rg.jacobian, rg.jacfwd, lambda f: rg.jit(rg.jacobian(f))):
        np.testing.assert_allclose(transform(f)(X), wanted, atol=1e-12)
    np.testing.assert_allclose(rg.vmap(f)(np.stack([X, 2 * X])), [f(X), f(2 * X)])
    np.testing.assert_allclose(rg.jvp(f, (X,), (X,))[1], np.array(wanted) @ X)
    np.testing.assert_allclose(rg.vjp(f, X)[1](np.ones(2))[0], np.sum(wanted, 0))
    np.testing.assert_allclose(rg.jit(f)(X), f(X))


def test_arrays_of_values_have_second_derivatives():
    f = lambda x: np.prod(np.array([x[0], x[1] ** 2]))
    np.testing.assert_allclose(rg.hessian(f)(X[:2]), [[0, 1.4], [1.4, 0.6]])


def test_a_large_tensor_is_not_taken_apart():
    with pytest.raises(LostGradientError, match="more than 20,000 elements"):
        rg.grad(lambda x: np.asarray(x).sum())(np.ones(20_001))


def put(x):
    BUFFER[0] = x[0]
    return BUFFER.sum()


def put_all(x):
    BUFFER[:] = x
    return BUFFER.sum()


def through_scipy(module, name, *args):
    return lambda x: getattr(pytest.importorskip(module), name)(*[x if a is None else x * a if a is M else a for a in args])


#: Ways out, with what the error names.
LOSSES = {
    "a buffer": (put, r"BUFFER\[0\] = x\[0\]"),
    "a whole buffer": (put_all, r"BUFFER\[:\] = x"),
    "an item": (lambda x: x[0].item() ** 2, "detach"),
    "asarray with a dtype": (lambda x: np.asarray(x, np.float64).sum(), "detach"),
    "bincount": (lambda x: np.bincount([0, 1, 0], weights=x).sum(), r"use rg\.segment_sum"),
    "complex": (lambda x: abs(complex(x[0])), "by complex"),
    "determinant": (lambda x: np.linalg.det([[x[0], x[1]], [1.0, 2.0]]), r"use np\.linalg\.det of one tensor"),
    "fft": (through_scipy("scipy.fft", "fft", None), r"by scipy\.fft\.fft.*use rg\.fft\.fft"),
    "float": (lambda x: float(x[0]), "by float"),
    "float of all": (lambda x: float(x.sum()) * x.sum(), r"float64\[\], that depends on argument 0"),
    "int": (lambda x: int(x[0]), "by int"),
    "mathematics": (lambda x: math.exp(x[0]), r"by math\.exp.*use rg\.exp\(x\)"),
    "mean": (lambda x: np.mean(np.array([x[0], x[1]])), r"by numpy\.mean.*use np\.mean of one tensor"),
    "range": (lambda x: rg.linspace(0, x[0], 3).sum(), r"by rg\.linspace"),
    "signal": (through_scipy("scipy.signal", "convolve", None, X), r"use retrograde\.scipy\.signal\.convolve"),
    "solve": (through_scipy("scipy.linalg", "solve", M, X), r"by scipy\.linalg\.solve.*use retrograde\.scipy\.linalg\.solve"),
    "spline": (through_scipy("scipy.interpolate", "CubicSpline", X, None), r"by scipy\.interpolate\.CubicSpline"),
    "tensor": (lambda x: rg.tensor(x).sum(), r"x\.clone\(\)"),
    "tensor of a list": (lambda x: rg.tensor([x[0], x[1]]).sum(), r"rg\.stack"),
    "unique": (lambda x: np.unique(x).sum(), "detach"),
    "tolist": (lambda x: sum(x.tolist()), "detach"),
}


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_plain_numbers_of_what_is_differentiated_are_an_error_that_says_what_to_do(name):
    function, told = LOSSES[name]
    with pytest.raises(LostGradientError, match=told) as caught:
        rg.grad(function)(X)
    assert "test_leaving.py" in str(caught.value) and "detach()" in str(caught.value)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_plain_numbers_of_a_traced_value_are_an_error_that_names_the_line(name):
    with pytest.raises((TraceError, LostGradientError), match=r"test_leaving\.py"):
        rg.jit(rg.grad(LOSSES[name][0]))(X)


TRANSFORMS = {
    "grad": lambda f: rg.grad(f)(X),
    "hessian": lambda f: rg.hessian(f)(X),
    "jacfwd": lambda f: rg.jacfwd(f)(X),
    "jacobian": lambda f: rg.jacobian(f)(X),
    "jvp": lambda f: rg.jvp(f, (X,), (X,)),
    "linearize": lambda f: rg.linearize(f, X),
    "value_and_grad": lambda f: rg.value_and_grad(f)(X),
    "vjp": lambda f: rg.vjp(f, X),
    "vmap of grad": lambda f: rg.vmap(rg.grad(f))(np.stack([X, X])),
}


@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_every_transform_refuses_a_lost_gradient(name):
    with pytest.raises((LostGradientError, TraceError)):
        TRANSFORMS[name](lambda x: float(x.sum()) * x.sum())
    assert not DIFFERENTIATED


def test_the_body_of_a_loop_refuses_a_lost_gradient():
    def total(x):
        return rg.scan(lambda carry, row: (carry + math.sin(row), None), 0.0, x)[0]

    for transform in (rg.grad, lambda f: rg.jit(rg.grad(f))):
        with pytest.raises((LostGradientError, TraceError), match=r"math\.sin"):
            transform(total)(X)


def test_a_value_of_an_outer_derivative_is_known_within_an_inner_one():
    with pytest.raises(LostGradientError):
        rg.grad(lambda x: rg.grad(lambda y: y * float(x[0]))(1.0))(X)
    assert not DIFFERENTIATED


def test_another_thread_loses_no_gradient_either():
    raised = []

    def read(x):
        try:
            float(x)
        except LostGradientError as error:
            raised.append(error)

    def function(x):
        thread = threading.Thread(target=read, args=(x[0],))
        thread.start()
        thread.join()
        return x.sum()

    rg.grad(function)(X)
    assert len(raised) == 1


def test_what_nothing_is_lost_by_stays_as_it_is():
    """Comparing, formatting and printing, what does not depend on the argument, and what is detached."""
    weight, seen = rg.tensor([2.0], requires_grad=True), []

    def function(x):
        seen.extend([f"{x[0]:.1f}", "%.1f" % x[1],  # noqa: UP031 - it is what is tested
                     str(x), float(x[0].detach()), float(weight), math.floor(x.detach()[2]),
                     np.allclose(x, X), bool(x[0] < x[1]), x[0] in X])
        np.testing.assert_allclose(x, X)
        logging.getLogger("leaving").error("%.2f", x[0])
        with rg.no_grad():
            seen.append(float(x[0] * 2))
        return x.sum() if x[0] > 0 else x[0]

    np.testing.assert_array_equal(rg.grad(function)(X), np.ones(3))
    assert seen[:2] == ["0.3", "0.7"] and seen[3:] == [0.3, 2.0, 1, True, True, True, 0.6]


def test_a_value_that_outlives_its_transform_is_a_tensor_like_others():
    kept = []
    rg.grad(lambda x: (kept.append(x.sum()), x.sum())[1])(X)
    assert float(kept[0]) == X.sum()


def test_a_copy_of_what_is_differentiated_stays_in_the_graph():
    for copied in (copy.copy, copy.deepcopy):
        np.testing.assert_array_equal(rg.grad(lambda x: (copied({"x": [x]})["x"][0] ** 2).sum())(X), 2 * X)
        np.testing.assert_array_equal(rg.grad(lambda x: (copied(x) ** 2).sum())(X), 2 * X)
    with pytest.raises(LostGradientError):
        rg.grad(lambda x: pickle.loads(pickle.dumps(x)).sum())(X)
    assert rg.grad(lambda x: (rg.asarray([x[0], x[1]]) + rg.full((2,), x[2])).sum())(X).tolist() == [1, 1, 2]


def test_a_truth_value_has_no_gradient():
    for function in (lambda x: np.allclose(x, 1), lambda x: (x > 0).all(), lambda x: x[0] > 0):
        with pytest.raises(DTypeError, match="truth value"):
            rg.grad(function)(X)
    assert rg.grad(lambda x: 3)(2.0) == 0


# Other libraries.


def entries(kind):
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 5.0, 0.0], [0.0, 6.0, 0.0]])
    return getattr(sparse, f"{kind}_array")(dense), getattr(sparse, f"{kind}_matrix")(dense), dense


@pytest.mark.parametrize("kind", FORMATS)
def test_products_with_sparse_matrices_are_differentiated(kind):
    array, matrix, dense = entries(kind)
    wide = np.arange(6.0).reshape(3, 2)
    for sparse in (array, matrix):
        for function, same in (
            (lambda x: ((sparse @ x) ** 2).sum(), lambda x: ((dense @ x) ** 2).sum()),
            (lambda x: ((x @ sparse.T) ** 2).sum(), lambda x: ((x @ dense.T) ** 2).sum()),
            ((lambda x: (sparse.dot(x) * (dense @ x)).sum()) if kind != "coo" else (lambda x: ((sparse @ x) ** 2).sum()), lambda x: ((dense @ x) ** 2).sum()),
            (lambda x: ((sparse @ (wide * x[:, None])) ** 2).sum(), lambda x: ((dense @ (wide * x[:, None])) ** 2).sum()),
            (lambda x: (((wide * x[:, None]).T @ sparse.T) ** 2).sum(), lambda x: ((dense @ (wide * x[:, None])) ** 2).sum()),
        ):
            for transform in (rg.grad, rg.hessian, lambda f: rg.jit(rg.grad(f))):
                np.testing.assert_allclose(transform(function)(X), transform(same)(X), rtol=1e-12)
            several = np.stack([X, 2 * X])
            np.testing.assert_allclose(rg.vmap(rg.grad(function))(several), rg.vmap(rg.grad(same))(several), rtol=1e-12)


def test_a_complex_sparse_product_is_differentiated():
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.array([[1.0 + 2j, 0.0, 2.0], [0.0, 1j, 3.0]])
    found = rg.grad(lambda x: (abs(sparse.csr_array(dense) @ x) ** 2).sum())(X)
    np.testing.assert_allclose(found, rg.grad(lambda x: (abs(dense @ x) ** 2).sum())(X), rtol=1e-12)
    z = X * (1 + 0.5j)
    found = rg.grad(lambda x: (abs(sparse.csr_array(dense) @ x) ** 2).sum())(z)
    np.testing.assert_allclose(found, rg.grad(lambda x: (abs(dense @ x) ** 2).sum())(z), rtol=1e-12)


@pytest.mark.parametrize("name", ["S * x", "S + x", "S - x", "S / x", "x * S", "x + S"])
def test_of_sparse_matrices_and_tensors_there_is_only_the_product(name):
    array = entries("csr")[0]
    with pytest.raises((DTypeError, LostGradientError, TraceError), match=r"sparse|plain numbers"):
        rg.grad(lambda x: eval(name, {"S": array, "x": x}).sum())(X)
    with pytest.raises(LostGradientError):
        rg.grad(lambda x: array.multiply(x).sum())(X)


TABLES = {
    "column": lambda x, d, s: ((d["b"] * x) ** 2).sum(),
    "column behind": lambda x, d, s: ((x - d["b"]) ** 2).sum(),
    "difference": lambda x, d, s: ((s - x) ** 2).sum(),
    "inner product": lambda x, d, s: s @ x + x @ s,
    "inverse": lambda x, d, s: (s / x + x / s).sum(),
    "mean": lambda x, d, s: np.mean(x * s),
    "power": lambda x, d, s: (s**x).sum() + (x**s).sum(),
    "product": lambda x, d, s: (np.asarray((d @ x) ** 2).sum()),
    "product behind": lambda x, d, s: ((x @ d.T) ** 2).sum(),
    "table": lambda x, d, s: ((d * x) ** 2).sum() + ((x + d) ** 2).sum(),
    "twice": lambda x, d, s: (x * s * x).sum(),
    "where": lambda x, d, s: rg.where(x > 0.5, x * s, s).sum(),
}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_tables_of_pandas_meet_values_in_both_orders(name):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(M, columns=list("abc"))
    function = lambda x: TABLES[name](x, table, table["a"] + 1)
    plain = lambda x: TABLES[name](x, table.to_numpy() if name not in ("column", "column behind") else table, table["a"].to_numpy() + 1)
    wanted = differences(lambda x: np.asarray(plain(x)).sum())
    np.testing.assert_allclose(rg.grad(function)(X), wanted, rtol=1e-6)
    np.testing.assert_allclose(rg.jit(rg.grad(function))(X), wanted, rtol=1e-6)


def test_a_table_is_an_argument_of_a_jitted_function():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(X, index=list("abc"))
    np.testing.assert_allclose(rg.jit(lambda x: rg.sin(x).sum())(series), np.sin(X).sum())
    np.testing.assert_allclose(rg.jit(rg.grad(lambda x: rg.sin(x).sum()))(series), np.cos(X))
    np.testing.assert_allclose(rg.jit(lambda x: x * 2)(pandas.DataFrame(M)), 2 * M)


@pytest.mark.parametrize("name", ["Series", "mul"])
def test_what_pandas_makes_of_the_numbers_of_a_value_is_an_error(name):
    pandas = pytest.importorskip("pandas")
    make = {"Series": pandas.Series, "mul": pandas.DataFrame(M).mul}[name]
    with pytest.raises(LostGradientError, match=r"by pandas\.(Series|DataFrame\.mul)"):
        rg.grad(lambda x: make(x).sum().sum())(X)


LABELLED = {
    "before": lambda x, a: (a * x).sum().data,
    "behind": lambda x, a: (x * a * x).sum().data,
    "difference": lambda x, a: ((x - a) ** 2).sum().data,
    "functions": lambda x, a: np.sin(a * x).sum().data,
    "power": lambda x, a: (a**x + x**a).sum().data,
    "quotient": lambda x, a: (x / a + a / x).sum().data,
}


@pytest.mark.parametrize("name", sorted(LABELLED))
def test_labelled_arrays_meet_values_in_both_orders(name):
    xarray = pytest.importorskip("xarray")
    function = lambda x: LABELLED[name](x, xarray.DataArray(M[0] + 1, dims="x"))
    agrees(function)
    agrees(function, lambda f: rg.jit(rg.grad(f)))


def test_the_numbers_of_a_labelled_array_of_values_are_an_error():
    xarray = pytest.importorskip("xarray")
    with pytest.raises(LostGradientError, match=r"xarray\.DataArray\.values"):
        rg.grad(lambda x: (xarray.DataArray(X) * x).values.sum())(X)


# Outside of transforms.


def test_an_array_of_a_tensor_that_requires_gradients_warns_once_a_line():
    t = rg.tensor(X, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            np.asarray(t * 2)
        assert np.array([t[0], t[1]]).dtype == np.float64
        np.asarray(t.detach()), np.asarray(rg.jit(lambda x: x * 2)(t))
        with rg.no_grad():
            np.asarray(t)
    assert [w.category for w in caught] == [LeavesGraphWarning] * 2
    assert all(w.filename == __file__ for w in caught) and "detach()" in str(caught[0].message)


def test_numbers_for_people_do_not_warn():
    t = rg.tensor(X, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (float(t[0]), t[1].item(), t.tolist()[2], f"{t[0]:.1f}", np.allclose(t, X)) == (0.3, 0.7, 1.1, "0.3", True)
        np.testing.assert_allclose(t * 2, 2 * X)
        repr(t), t == X, (t > 0).all(), rg.tensor(t), rg.tensor([t[0], t[1]]), t._repr_html_()


def test_plotting_does_not_warn():
    pytest.importorskip("matplotlib").use("agg")
    plot = pytest.importorskip("matplotlib.pyplot")
    t = rg.tensor(X, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LeavesGraphWarning)
        plot.plot(t, t * 2), plot.scatter(t, t), plot.hist(t), plot.bar(t, t)
    plot.close("all")


def test_numpy_of_what_has_a_history_is_an_error():
    with pytest.raises(GraphError, match="numpy"):
        rg.grad(lambda x: x.numpy().sum())(X)


@pytest.mark.parametrize("module", sorted(outside.OF_SCIPY))
def test_every_counterpart_that_errors_name_is_there(module):
    pytest.importorskip("scipy")
    ours = importlib.import_module(f"retrograde.{module}")
    assert [name for name in outside.OF_SCIPY[module] if not hasattr(ours, name)] == []
    assert outside.instead_of("scipy.fft", "fft") == "rg.fft.fft" and outside.instead_of("math", "tau") is None
