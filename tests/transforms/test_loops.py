"""Loops and branches: eager they are Python's, compiled they are machine code; values and derivatives are the same."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, DTypeError, GraphError, ShapeError

X, Y = np.random.default_rng(0).standard_normal((2, 3))


def agree(function, *args, rtol=1e-11):
    compiled = rg.jit(function)
    for ours, theirs in zip(rg.tree.leaves(compiled(*args)), rg.tree.leaves(function(*args)), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=rtol, atol=1e-14)


@pytest.mark.parametrize("start", [3.0, 99.0, 300.0])
def test_while_loop_stops_where_pythons_does(start):
    agree(lambda x: rg.while_loop(lambda c: c[0] < 100, lambda c: (c[0] * 2, c[1] + 1), (x, 0)), np.array(start))


def test_while_loop_can_be_differentiated_eager_and_says_why_not_compiled():
    double = lambda x: rg.while_loop(lambda c: c < 100, lambda c: c * 2, x)
    assert rg.grad(double)(3.0) == 64.0
    with pytest.raises(GraphError, match=r"rg\.scan"):
        rg.jit(rg.grad(double))(np.array(3.0))
    agree(lambda x: rg.grad(lambda y: y * double(x))(x), np.array(3.0))


def _while(body, x):
    return rg.while_loop(lambda c: c[1] < 3, lambda c: (body(c[0]), c[1] + 1), (x, rg.asarray(0)))[0]


WHILES = {
    "what is carried": lambda x: rg.while_loop(lambda c: c.sum() < 100, lambda c: c * 1.5 + rg.sin(c), x),
    "what is used from outside": lambda x: rg.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, rg.sin(c[1]) * x), (0, x * 2))[1],
    "outside alone": lambda x: rg.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] + x * c[0]), (0, np.ones(2)))[1],
    "a parameter": lambda x: rg.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * WEIGHT), (0, x))[1].sum() * x,
    "one after the other": lambda x: rg.while_loop(
        lambda c: c.sum() < 20, lambda c: c * c + 1, rg.while_loop(lambda c: c.sum() < 5, lambda c: c * 1.1 + x, x)),
    "one in the other": lambda x: rg.while_loop(lambda c: c.sum() < 20, lambda c: rg.while_loop(
        lambda d: d.sum() < c.sum() + 1, lambda d: d * 1.1 + x, c), x),
    "no iteration": lambda x: rg.while_loop(lambda c: c.sum() < -5, lambda c: c * c + 1, x),
    "computed bounds": lambda x: rg.fori_loop(0, (x.sum() * 3).astype("int64"), lambda i, c: rg.sin(c) * x, x),
    "a gradient inside": lambda x: rg.while_loop(
        lambda c: c.sum() < 20, lambda c: c + rg.grad(lambda v: (v**3).sum())(c) * 0.1 + x, x),
    "with a loop in it": lambda x: _while(lambda h: rg.scan(lambda c, u: (rg.sin(c) + u * x, c), h, np.ones(2))[0], x),
    "with a checkpoint in it": lambda x: _while(lambda h: rg.checkpoint(lambda c: rg.sin(c) * c, h), x),
    "a change of a change": lambda x: rg.jvp(
        lambda y: rg.while_loop(lambda c: c.sum() < 20, lambda c: c * c * y + 1, y), (x,), (x * 2,))[1],
}


@pytest.mark.parametrize("name", WHILES)
def test_while_loop_has_forward_derivatives_compiled(name):
    x, v = np.array([0.5, 0.6]), np.array([1.0, -0.3])
    function = lambda x, v: rg.jvp(WHILES[name], (x,), (v,))
    for found, expected in zip(rg.jit(function)(x, v), function(x, v), strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)


def test_forward_derivative_of_a_while_loop_reads_what_that_read_and_draws_what_it_drew():
    factor, generator = rg.tensor([2.0, 3.0], dtype="float64"), rg.random.Generator(3)

    def walk(x):
        draw = lambda c: c * factor + rg.randn(2, generator=generator, dtype="float64") * c
        found = rg.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, draw(c[1])), (0, x))[1]
        with rg.no_grad():
            factor.__imul__(10)
        return found

    x = np.array([1.0, 2.0])
    value, change = rg.jit(lambda x: rg.jvp(walk, (x,), (x,)))(x)
    np.testing.assert_allclose(change, value, rtol=1e-12)
    assert factor.tolist() == [20.0, 30.0]
    drawn = generator.get_state()
    generator.manual_seed(3)
    rg.randn(6, generator=generator, dtype="float64")
    np.testing.assert_array_equal(np.asarray(generator.get_state()), np.asarray(drawn))


def test_reverse_derivatives_of_forward_ones_and_of_unknown_ones_are_refused():
    square = lambda x: rg.while_loop(lambda c: c.sum() < 20, lambda c: c * c + x, x)
    for f in (lambda x: rg.grad(lambda y: rg.grad(lambda z: square(z).sum())(y).sum())(x),
              lambda x: rg.grad(lambda y: rg.jvp(square, (y,), (y,))[1].sum())(x),
              lambda x: rg.hessian(lambda y: square(y).sum())(x)):
        with pytest.raises(GraphError, match=r"rg\.scan"):
            rg.jit(f)(np.array([0.5, 0.6]))


def test_fori_loop_counts_and_is_differentiable():
    f = lambda x: rg.fori_loop(2, 6, lambda i, c: c * x + i, x)
    assert f(1.0) == 1 + 2 + 3 + 4 + 5
    agree(f, np.array(0.7))
    agree(rg.grad(f), np.array(0.7))
    agree(rg.grad(rg.grad(f)), np.array(0.7))
    assert rg.jit(lambda x: rg.fori_loop(3, 3, lambda i, c: c * i, x))(np.array(2.0)) == 2.0


@pytest.mark.parametrize("count", [0, 1, 6])
def test_fori_loop_takes_bounds_that_are_computed(count):
    agree(lambda x, n: rg.fori_loop(0, n, lambda i, c: c * x + i, x), np.array(0.7), np.array(count))


@pytest.mark.parametrize("shift", [2.0, -2.0])
def test_cond_takes_one_branch_and_its_derivatives(shift):
    def f(x, y):
        found = rg.cond(x.sum() > 0, lambda a: (rg.sqrt(rg.abs(a.sum())) * y, a * 2), lambda a: (rg.sin(a.sum()) * y, a * 3), x)
        return sum([(part**2).sum() for part in found])

    agree(f, X + shift, Y)
    agree(rg.grad(f, (0, 1)), X + shift, Y)
    agree(rg.grad(lambda *args: sum([(g**2).sum() for g in rg.grad(f, (0, 1))(*args)]), (0, 1)), X + shift, Y, rtol=1e-9)


def test_what_is_not_chosen_adds_no_nan_to_gradients():
    f = rg.grad(lambda x: rg.cond(x > 0, lambda: rg.sqrt(x), lambda: x * 3))
    assert rg.jit(f)(np.array(-1.0)) == 3.0
    assert rg.jit(f)(np.array(4.0)) == 0.25
    assert rg.jit(f)(np.array(0.0)) == 3.0


def test_a_tensor_that_one_branch_uses_has_gradient_zero_in_the_other():
    f = rg.grad(lambda x, y: rg.cond(x.sum() > 0, lambda: (x**2).sum(), lambda: (y**3).sum()), (0, 1))
    for x in (X + 3, X - 3):
        agree(f, x, Y)
        assert any(np.all(np.asarray(g) == 0) for g in rg.jit(f)(x, Y))


def test_random_numbers_are_drawn_in_the_branch_that_runs_alone():
    f = rg.grad(lambda x: rg.cond(x.sum() > 0, lambda: (rg.dropout(x * x, 0.5)).sum(), lambda: x.sum()))
    for x in (np.abs(X), -np.abs(X)):
        rg.manual_seed(5)
        eager, after = f(x), rg.rand(2).numpy()
        rg.manual_seed(5)
        np.testing.assert_allclose(rg.jit(f)(x), eager)
        assert np.array_equal(rg.rand(2).numpy(), after)


@pytest.mark.parametrize("index", range(-1, 4))
def test_switch_takes_the_branch_of_its_number(index):
    branches = [lambda x: x.sum(), lambda x: (x**2).sum(), lambda x: (x**3).sum()]
    agree(rg.grad(lambda x, i: rg.switch(i, branches, x)), X, np.array(index))


def test_branches_within_a_scan():
    def f(x, rows):
        step = lambda c, y: rg.cond(y.sum() > 0, lambda: (c * y, c.sum()), lambda: (rg.tanh(c) - y, y.sum()))
        last, sums = rg.scan(step, x, rows)
        return (last**2).sum() + (sums**2).sum()

    rows = np.random.default_rng(1).standard_normal((6, 3))
    agree(f, X, rows)
    agree(rg.grad(f, (0, 1)), X, rows)


def test_what_is_wrong_is_named():
    truth = np.array(True)
    with pytest.raises(ShapeError, match=r"same shapes, got \(3,\) and \(\) for leaf 0"):
        rg.jit(lambda p, x: rg.cond(p, lambda: x, lambda: x.sum()))(truth, X)
    with pytest.raises(DTypeError, match=r"float64 and float32"):
        rg.jit(lambda p, x: rg.cond(p, lambda: x, lambda: x.astype("float32")))(truth, X)
    with pytest.raises(ShapeError, match="same structure"):
        rg.jit(lambda p, x: rg.cond(p, lambda: (x, x), lambda: [x, x]))(truth, X)
    with pytest.raises(ArgumentError, match=r"rg\.where"):
        rg.jit(lambda x: rg.cond(x > 0, lambda: x, lambda: -x))(X)
    with pytest.raises(ShapeError, match=r"rg\.all"):
        rg.jit(lambda x: rg.while_loop(lambda c: c < 3, lambda c: c + 1, x))(X)
    with pytest.raises(ArgumentError, match="at least one branch"):
        rg.switch(0, [])
    with pytest.raises(ShapeError, match="carry was"):
        rg.while_loop(lambda c: True, lambda c: rg.stack([c, c]), X)


WEIGHT = rg.tensor(2.0, dtype=rg.float64)
KINDS = {
    "fori": lambda x, n: rg.fori_loop(0, 3, lambda i, c: c + i * x, x),
    "fori with bounds that are computed": lambda x, n: rg.fori_loop(0, n, lambda i, c: c + i * x, x),
    "while": lambda x, n: rg.while_loop(lambda c: c.sum() < 9, lambda c: c * 2, x),
    "while with a number": lambda x, n: rg.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x)),
    "while that a tensor ends": lambda x, n: rg.while_loop(lambda c: c.sum() < WEIGHT * 4, lambda c: c * 2, x),
    "an array and a tensor": lambda x, n: rg.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * WEIGHT), (n * 0, x * WEIGHT)),
    "an array that becomes a tensor": lambda x, n: rg.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * WEIGHT), (0, x)),
    "an array that becomes one late": lambda x, n: rg.fori_loop(0, 3, lambda i, c: (c[1], c[1] * WEIGHT), (x, x)),
    "a gradient of the carry": lambda x, n: rg.fori_loop(0, 3, lambda i, c: rg.grad(lambda y: (y**2).sum())(c), x),
    "scan": lambda x, n: rg.scan(lambda c, row: (c + row, (row * 2, row * WEIGHT)), 0.0, x),
    "cond": lambda x, n: rg.cond(n > 1, lambda: (x * 2, x * WEIGHT), lambda: (x, WEIGHT * x)),
    "cond that a tensor decides": lambda x, n: rg.cond(WEIGHT > 1, lambda: x * 2, lambda: x),
    "cond of a number": lambda x, n: rg.cond(n > 1, lambda: x.sum(), lambda: 0.0),
}


@pytest.mark.parametrize("make", [np.array, rg.tensor])
@pytest.mark.parametrize("name", KINDS)
def test_results_are_arrays_or_tensors_as_they_are_eager(name, make):
    function, x, n = KINDS[name], make(np.array([0.5, 1.5])), make(np.array(3))
    found, expected = rg.tree.leaves(rg.jit(function)(x, n)), rg.tree.leaves(function(x, n))
    for a, b in zip(found, expected, strict=True):
        assert isinstance(a, rg.Tensor) is isinstance(b, rg.Tensor)
        assert a.dtype == getattr(b, "dtype", a.dtype)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b))


def test_a_number_is_not_cut_to_what_the_body_makes_of_it():
    with pytest.raises(DTypeError, match="became int64"):
        rg.jit(lambda x: rg.while_loop(lambda c: c < 3, lambda c: x + 1, 0.5))(np.array(4))


VECTOR, COUNT = np.array([1, 2]), np.array(3)
REFUSED = [
    (lambda n: rg.cond(n, lambda: 1, lambda: 2), VECTOR, ArgumentError, r"cond needs one truth value, got shape \(2,\)"),
    (lambda n: rg.cond("no", lambda: 1, lambda: 2), COUNT, DTypeError, "cond needs a truth value, got str"),
    (lambda n: rg.cond(None, lambda: 1, lambda: 2), COUNT, DTypeError, "cond needs a truth value, got NoneType"),
    (lambda n: rg.switch(n, [lambda: 1, lambda: 2]), VECTOR, ArgumentError, r"switch needs one integer for index, got shape \(2,\)"),
    (lambda n: rg.switch(n / 2, [lambda: 1, lambda: 2]), COUNT, DTypeError, r"switch needs an integer for index, got (float64|1\.5)"),
    (lambda n: rg.switch(0.5, [lambda: 1, lambda: 2]), COUNT, DTypeError, r"got 0\.5; convert it by int\(\)"),
    (lambda n: rg.fori_loop(0, 2.5, lambda i, c: c, n), COUNT, DTypeError, r"fori_loop needs an integer for upper, got 2\.5"),
    (lambda n: rg.fori_loop(0, n * 0.5, lambda i, c: c, n), COUNT, DTypeError, r"for upper, got (float64|1\.5)"),
    (lambda n: rg.fori_loop(n, 3, lambda i, c: c, n), VECTOR, ArgumentError, r"one integer for lower, got shape \(2,\)"),
    (lambda n: rg.fori_loop("a", 3, lambda i, c: c, n), COUNT, DTypeError, "for lower, got a"),
]


@pytest.mark.parametrize("way", ["array", "tensor", "jit"])
@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_is_no_truth_value_and_no_integer_is_refused(case, way):
    function, number, error, message = REFUSED[case]
    run = rg.jit(function) if way == "jit" else function
    with pytest.raises(error, match=message):
        run(rg.tensor(number) if way == "tensor" else number)


@pytest.mark.parametrize("number", [2, np.int32(2), np.array(2), np.array([2], np.uint8), rg.tensor(2), rg.tensor([2])], ids=str)
def test_one_integer_of_any_kind_is_a_bound_and_an_index(number):
    for run in (lambda f: f, rg.jit):
        assert run(lambda n: rg.fori_loop(0, n, lambda i, c: c * 2, 1))(number) == 4
        assert run(lambda n: rg.switch(n, [lambda: 5, lambda: 6, lambda: 7]))(number) == 7
        assert run(lambda n: rg.cond(n > 1, lambda: 5, lambda: 6))(number) == 5


COUNTED = {
    "scaled": lambda i, c: c + i * 0.1, "reflected": lambda i, c: 0.5 * i - c, "divided": lambda i, c: c * (i / 2 + 1),
    "compared": lambda i, c: c + (i > 1) * 0.5, "a power": lambda i, c: c * 0.9**i, "chosen": lambda i, c: rg.where(c > i, c, i + 0.5),
    "in a function": lambda i, c: rg.maximum(c, i), "in a function of NumPy": lambda i, c: np.multiply(c, i) + c,
    "an exponent": lambda i, c: c**i + 1, "a position": lambda i, c: c + c[i % 2],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("body", COUNTED.values(), ids=COUNTED)
def test_the_number_of_an_iteration_behaves_as_an_integer_of_python_in_every_form(body, dtype):
    x = rg.tensor(np.array([1.0, 2.0]).astype(np.dtype(dtype)))

    def loop(x, count=3):
        return rg.fori_loop(0, count, body, x)

    wanted = loop(x)
    found = [rg.jit(loop)(x), rg.jit(rg.vmap(loop))(x[None])[0], rg.jit(lambda x, n: loop(x, n))(x, np.array(3))]
    for z in found:
        assert z.dtype == wanted.dtype == x.dtype
        np.testing.assert_allclose(z.astype("float64").numpy(), wanted.astype("float64").numpy(), rtol=0.02 if dtype == "bfloat16" else 1e-6)
