"""pooled_first: relu goes after max pooling, and neither results nor gradients change."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

F = nn.functional
POOLS = {"apart": (2,), "overlapping": (3, 1), "with a border": (3, 2, 1), "spread": (2, 2, 1, 2), "sticking out": (2, 2, 0, 1, True),
         "with a border, sticking out": (3, 2, 1, 1, True)}


def images(shape=(2, 3, 7, 6)):
    """Images with equal elements, zeros of both signs, windows below zero, infinities and a NaN."""
    x = np.random.default_rng(0).integers(-2, 3, shape).astype(np.float32)
    x[0, 0, :4, :4] = -1
    x[0, 1, :4, :4] = -np.inf
    x[1, 0, :2, :2] = -0.0
    x[1, 1, 2, 2], x[1, 2, 3, 4] = np.inf, np.nan
    return x


def ops_of(step):
    return [op for kernel in step.explain().kernels for op in kernel.ops]


def shapes_of_slopes(step):
    return {node.shape for node in step._last_step().program.schedule.nodes if node.op is not None and node.op.name == "less_equal"}


@pytest.mark.parametrize("name", POOLS)
def test_values_and_gradients_are_the_eager_ones(name):
    x, weight = images(), np.random.default_rng(1).integers(-5, 6, 2000).astype(np.float32)

    def total(x):
        pooled = F.max_pool2d(F.relu(x * 2), *POOLS[name])
        return rg.sum(rg.where(rg.isnan(pooled), 0, pooled) * weight[: pooled.size].reshape(pooled.shape)), pooled

    both = rg.value_and_grad(total, has_aux=True)
    step = rg.jit(both)
    with np.errstate(invalid="ignore"):
        ((_, got), got_slope), ((_, wanted), wanted_slope) = step(x), both(rg.tensor(x))
    np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))
    np.testing.assert_array_equal(np.asarray(got_slope), np.asarray(wanted_slope))
    assert shapes_of_slopes(step) == {got.shape}


def test_the_gradient_of_a_bias_sums_what_was_handed_to_windows():
    x, bias = images((4, 3, 8, 8)), np.arange(3, dtype=np.float32).reshape(3, 1, 1) / 4
    x = np.where(np.isfinite(x), x, 0)
    slope = rg.grad(lambda b: (F.max_pool2d(F.relu(x + b), 2) ** 2).sum())
    step = rg.jit(slope)
    np.testing.assert_allclose(np.asarray(step(bias)), np.asarray(slope(rg.tensor(bias))), rtol=1e-6)
    assert "max_pool2d_input" not in ops_of(step)


def test_what_others_read_stays_before_pooling():
    def function(x):
        active = F.relu(x)
        return (F.max_pool2d(active, 2) ** 2).sum() + rg.sin(active).sum()

    x = images((2, 3, 6, 6))
    x = np.where(np.isfinite(x), x, 0)
    step = rg.jit(rg.grad(function))
    np.testing.assert_allclose(np.asarray(step(x)), np.asarray(rg.grad(function)(rg.tensor(x))), rtol=1e-6)
    assert shapes_of_slopes(step) == {x.shape}


def test_an_active_image_that_is_a_result_is_given_out():
    def function(x):
        active = F.relu(x)
        return active, F.max_pool2d(active, 2)

    x = images((2, 3, 6, 6))
    for got, wanted in zip(rg.jit(function)(x), function(rg.tensor(x)), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))


def test_second_derivatives_agree():
    def slope_of_slope(x):
        slope = rg.grad(lambda x: (F.max_pool2d(F.relu(x), 2) ** 3).sum())
        return rg.grad(lambda x: (slope(x) ** 2).sum())(x)

    x = np.random.default_rng(2).standard_normal((2, 4, 4))
    np.testing.assert_allclose(np.asarray(rg.jit(slope_of_slope)(x)), np.asarray(slope_of_slope(rg.tensor(x))), rtol=1e-12)


def test_places_that_are_asked_for_are_those_of_what_was_pooled():
    def function(x):
        active = F.relu(x)
        slope, of_active = rg.grad(lambda x, y: (F.max_pool2d(y + 0 * x, 2) ** 2 + F.max_pool2d(y, 2)).sum(), (0, 1))(x, active)
        return slope, of_active, rg.grad(lambda x: F.max_pool2d(F.relu(x), 2).sum())(x)

    x = images((2, 3, 6, 6))
    x = np.where(np.isfinite(x), x, 0)
    for got, wanted in zip(rg.jit(function)(x), function(rg.tensor(x)), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))


def test_what_is_handed_to_relu_may_be_a_result():
    def both(x):
        active = F.relu(x)
        return rg.grad(lambda active: (F.max_pool2d(active, 2) * 3).sum())(active)

    x = images((2, 3, 6, 6))
    x = np.where(np.isfinite(x), x, 0)
    np.testing.assert_array_equal(np.asarray(rg.jit(both)(x)), np.asarray(both(rg.tensor(x))))


def test_relu_may_be_compared_with_other_things():
    def function(x, y):
        active = F.relu(x)
        return F.max_pool2d(active, 2), rg.where(active <= y, y, active), rg.where(active <= 0, y, active)

    x = images((2, 3, 6, 6))
    x = np.where(np.isfinite(x), x, 0)
    for got, wanted in zip(rg.jit(function)(x, x + 0.5), function(rg.tensor(x), rg.tensor(x + 0.5)), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))
