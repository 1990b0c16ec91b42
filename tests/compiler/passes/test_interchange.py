"""Interchange: loops without products whose rows keep to themselves go through all iterations a chunk of rows after the other."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.nn import functional

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

X = np.random.default_rng(0).standard_normal((600, 200))


def softmax(x):
    return functional.softmax(x, dim=-1)


FUNCTIONS = {
    "softmax": (lambda x: rg.scan(lambda c, _: (softmax(c * 3), None), x, length=5)[0], True),
    "an odd number of rows and iterations": (lambda x: rg.scan(lambda c, _: (softmax(c * 3), None), x[:593], length=1)[0], True),
    "stacked": (lambda x: rg.scan(lambda c, _: (softmax(c * 3), c.max(axis=1)), x, length=4), True),
    "with rows handed in": (lambda x: rg.scan(lambda c, r: (softmax(c * r), None), x, X[:4, :200] + 3.0)[0], True),
    "in reverse": (lambda x: rg.scan(lambda c, r: (softmax(c + r), c), x, X[:4, :200] + 3.0, reverse=True), True),
    "two carried": (lambda x: rg.scan(lambda c, _: ((softmax(c[0] + c[1]), c[0] * 0.5 + c[1]), None), (x, x * 2), length=4)[0], True),
    "meeting the row before": (lambda x: rg.scan(lambda c, _: (softmax(rg.roll(c, 1, 0) * 3), None), x, length=5)[0], False),
    "meeting all rows": (lambda x: rg.scan(lambda c, _: (softmax(c - c.mean(axis=0)), None), x, length=5)[0], False),
    "of unknown length": (lambda x: rg.while_loop(lambda c: c.max() > 0.1, lambda c: softmax(c), x), False),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_go_through_all_iterations_apart_where_they_never_meet_with_the_same_numbers_for_any_number_of_threads(name):
    function, is_interchanged = FUNCTIONS[name]
    wanted, found = rg.tree.leaves(function(rg.tensor(X))), []
    for threads in (1, 2):
        rg.set_num_threads(threads)
        try:
            step = rg.jit(function)
            found.append(rg.tree.leaves(step(rg.tensor(X))))
            (chunks,) = [kernel.chunks for kernel in step.explain().kernels if kernel.kind == "repeat"]
            assert (chunks > 1) is is_interchanged
        finally:
            rg.set_num_threads(2)
    for one, two, expected in zip(*found, wanted, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one, expected, rtol=1e-11, atol=1e-14)


def test_a_derivative_is_right_too():
    step = rg.grad(lambda x: (FUNCTIONS["softmax"][0](x) * X).sum())
    np.testing.assert_allclose(rg.jit(step)(X), step(X), rtol=1e-9, atol=1e-14)
