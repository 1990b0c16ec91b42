"""Branches and loops under vmap: each example takes its own way, as it does in a Python loop over the examples."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import DTypeError, GraphError, ShapeError, TraceError

X = np.array([0.5, -1.5, 3.0, -0.25])
WEIGHT = rg.tensor(2.0, dtype=rg.float64)


def collatz(n):
    return rg.while_loop(lambda s: s[0] != 1, lambda s: (rg.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, n * 0))[1]


FUNCTIONS = {
    "cond": lambda x: rg.cond(x > 0, rg.sin, rg.exp, x),
    "cond with trees": lambda x: rg.cond(x > 0, lambda x: {"a": x, "b": (x * 2, WEIGHT)}, lambda x: {"a": -x, "b": (x, x)}, x),
    "cond of what is the same": lambda x: rg.cond(WEIGHT > 1, rg.sin, rg.exp, x),
    "cond in a cond": lambda x: rg.cond(x > 0, lambda x: rg.cond(x > 1, rg.sin, rg.cos, x), rg.exp, x),
    "switch": lambda x: rg.switch((x + 2).astype("int64"), [rg.sin, rg.cos, lambda x: x * WEIGHT], x),
    "while": lambda x: rg.while_loop(lambda y: abs(y) < 10, lambda y: y * WEIGHT, x),
    "while with a count": lambda x: rg.while_loop(lambda s: s[0] < 4 + x, lambda s: (s[0] + 1, s[1] * x), (x * 0, x)),
    "while that never runs": lambda x: rg.while_loop(lambda y: y > 99, lambda y: y + 1, x),
    "while of what is the same": lambda x: rg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1],
    "fori": lambda x: rg.fori_loop(0, (x + 2).astype("int64"), lambda i, y: y * 1.5 + i, x),
    "while whose body makes the difference": lambda x: rg.while_loop(lambda y: abs(y) < 10, lambda y: y * 2 + x, 0.0),
    "while with a count and such a body": lambda x: rg.while_loop(
        lambda s: s[0] + abs(s[1]) < 6, lambda s: (s[0] + 1, s[1] + x), (0, 0))[1],
    "cond of numbers": lambda x: rg.cond(x > 0, lambda: 0.5, lambda: 2.0) * x,
    "cond of a number": lambda x: rg.cond(x > 0, rg.sin, lambda x: 1, x),
    "switch of a number": lambda x: rg.switch((x + 2).astype("int64"), [lambda x: 0.5, rg.cos, lambda x: (x > 0) * WEIGHT], x),
    "while in a cond": lambda x: rg.cond(x > 0, lambda x: rg.while_loop(lambda y: abs(y) < 9, lambda y: y * 2, x), rg.exp, x),
}


def leaves(found):
    return [np.asarray(leaf.detach() if isinstance(leaf, rg.Tensor) else leaf) for leaf in rg.tree.leaves(found)]


@pytest.mark.parametrize("way", ["eager", "jit", "twice"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_take_the_ways_that_they_take_alone(name, way):
    function = FUNCTIONS[name]
    x = rg.tensor(X)
    if way == "twice":
        x = rg.stack([x, x * 0.9])
        found, rows = rg.vmap(rg.vmap(function))(x), [function(e) for e in x.reshape(-1)]
        expected = [np.stack(column).reshape(2, 4) for column in zip(*map(leaves, rows), strict=True)]
    else:
        found = (rg.jit(rg.vmap(function)) if way == "jit" else rg.vmap(function))(x)
        expected = [np.stack(column) for column in zip(*[leaves(function(e)) for e in x], strict=True)]
    for a, b in zip(leaves(found), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_loop_ends_when_its_last_example_has():
    numbers = np.array([1, 6, 7, 27])
    expected = [0, 8, 16, 111]
    assert rg.vmap(collatz)(numbers).tolist() == expected == rg.jit(rg.vmap(collatz))(numbers).tolist()


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("cond with trees", "while with a count")])
def test_derivatives_inside_and_outside_are_those_of_each_example(name):
    function = FUNCTIONS[name]
    expected = [rg.grad(function)(x) for x in X]
    np.testing.assert_allclose(rg.vmap(rg.grad(function))(X), expected, rtol=1e-12)
    np.testing.assert_allclose(rg.grad(lambda x: rg.vmap(function)(x).sum())(X), expected, rtol=1e-12)
    if "while" not in name and name != "fori":
        np.testing.assert_allclose(rg.jit(rg.vmap(rg.grad(function)))(X), expected, rtol=1e-12)
        np.testing.assert_allclose(rg.jit(rg.grad(lambda x: rg.vmap(function)(x).sum()))(X), expected, rtol=1e-12)


def test_numbers_become_what_the_other_branch_gives():
    x = rg.tensor(X, dtype=rg.float32)
    for way in (rg.vmap, lambda f: rg.jit(rg.vmap(f))):
        assert way(lambda x: rg.cond(x > 0, lambda: x, lambda: 0.5))(x).dtype == rg.float32
    for branches in ((lambda x: x > 0, lambda x: 1), (lambda x: x.astype("int64"), lambda x: 0.5)):
        with pytest.raises(DTypeError, match="same dtypes"):
            rg.vmap(lambda x, branches=branches: rg.cond(x > 0, *branches, x))(x)


@pytest.mark.parametrize("kind", [np.array, rg.tensor])
def test_a_loop_that_starts_with_a_number_has_one_dtype_eager_and_compiled(kind):
    x = kind(X)
    for start, step in ((0.0, lambda s, x: s + 1), (0, lambda s, x: s + 1), (0, lambda s, x: s + abs(x))):
        count = lambda x, start=start, step=step: rg.while_loop(lambda s: s < x, lambda s: step(s, x), start)
        found, expected = rg.jit(rg.vmap(count))(x), rg.vmap(count)(x)
        assert (type(found), found.dtype, found.tolist()) == (type(expected), expected.dtype, expected.tolist())


def test_a_traced_loop_of_examples_cannot_be_differentiated_as_without_vmap():
    for function in (rg.vmap(rg.grad(FUNCTIONS["while"])), rg.grad(lambda x: rg.vmap(FUNCTIONS["while"])(x).sum())):
        with pytest.raises(GraphError, match=r"rg\.scan"):
            rg.jit(function)(X)


def test_branches_must_agree_and_cannot_write_to_what_is_outside():
    with pytest.raises(ShapeError, match="same structure"):
        rg.vmap(lambda x: rg.cond(x > 0, lambda: x, lambda: (x, x)))(X)
    with pytest.raises(DTypeError, match="same dtypes"):
        rg.vmap(lambda x: rg.cond(x > 0, lambda: x, lambda: x.astype(rg.float32)))(X)
    count = rg.tensor(0.0)

    def counted():
        count[...] = count + 1
        return count * 1

    with pytest.raises(TraceError, match="both run"):
        rg.vmap(lambda x: rg.cond(x > 0, counted, lambda: count * 2))(X)
    assert count.item() == 0
