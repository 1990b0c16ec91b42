"""running: sums, products and recurrences that run on along an axis are kernels with NumPy's values."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

CASES = [((7,), 0), ((7,), None), ((5, 19), 0), ((5, 19), 1), ((3, 4, 33), 1), ((3, 4, 33), None), ((300, 70), 0), ((1, 40000), -1),
         ((2, 1, 3), 1), ((40, 9000), 0)]


def _compiled(function, x):
    step = rg.jit(function)
    return np.asarray(step(rg.tensor(x))), {kernel.kind for kernel in step.explain().kernels}


def _drawn(shape, dtype):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_running_sums_and_products_are_numpys_to_the_last_bit(shape, axis, dtype):
    x = _drawn(shape, dtype)
    for name in ("cumsum", "cumprod"):
        got, kinds = _compiled(lambda x, name=name: getattr(rg, name)(x, axis=axis), x)
        np.testing.assert_array_equal(got, getattr(np, name)(x, axis=axis))
        assert "library" not in kinds


@pytest.mark.parametrize(("shape", "axis"), CASES[:6])
def test_the_gradient_of_a_running_sum_is_a_running_sum_from_the_end(shape, axis):
    slope = rg.grad(lambda x: (rg.cumsum(x, axis=axis) ** 3).sum())
    x = _drawn(shape, "float64")
    got, kinds = _compiled(slope, x)
    np.testing.assert_allclose(got, np.asarray(slope(rg.tensor(x))), rtol=1e-10, atol=1e-12)
    assert "library" not in kinds


def test_values_are_the_same_for_any_number_of_threads():
    x, found = _drawn((200, 300), "float32"), []
    for threads in (1, 2):
        before = rg.get_num_threads()
        rg.set_num_threads(threads)
        try:
            found.append(_compiled(lambda x: rg.cumsum(x * 1.5, axis=1), x)[0])
        finally:
            rg.set_num_threads(before)
    np.testing.assert_array_equal(*found)


def test_a_sum_in_another_dtype_converts_first():
    x = _drawn((5, 19), "float32")
    np.testing.assert_array_equal(_compiled(lambda x: rg.cumsum(x, axis=1, dtype="float64"), x)[0], np.cumsum(x, 1, "float64"))


def _recurrence_by_lines(a, x, axis):
    a, z = np.moveaxis(a, axis, 0), np.moveaxis(x, axis, 0).copy()
    for j in range(1, len(z)):
        z[j] += a[j] * z[j - 1]
    return np.moveaxis(z, 0, axis)


RECURRENCES = [((7,), 0), ((5, 19), 0), ((5, 19), -1), ((3, 4, 33), 1), ((2, 700), 1), ((40, 3000), 0)]


@pytest.mark.parametrize(("shape", "axis"), RECURRENCES)
def test_a_recurrence_is_that_of_a_loop_over_lines(shape, axis):
    a, x = _drawn(shape, "float64"), _drawn((*shape, 1), "float64")[..., 0]
    step = rg.jit(lambda a, x: rg.linear_recurrence(a, x, axis))
    wanted = _recurrence_by_lines(a, x, axis)
    np.testing.assert_array_equal(np.asarray(step(rg.tensor(a), rg.tensor(x))), wanted)
    assert {kernel.kind for kernel in step.explain().kernels} == {"running"}
    np.testing.assert_allclose(rg.linear_recurrence(a, x, axis), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("shape", "axis"), RECURRENCES)
def test_the_gradient_of_a_recurrence_is_one_from_the_end(shape, axis):
    a, x = _drawn(shape, "float64"), _drawn((*shape, 1), "float64")[..., 0]
    slope = rg.grad(lambda a, x: (rg.linear_recurrence(a, x, axis) ** 3).sum(), (0, 1))
    for got, wanted in zip(rg.jit(slope)(a, x), slope(a, x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


def test_the_gradient_of_a_running_product_is_exact_at_zeros_and_made_of_a_few_kernels():
    x = _drawn((3, 600), "float64")
    x[0, 5] = x[0, 9] = x[1, 0] = x[2, 599] = 0.0
    slope = rg.grad(lambda x: rg.cumprod(x, axis=1)[:, :12].sum())
    step = rg.jit(slope)
    got = np.asarray(step(rg.tensor(x)))
    wanted = np.zeros_like(x)
    for j in range(12):  # each product up to i >= j, without the factor j
        others = np.where(np.arange(600) == j, 1.0, x)
        wanted[:, j] = np.cumprod(others, axis=1)[:, j:12].sum(1)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=0)
    assert len(step.explain().kernels) < 12
