from functools import partial

import numpy as np
import pytest
from torch_oracle import assert_as_torch

import retrograde as rg
from retrograde.errors import ArgumentError, ShapeError
from retrograde.ops.images.pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d, max_pool2d_with_taps
from retrograde.testing.gradients import check_gradients

RNG = np.random.default_rng(0)
# Shape, kernel, stride, padding, dilation, ceil_mode.
CASES = [
    ((2, 3, 7, 6), 2, None, 0, 1, False), ((2, 3, 7, 6), (3, 2), 2, 1, 1, False), ((3, 7, 7), 3, 1, 1, 2, False),
    ((2, 3, 7, 6), 3, 2, 1, 1, True), ((2, 1, 8, 9), 2, 3, 0, 1, True), ((1, 2, 5, 5), 3, 3, 1, 1, True),
]
SIZES = (1, 2, (3, 2), (None, 4), (5, 7), (10, 9))


def shuffled(shape):
    return RNG.permutation(np.prod(shape)).reshape(shape) * 0.1


@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "dilation", "ceil"), CASES)
def test_gradients_match_finite_differences(shape, kernel, stride, padding, dilation, ceil):
    check_gradients(lambda x: max_pool2d(x, kernel, stride, padding, dilation, ceil), shuffled(shape))
    if dilation == 1:
        check_gradients(lambda x: avg_pool2d(x, kernel, stride, padding, ceil, False), shuffled(shape))


@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "dilation", "ceil"), CASES)
def test_results_are_those_of_torch(shape, kernel, stride, padding, dilation, ceil):
    F = pytest.importorskip("torch").nn.functional
    # Small integers: most windows have ties.
    x = RNG.integers(-3, 3, shape)
    assert_as_torch(lambda x: max_pool2d(x, kernel, stride, padding, dilation, ceil),
                    lambda x: F.max_pool2d(x, kernel, stride, padding, dilation, ceil), x)
    for counts_border, divisor in ((True, None), (False, None), (True, 3)) if dilation == 1 else ():
        kwargs = {"kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil,
                  "count_include_pad": counts_border, "divisor_override": divisor}
        assert_as_torch(partial(avg_pool2d, **kwargs), partial(F.avg_pool2d, **kwargs), x)


@pytest.mark.parametrize("size", SIZES)
def test_adaptive_pooling(size):
    x = RNG.standard_normal((2, 3, 7, 6))
    check_gradients(lambda x: adaptive_avg_pool2d(x, size), x)
    torch = pytest.importorskip("torch")
    assert_as_torch(lambda x: adaptive_avg_pool2d(x, size), lambda x: torch.nn.functional.adaptive_avg_pool2d(x, size), x)


def test_the_gradient_goes_to_the_first_of_equal_elements():
    x = rg.ones(1, 2, 4, requires_grad=True)
    max_pool2d(x, 2).backward(np.array([[[3.0, 5.0]]]))
    assert x.grad.tolist() == [[[3, 0, 5, 0], [0, 0, 0, 0]]]


def test_a_nan_is_the_greatest_and_receives_the_gradient():
    x = rg.tensor([[[1.0, np.nan], [5.0, 2.0]]], requires_grad=True)
    z = max_pool2d(x, 2)
    z.backward(np.ones((1, 1, 1)))
    assert np.isnan(z.data).all()
    assert x.grad.tolist() == [[[0, 1], [0, 0]]]


def test_the_indices_take_one_byte_each():
    assert max_pool2d_with_taps(shuffled((1, 4, 4)), 2)[1].dtype == np.uint8
    assert max_pool2d_with_taps(shuffled((1, 20, 20)), 17)[1].dtype == np.uint16


def test_integers_and_float32_keep_their_type():
    assert max_pool2d(np.arange(16).reshape(1, 4, 4), 2).dtype == np.int64
    for pool in (max_pool2d, avg_pool2d, adaptive_avg_pool2d):
        x = rg.tensor(shuffled((1, 4, 6)).astype(np.float32), requires_grad=True)
        z = pool(x, 2)
        z.backward(np.ones(z.shape))
        assert z.dtype == x.grad.dtype == rg.float32


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArgumentError):
        max_pool2d(np.ones((1, 4, 4)), 2, padding=2)
    with pytest.raises(ShapeError):
        max_pool2d(rg.ones(1, 2, 2), 3)
    with pytest.raises(ShapeError):
        avg_pool2d(rg.ones(3), 1)


@pytest.mark.parametrize("shape", [(2, 7, 3), (3, 4, 2), (40, 30, 20)])
@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("make", [lambda f: f, rg.jit])
def test_the_first_of_equal_elements_receives_the_gradient_of_each_of_the_windows_of_unlike_sizes_that_it_is_in(shape, count, make):
    rng = np.random.default_rng(0)
    x, cotangent = rng.integers(0, 3, shape).astype(float), rng.standard_normal((shape[0], count, shape[2]))
    wanted = np.zeros(shape)
    for i in range(count):
        window = slice(i * shape[1] // count, -(-(i + 1) * shape[1] // count))
        is_first = np.arange(x[0, window].shape[0])[:, None] == x[:, window].argmax(1)[:, None]
        wanted[:, window] += cotangent[:, i, None] * is_first
    gradient = rg.grad(lambda x: (rg.adaptive_max_pool2d(x, (count, None)) * cotangent).sum())
    np.testing.assert_allclose(make(gradient)(x), wanted, rtol=1e-12, atol=1e-12)
