"""running: sums and products that run on along an axis are kernels with NumPy's values."""

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
