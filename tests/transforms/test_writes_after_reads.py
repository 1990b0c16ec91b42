"""What a loop, a branch or a checkpoint has read may be written to before its derivative is asked for: it is right, or an error."""

import numpy as np
import pytest

import retrograde as rg
from cube import Cube
from retrograde.errors import InplaceError

WRITES = {
    "all": lambda a: a.__setitem__(slice(None), 0.5),
    "a slice of all": lambda a: a.__setitem__(slice(0, None, 1), 0.5),
    "a row": lambda a: a.__setitem__(0, 0.5),
    "times two": lambda a: a.__imul__(2),
}


READERS = {
    "scan": lambda a, c: rg.scan(lambda k, r: (rg.tanh(k * 0.5 + r.sum()), k * r.sum()), c, a)[1],
    "scan that closes over it": lambda a, c: rg.scan(lambda k, r: (k * 0.5, (k * a).sum() * r), c, np.ones(3))[1],
    "fori_loop": lambda a, c: rg.fori_loop(0, 3, lambda i, k: k * a * c, a),
    "cond": lambda a, c: rg.cond(a.sum() > 0, lambda a, c: a * a * c, lambda a, c: a * c, a, c),
    "cond that closes over it": lambda a, c: rg.cond(a.sum() > 0, lambda: a * a * c, lambda: a * c),
    "checkpoint": lambda a, c: rg.checkpoint(lambda a, c: rg.sin(a * c) * a)(a, c),
    "checkpoint that closes over it": lambda a, c: rg.checkpoint(lambda c: rg.sin(a * c) * a)(c),
    "function": lambda a, c: Cube.apply(a) * c,
    "jit": lambda a, c: rg.jit(lambda a, c: rg.sin(a) * a * c)(a, c),
    "vmap": lambda a, c: rg.vmap(lambda r: rg.sin(r) * r * c)(a),
    "matmul": lambda a, c: (a @ a.T) * c,
}


def written(read, write):
    """The sum of what `read` gives of a value that is written to right after."""
    def function(a, c):
        a = a * 1
        found = read(a, c)
        write(a)
        return found.sum()
    return function


def slopes(function):
    return lambda *args: rg.grad(function, (0, 1))(*args)


def curvatures(function):
    return lambda *args: rg.grad(lambda *z: sum((g * g).sum() for g in slopes(function)(*z)), (0, 1))(*args)


def for_two(function):
    return lambda *args: [g[0] for g in rg.vmap(function)(*[np.stack([x, x]) for x in args])]


FORMS = {
    "eager": slopes,
    "jit": lambda f: rg.jit(slopes(f)),
    "vmap": lambda f: for_two(slopes(f)),
    "jit of vmap": lambda f: rg.jit(for_two(slopes(f))),
    "second": curvatures,
    "jit of second": lambda f: rg.jit(curvatures(f)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reader", READERS)
def test_the_gradient_is_that_of_what_was_read_and_not_of_what_was_written_since(reader, form):
    a, c = np.array([[1.0, 2.0], [0.3, 0.4]]), np.array(1.3)
    order = curvatures if "second" in form else slopes
    wanted = [np.asarray(g) for g in order(written(READERS[reader], lambda a: None))(a, c)]
    for name, write in WRITES.items():
        try:
            found = FORMS[form](written(READERS[reader], write))(a, c)
        except InplaceError:
            continue
        for x, y in zip(wanted, found, strict=True):
            np.testing.assert_allclose(np.asarray(y), x, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("compiled", [lambda f: f, rg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_function_that_writes_to_its_argument_is_refused_and_leaves_the_argument(write, compiled):
    def function(x):
        write(x)
        return (x * x).sum()

    x = np.array([[1.2, -0.4], [1.0, 0.5]])
    kept = x.copy()
    with pytest.raises(InplaceError, match="a leaf"):
        compiled(rg.grad(function))(x)
    np.testing.assert_array_equal(x, kept)


def test_an_inner_gradient_is_in_what_the_argument_was_when_the_function_was_called():
    def function(x):
        y = rg.cumsum(x).sum()
        x[0] = 5.0
        return y + (x[1] ** 3).sum()

    def plain(x):
        return rg.cumsum(x).sum() + (x[1] ** 3).sum()

    x = np.array([1.2, -0.4, 1.0])
    outer = lambda f: lambda z: (rg.grad(f)(z) ** 2).sum()
    np.testing.assert_allclose(rg.grad(outer(function))(x), rg.grad(outer(plain))(x), rtol=1e-12)
    np.testing.assert_allclose(rg.jit(rg.grad(outer(function)))(x), rg.grad(outer(plain))(x), rtol=1e-12)


@pytest.mark.parametrize("reader", ["cond", "checkpoint", "scan", "fori_loop"])
def test_a_pullback_that_is_traced_may_be_mapped_over_cotangents(reader):
    a, c = np.array([[1.0, 2.0], [0.3, 0.4]]), np.array(1.3)

    def found(a):
        _, pullback = rg.vjp(lambda a: READERS[reader](a, c).sum(), a)
        return rg.vmap(lambda seed: pullback(seed)[0])(np.array([1.0, 2.0]))

    wanted = rg.grad(lambda a: READERS[reader](a, c).sum())(a)
    np.testing.assert_allclose(rg.jit(found)(a), np.stack([wanted, 2 * wanted]), rtol=1e-9)


def test_a_matrix_without_numbers_leaves_the_gradients_of_the_others_in_a_stack():
    x = np.random.default_rng(0).normal(size=(3, 3, 3))
    x[1, 0, 0] = np.nan
    slope = rg.grad(lambda x: (rg.adjugate(x) ** 2).sum())
    with np.errstate(invalid="ignore"):
        found = np.asarray(rg.vmap(slope)(x))
    assert np.isnan(found[1]).all()
    for k in (0, 2):
        np.testing.assert_allclose(found[k], slope(x[k]), rtol=1e-9)


@pytest.mark.parametrize("view", [lambda x: x, lambda x: rg.squeeze(x), lambda x: x.T, lambda x: x[0]], ids=["itself", "squeeze", "T", "row"])
def test_a_view_that_a_branch_has_read_keeps_its_derivative_when_it_is_written_to(view):
    def function(x):
        base = rg.roll(x, -1, axis=1)
        y = view(base)
        z = rg.switch(rg.sum(rg.astype(y > 0, "int64")) % 2, (lambda c: c * 0.99 + rg.cos(c) * 0.1, lambda c: c * 2 + y), y * 1)
        y += 1
        return (z * z).sum() + base.sum()

    x = np.array([[[-1.2], [0.6]]])
    np.testing.assert_allclose(rg.jit(rg.grad(function))(x), rg.grad(function)(x), rtol=1e-12)
