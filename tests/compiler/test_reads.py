"""What kernels read: memory that is written before, constants in any layout."""

import numpy as np
import pytest

import retrograde as rg

CONSTANT = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("constant", [CONSTANT, CONSTANT.T.copy().T, CONSTANT[:, ::-1], np.broadcast_to(CONSTANT[:, :1], (2, 3))])
def test_constants_may_have_any_strides(constant):
    x = rg.ones(2, 3, dtype=rg.float64)
    np.testing.assert_array_equal(rg.jit(lambda x: x * constant)(x).numpy(), constant)


def test_the_derivative_of_sums_weighted_by_a_constant_is_that_constant():
    x = rg.ones(2, 3, dtype=rg.float64)
    found = rg.jit(rg.grad(lambda x: (x.sum(axis=1) * np.array([2.0, 3.0])).sum()))(x)
    np.testing.assert_array_equal(found.numpy(), [[2.0] * 3, [3.0] * 3])


def test_a_type_of_numpy_is_a_dtype():
    found = rg.jit(lambda x: (x > 1).astype(np.int64))(rg.tensor([1.0, 2.0]))
    assert found.tolist() == [0, 1]


def test_a_product_waits_for_the_copy_that_it_reads():
    rng = np.random.default_rng(0)
    x, y, w = rng.standard_normal((2, 2, 5, 5)), rng.standard_normal((2, 2, 5, 4)), rng.standard_normal((8, 8))

    def f(x, y, w):
        rows = rg.reshape(rg.permute_dims(rg.matmul(x, y), (0, 2, 1, 3)), (2, 5, 8))
        return rg.matmul(rows, w), rows

    for found, expected in zip(rg.jit(f)(*map(rg.tensor, (x, y, w))), f(*map(rg.tensor, (x, y, w))), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)
