"""simplify: what is left out changes neither values, shapes nor dtypes."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.graph.constants import is_uniform

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

X = np.array([[1.5, -2.0, 0.25]])
CASES = {
    "power 1 of a larger shape": lambda x: x ** np.ones((2, 1, 3)),
    "power 2 of a larger shape": lambda x: x ** np.full((2, 1, 3), 2.0),
    "power 1": lambda x: x ** 1,
    "power 0": lambda x: x ** 0,
    "powers 3 and 4": lambda x: x**3 - rg.exp(x) ** 4,
    "power 3 of integers": lambda x: x.astype("int32") ** 3,
    "power 3 of what is not finite": lambda x: (x / np.array([0.0, -0.0, np.inf])) ** 3,
    "times one of a larger shape": lambda x: x * np.ones((4, 1)),
    "divided by one of a larger shape": lambda x: x / np.ones((4, 1)),
    "times ones of a wider dtype": lambda x: x.astype("float32") * np.ones(3),
    "an integer divided by one": lambda x: x.astype("int64") / 1,
    "the sum over an axis of length 1": lambda x: x.sum(axis=0),
    "the sum of integers over an axis of length 1": lambda x: x.astype("int32").sum(axis=0),
    "the largest over axes of length 1": lambda x: x.max(axis=0, keepdims=True),
    "transposed to the same shape": lambda x: rg.permute_dims(rg.broadcast_to(x, (3, 3)), (1, 0)),
    "a column": lambda x: rg.permute_dims(x, (1, 0)) * 2,
    "times a matrix of equal numbers": lambda x: x @ np.full((3, 4), 0.5),
    "times a matrix of equal numbers, of a wider dtype": lambda x: x.astype("float32") @ np.full((3, 4), 0.1),
    "integers times a matrix of equal numbers": lambda x: x.astype("int32") @ np.full((3, 4), 3, np.int32),
    "a matrix of ones times it, in batches": lambda x: np.ones((2, 5, 1)) @ x,
    "an outer product": lambda x: rg.permute_dims(x, (1, 0)) @ x,
    "a product of a few rows that lie apart": lambda x: rg.permute_dims(x + np.arange(12.0).reshape(2, 2, 3), (1, 0, 2)) @ np.ones((3, 70)).cumsum(1),
    "divided by zeros of different sign": lambda x: x / np.array([0.0, -0.0, 0.0]),
}


@pytest.mark.parametrize("name", CASES)
def test_simplifying_keeps_values_shapes_and_dtypes(name):
    function = CASES[name]
    with np.errstate(all="ignore"):
        wanted, got = np.asarray(rg.asarray(function(rg.tensor(X)))), np.asarray(rg.jit(function)(X))
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted, rtol=1e-6 if got.dtype == np.float32 else 1e-14)


def test_zeros_of_different_sign_are_not_equal_numbers():
    assert is_uniform(np.zeros(3)) and is_uniform(np.full(3, np.nan))
    assert not is_uniform(np.array([0.0, -0.0])) and not is_uniform(np.empty(0))


def test_a_constant_and_a_python_number_give_the_dtype_of_the_constant():
    def function(x):
        return rg.broadcast_to(rg.asarray(np.ones((), np.float32)) * 2.5, (3,)) * 2.0, x

    got, _ = rg.jit(function)(np.ones(3))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(got), [5, 5, 5])


def test_rows_that_lie_apart_are_brought_together_once_for_a_product_with_a_large_matrix():
    rng = np.random.default_rng(0)
    x, w = rg.tensor(rng.standard_normal((4, 8, 16))), rg.tensor(rng.standard_normal((16, 100)))

    @rg.jit
    def step(x, w):
        return rg.sin(rg.permute_dims(x, (1, 0, 2)) @ w) + rg.cos(rg.permute_dims(x, (1, 0, 2)) @ w)

    z = x.numpy().transpose(1, 0, 2) @ w.numpy()
    np.testing.assert_allclose(step(x, w).numpy(), np.sin(z) + np.cos(z), rtol=1e-9, atol=1e-9)
    made = [op for kernel in step.explain().kernels for op in kernel.ops]
    assert made.count("matmul") == 1


def test_an_outer_product_is_part_of_the_loop_around_it():
    x, w = rg.tensor(np.arange(6.0).reshape(2, 3)), rg.tensor(np.ones((1, 3)) * 0.5)
    step = rg.jit(lambda x, w: rg.sin(x * (np.ones((2, 1)) @ w)))
    np.testing.assert_allclose(step(x, w).numpy(), np.sin(x.numpy() * 0.5), rtol=1e-12)
    (kernel,) = step.explain().kernels
    assert kernel.kind == "loop" and "matmul" not in kernel.ops


def test_what_ones_make_of_a_row_is_that_row_in_each_place_so_that_nothing_is_computed_twice():
    first, *weights = [np.random.default_rng(i).standard_normal(shape) for i, shape in enumerate(((3, 8), (8, 8), (8, 1)))]

    def loss(x, second, third):
        slope = rg.grad(lambda x: (rg.tanh(rg.tanh(x @ first) @ second) @ third).sum())
        return (slope(x) ** 2).sum()

    both, x = rg.value_and_grad(loss, (1, 2)), np.random.default_rng(3).standard_normal((5, 3))
    step = rg.jit(both)
    for found, wanted in zip(rg.tree.leaves(step(x, *weights)), rg.tree.leaves(both(x, *weights)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10)
    made = [op for kernel in step.explain().kernels for op in kernel.ops]
    assert (made.count("matmul"), made.count("multiply")) == (8, 12)


def test_axes_that_are_put_where_they_are_are_not_moved():
    x = np.random.default_rng(0).standard_normal((70, 60))
    step = rg.jit(lambda x: rg.trace(rg.moveaxis(rg.permute(x, (0, 1)), (0, 1), (0, 1))))
    np.testing.assert_allclose(step(x), np.trace(x))
    assert len(step.explain().kernels) == 1
