"""Constants of graphs: arrays from outside, and arrays of equal elements."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.compiler.graph.constants import as_constant, constant_key

COUNT, F = 5000, nn.functional


def constants_of(step):
    """The arrays that a step's graph holds."""
    nodes = step._last_step().program.schedule.nodes
    return [a for node in nodes for a in node.args if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("make", [np.zeros, lambda n, dtype: np.arange(n).astype(dtype)], ids=["equal", "unlike"])
def test_large_array_from_outside_is_what_it_was_when_the_function_was_traced(make):
    outside = make(COUNT, np.float32)
    step = rg.jit(lambda x: x + outside)
    before = outside.copy()
    step(rg.ones((COUNT,), dtype="float32"))
    outside[:] = 7
    np.testing.assert_array_equal(step(rg.ones((COUNT,), dtype="float32")).numpy(), before + 1)


@pytest.mark.parametrize("loss", [lambda y: (y**2).mean(), lambda y: (y**3).sum(), lambda y: (F.softmax(y, -1) * 2).sum()])
def test_slope_of_a_mean_is_a_number_in_the_code_and_no_array_in_memory(loss):
    step = rg.jit(rg.grad(loss))
    x = np.random.default_rng(0).standard_normal((80, 64)).astype(np.float32)
    found = step(rg.tensor(x))
    np.testing.assert_allclose(found.numpy(), rg.grad(loss)(rg.tensor(x)).numpy(), rtol=2e-5, atol=1e-6)
    assert not [a for a in constants_of(step) if a.size > 1 and any(a.strides)]


def test_zeros_of_both_signs_are_not_equal_elements():
    zeros = np.zeros(COUNT, np.float32)
    zeros[COUNT // 3] = -0.0
    kept = as_constant(zeros)
    assert np.signbit(kept).sum() == 1
    assert constant_key(kept) != constant_key(as_constant(np.zeros(COUNT, np.float32)))


def test_equal_constants_have_one_key_whatever_memory_they_had():
    ones = np.ones((COUNT, 2), np.float32)
    assert constant_key(as_constant(ones)) == constant_key(np.broadcast_to(np.float32(1), (COUNT, 2)))
    assert as_constant(np.asfortranarray(ones)).strides == (0, 0)


def test_read_only_array_is_kept_without_a_copy():
    shown = np.arange(COUNT)
    shown.flags.writeable = False
    assert as_constant(shown) is shown


SUMS = {
    "convolution": (lambda x, w: F.conv2d(x, w, padding=1), (2, 4, 9, 9), (6, 4, 3, 3)),
    "convolution of each channel": (lambda x, w: F.conv2d(x, w, stride=2, groups=4), (2, 4, 9, 9), (4, 1, 3, 3)),
    "transposed convolution": (lambda x, w: F.conv_transpose2d(x, w, stride=2), (2, 4, 5, 5), (4, 3, 2, 2)),
    "maximum pooling": (lambda x, w: F.max_pool2d(x * w, 3, 2), (2, 4, 9, 9), (4, 1, 1)),
    "average pooling": (lambda x, w: F.avg_pool2d(x * w, 3, 2), (2, 4, 9, 9), (4, 1, 1)),
    "running product": (lambda x, w: rg.cumprod(x * w, axis=1), (5, 7), (7,)),
    "attention": (lambda x, w: F.scaled_dot_product_attention(x, x @ w, x), (2, 3, 9, 8), (8, 8)),
}


@pytest.mark.parametrize("name", SUMS)
def test_the_gradient_of_a_sum_whose_cotangent_is_known_has_kernels(name):
    function, *shapes = SUMS[name]
    x, w = (np.random.default_rng(len(shape)).standard_normal(shape) for shape in shapes)
    slope = rg.grad(lambda x, w: function(x, w).sum(), argnums=(0, 1))
    step = rg.jit(slope)
    for found, expected in zip(step(x, w), slope(x, w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert "library" not in {kernel.kind for kernel in step.explain().kernels}
