"""Sums over k are as good as those of float32 can be: of blocks, which are added up, not of one running sum."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def error(found, exact):
    """The root of the mean square of the error, of that of the values."""
    return np.sqrt(np.mean((np.asarray(found) - exact) ** 2) / np.mean(exact**2))


def of_running_sums(a, b):
    """The error of products that are added one after the other in float32."""
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for column, row in zip(a.T, b, strict=True):
        total += np.outer(column, row)
    return error(total, a.astype(np.float64) @ b)


def convolved(x, weight):
    """A convolution without padding, of stride 1, in float64."""
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), weight.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, weight.astype(np.float64), optimize=True)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_a_long_product_has_far_smaller_errors_than_a_running_sum(rng, layout):
    a, b = rng.standard_normal((48, 2000), np.float32), rng.standard_normal((2000, 96), np.float32)
    given = np.ascontiguousarray(b.T).T if layout == "columns" else b
    found = rg.jit(lambda a, b: a @ b)(rg.tensor(a), rg.tensor(given))
    assert error(found, a.astype(np.float64) @ b) < of_running_sums(a, b) / 2


@pytest.mark.parametrize("size", [3, 5])
def test_a_convolution_of_many_channels_has_far_smaller_errors_than_a_running_sum(rng, size):
    x, weight = rng.standard_normal((1, 256, 13, 13), np.float32), rng.standard_normal((16, 256, size, size), np.float32)
    depth = 256 * size * size
    running = of_running_sums(rng.standard_normal((16, depth), np.float32), rng.standard_normal((depth, 64), np.float32))
    before = rg.get_convolution_precision()
    rg.set_convolution_precision("highest")
    try:
        found = rg.jit(rg.conv2d)(rg.tensor(x), rg.tensor(weight))
    finally:
        rg.set_convolution_precision(before)
    assert error(found, convolved(x, weight)) < running / 2


@pytest.mark.parametrize("depth", [*range(253, 262), 511, 512, 513, 767, 768, 769, 1030])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_step_counts_once_wherever_blocks_end(rng, depth, dtype):
    # Small whole numbers, whose sums are exact in any order.
    a, b = (rng.integers(-8, 9, shape).astype(dtype) for shape in ((37, depth), (depth, 70)))
    found = rg.jit(lambda a, b: a @ b)(rg.tensor(a), rg.tensor(b))
    np.testing.assert_array_equal(np.asarray(found), a @ b)


@pytest.mark.parametrize(("channels", "size"), [(27, 3), (28, 3), (29, 3), (57, 3), (256, 1), (259, 1), (10, 5), (11, 5), (25, 5)])
def test_each_channel_counts_once_wherever_blocks_end(rng, channels, size):
    x = rng.integers(-8, 9, (2, channels, 11, 12)).astype(np.float32)
    weight = rng.integers(-8, 9, (20, channels, size, size)).astype(np.float32)
    found = rg.jit(lambda x, weight: rg.conv2d(x, weight, None, 2 if size == 3 else 1))(rg.tensor(x), rg.tensor(weight))
    exact = convolved(x, weight)
    np.testing.assert_array_equal(np.asarray(found), exact[:, :, ::2, ::2] if size == 3 else exact)
