"""What transforms, loops and branches give is in memory of its own: writes to it, or to what it was made from, show in one place."""

import numpy as np
import pytest

import retrograde as rg

X = np.array([-0.5, 0.25])

#: What gives its argument, or a view of it, back.
GIVEN = {
    "while_loop without an iteration": lambda x: rg.while_loop(lambda c: rg.sum(c * c) > 5, lambda c: c * 0.6, x),
    "while_loop that keeps a part": lambda x: rg.while_loop(lambda c: c[1] < 1, lambda c: (c[0], c[1] + 1), (x, rg.tensor(0.0)))[0],
    "fori_loop without an iteration": lambda x: rg.fori_loop(0, 0, lambda i, c: c * 2, x),
    "fori_loop of nothing": lambda x: rg.fori_loop(0, 2, lambda i, c: c, x),
    "scan without a step": lambda x: rg.scan(lambda c, _: (c * 2, None), x, length=0)[0],
    "scan of nothing": lambda x: rg.scan(lambda c, _: (c, None), x, length=2)[0],
    "cond": lambda x: rg.cond(rg.sum(x) < 5, lambda c: c, lambda c: c * 2, x),
    "cond of what it closes over": lambda x: rg.cond(rg.sum(x) < 5, lambda _: x, lambda c: c * 2, x * 1),
    "cond of a view": lambda x: rg.cond(rg.sum(x) < 5, lambda c: c[::-1], lambda c: c * 2, x),
    "switch": lambda x: rg.switch(rg.tensor(0), [lambda c: c, lambda c: c * 2], x),
    "jit": lambda x: rg.jit(lambda c: c)(x),
    "jit of a view": lambda x: rg.jit(lambda c: c[::-1])(x),
    "vmap": lambda x: rg.vmap(lambda c: c)(x),
    "vmap of a view": lambda x: rg.vmap(lambda c: c[::-1])(x[None])[0],
    "vjp": lambda x: rg.vjp(lambda c: c, x)[0],
    "pullback": lambda x: rg.vjp(lambda c: c, x * 1)[1](x)[0],
    "jvp": lambda x: rg.jvp(lambda c: c, (x,), (x * 1,))[0],
    "change of jvp": lambda x: rg.jvp(lambda c: c, (x * 1,), (x,))[1],
    "what stands beside": lambda x: rg.grad(lambda c: ((c * c).sum(), c), has_aux=True)(x)[1],
    "einsum": lambda x: rg.einsum("i->i", x),
}


def _base_written(given, x):
    y = given(x)
    x += 1
    return y * 1, x * 1


def _result_written(given, x):
    y = given(x)
    y *= 3
    return y * 1, x * 1


def _lazily(function):
    def run(x):
        with rg.lazy():
            return function(x)
    return run


FORMS = {"eager": lambda f: f, "jit": rg.jit, "lazy": _lazily, "vmap": lambda f: lambda x: [z[0] for z in rg.vmap(f)(x[None])]}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", GIVEN)
def test_what_is_given_back_shares_no_memory(name, form):
    order = slice(None, None, -1 if "view" in name else 1)
    for write, wanted in ((_base_written, (X[order], X + 1)), (_result_written, (X[order] * 3, X))):
        for made in (lambda x: x, lambda x: x * 1):
            found = FORMS[form](lambda x, write=write, made=made: write(GIVEN[name], made(x)))(rg.tensor(X.copy()))
            for got, expected in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("transform", [lambda f: rg.cond(True, f, f, _ARRAY), lambda f: rg.vmap(f)(_ARRAY), lambda f: rg.vjp(f, _ARRAY)[0]])
def test_an_array_that_a_function_gives_back_is_a_copy(transform):
    assert not np.shares_memory(transform(lambda c: c), _ARRAY)


_ARRAY = np.arange(3.0)


def test_a_gradient_does_not_pass_a_write_to_what_einsum_gave_on_to_its_operand():
    def function(x):
        y = x * 2
        z = rg.einsum("ij->ji", y)
        z *= 3
        return (z * z).sum() + y.sum()

    for derivative in (rg.grad(function), rg.jit(rg.grad(function))):
        np.testing.assert_allclose(derivative(np.ones((2, 3))), np.full((2, 3), 2 * 36 + 2.0))


@pytest.mark.parametrize("form", FORMS)
def test_a_reshape_to_a_list_shows_the_memory_of_its_source(form):
    def function(x):
        y = x * 1
        y.reshape([2, 1])[0] = 7.0
        return (y * 1,)

    np.testing.assert_array_equal(FORMS[form](function)(rg.tensor(X))[0], [7.0, 0.25])
