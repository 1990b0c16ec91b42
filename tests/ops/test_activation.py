import numpy as np
import pytest
from torch_oracle import assert_as_torch

import retrograde as rg
from retrograde.ops.networks import activation
from retrograde.testing.gradients import check_gradients

RNG = np.random.default_rng(0)
# Our function and arguments, and PyTorch's name and arguments.
CASES = {
    "relu": ({}, "relu", {}), "leaky_relu": ({"negative_slope": 0.2}, "leaky_relu", {"negative_slope": 0.2}),
    "softplus": ({"beta": 2.0}, "softplus", {"beta": 2.0, "threshold": 100}), "log_sigmoid": ({}, "logsigmoid", {}),
    "gelu": ({}, "gelu", {}), "silu": ({}, "silu", {}), "elu": ({"alpha": 0.7}, "elu", {"alpha": 0.7}), "selu": ({}, "selu", {}),
    "mish": ({}, "mish", {}), "hardswish": ({}, "hardswish", {}), "sigmoid": ({}, "sigmoid", {}),
}
# Away from 0, -3 and 3, where some have a kink.
POINTS = np.array([[-4.1, -2.3, -0.7, -0.2], [0.1, 0.9, 2.6, 3.7]])


@pytest.mark.parametrize("name", CASES)
def test_derivatives_match_finite_differences(name):
    check_gradients(lambda x: getattr(activation, name)(x, **CASES[name][0]), POINTS)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name):
    F = pytest.importorskip("torch").nn.functional
    kwargs, other, their_kwargs = CASES[name]
    for dtype, tolerance, order in ((np.float64, 1e-9, 2), (np.float32, 2e-6, 1)):
        assert_as_torch(lambda x: getattr(activation, name)(x, **kwargs), lambda x: getattr(F, other)(x, **their_kwargs), POINTS,
                        dtype=dtype, tolerance=tolerance, order=order)


def test_gelu_by_tanh():
    check_gradients(lambda x: activation.gelu(x, approximate="tanh"), POINTS)
    np.testing.assert_allclose(activation.gelu(POINTS, approximate="tanh"), activation.gelu(POINTS), atol=5e-4)
    F = pytest.importorskip("torch").nn.functional
    assert_as_torch(lambda x: activation.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh"), POINTS)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_gradients_are_finite_at_extremes(name, dtype):
    x = rg.tensor(np.array([-800, -100, 0, 100, 800], dtype), requires_grad=True)
    z = getattr(activation, name)(x)
    z.backward(np.ones(5))
    assert z.dtype == x.grad.dtype == dtype
    assert np.isfinite(z.data).all()
    assert np.isfinite(x.grad.data).all()


@pytest.mark.parametrize("name", CASES)
def test_small_floats(name):
    for dtype in (rg.float16, rg.bfloat16):
        x = rg.tensor(POINTS, dtype=dtype, requires_grad=True)
        z = getattr(activation, name)(x)
        z.backward(np.ones(POINTS.shape))
        # NumPy makes float32 of bfloat16 beside a Python number.
        assert dtype in (z.dtype, rg.bfloat16)
        assert x.grad.dtype == dtype
        expected = getattr(activation, name)(POINTS)
        np.testing.assert_allclose(z.data.astype(float), expected, rtol=0.05, atol=0.05)


def test_relu_hands_a_nan_on_in_both_directions():
    x = rg.tensor([np.nan, 0.0, -1.0, 2.0], requires_grad=True)
    z = activation.relu(x)
    z.backward(np.array([3, 3, np.inf, 3]))
    np.testing.assert_array_equal(z.data, [np.nan, 0, 0, 2])
    assert x.grad.tolist() == [3, 0, 0, 3]


def test_derivatives_at_the_kink():
    for name, expected in (("relu", 0), ("leaky_relu", 0.01), ("elu", 1), ("hardswish", 0.5)):
        x = rg.tensor(0.0, dtype=rg.float64, requires_grad=True)
        getattr(activation, name)(x).backward()
        assert float(x.grad) == expected


GATES = {
    "silu": rg.silu, "mish": rg.mish, "gelu": rg.gelu, "gelu by tanh": lambda x: rg.gelu(x, "tanh"),
    "log_sigmoid": rg.log_sigmoid, "sigmoid": rg.sigmoid,
}


@pytest.mark.parametrize("name", GATES)
def test_activations_are_the_same_at_special_values_in_small_and_large_arrays_and_compiled(name):
    values = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45, -0.0, 0.0, -100, 100, -10, 1000], np.float32)

    def both(x):
        return GATES[name](x), rg.grad(lambda x: GATES[name](x).sum())(x), rg.grad(lambda x: rg.grad(
            lambda x: GATES[name](x).sum())(x).sum())(x)

    with np.errstate(all="ignore"):
        small, large = both(rg.tensor(values)), both(rg.tensor(np.tile(values, 6000)))
    for i, (a, b, c) in enumerate(zip(small, large, rg.jit(both)(rg.tensor(values)), strict=True)):
        assert np.isfinite(np.delete(a.numpy(), [0, 1, 2])).all() and (i == 0 or np.isfinite(a.numpy()[:2]).all())
        for found in (b[: len(values)], c):
            np.testing.assert_allclose(found.numpy(), a.numpy(), rtol=2e-5, atol=1e-37)
    limits = {"sigmoid": (1, 0), "log_sigmoid": (0, -np.inf)}.get(name, (np.inf, 0))
    np.testing.assert_array_equal(small[0].numpy()[:2], limits)


@pytest.mark.parametrize("name", GATES)
def test_activations_of_unsigned_integers_are_those_of_floats(name):
    numbers = np.array([0, 3, 200], np.uint8)
    with np.errstate(over="ignore"):
        found = GATES[name](rg.tensor(numbers)).numpy()
    np.testing.assert_allclose(found, GATES[name](rg.tensor(numbers.astype(float))).numpy(), rtol=1e-3, atol=1e-7)


def test_gelu_of_small_arrays_is_precise_where_it_is_nearly_zero():
    x = np.array([-5, -10, -20], np.float32)
    np.testing.assert_allclose(rg.gelu(rg.tensor(x)).numpy(), [-1.4332579e-6, -7.6198530e-23, 0], rtol=1e-5)
    np.testing.assert_allclose(rg.gelu(rg.tensor(x.astype(float))).numpy(), [-1.4332578593e-6, -7.6198530242e-23, -5.5072482372e-88],
                               rtol=1e-9)
