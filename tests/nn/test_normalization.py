import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.nn import functional


def test_layer_norm_of_numbers_far_from_zero_is_precise():
    rng = np.random.default_rng(0)
    x = (1000 + rng.standard_normal((4, 256))).astype(np.float32)
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    for function in (functional.layer_norm, rg.jit(lambda x, shape: functional.layer_norm(x, shape))):
        np.testing.assert_allclose(function(rg.tensor(x), (256,)).numpy(), expected, atol=2e-4)


def test_norms_of_half_precision_are_computed_in_float32():
    x = rg.full((2, 64), 300.0, dtype=rg.float16)  # the square of 300 is infinite in float16
    x[:, ::2] = -300.0
    assert functional.layer_norm(x, (64,)).tolist() == functional.rms_norm(x, (64,)).tolist() == [[-1.0, 1.0] * 32] * 2


def test_batch_norm_in_jit_follows_its_statistics_and_notices_eval():
    rg.manual_seed(0)
    layers = [nn.BatchNorm2d(3), nn.BatchNorm2d(3)]
    compiled, x = rg.jit(layers[0].forward), rg.randn(4, 3, 5, 5) * 2 + 1
    for _ in range(3):
        np.testing.assert_allclose(compiled(x).detach().numpy(), layers[1](x).detach().numpy(), atol=1e-5)
    for name, buffer in layers[0].named_buffers():
        np.testing.assert_allclose(buffer.numpy(), dict(layers[1].named_buffers())[name].numpy(), rtol=1e-5)
    assert layers[0].num_batches_tracked.item() == 3
    before = layers[0].running_mean.tolist()
    layers = [layer.eval() for layer in layers]
    np.testing.assert_allclose(compiled(x).detach().numpy(), layers[1](x).detach().numpy(), atol=1e-5)
    assert layers[0].running_mean.tolist() == before


def test_without_momentum_the_running_mean_is_that_of_all_batches():
    layer, rng = nn.BatchNorm1d(2, momentum=None), np.random.default_rng(0)
    batches = rng.standard_normal((5, 8, 2)).astype(np.float32)
    for batch in batches:
        layer(rg.tensor(batch))
    np.testing.assert_allclose(layer.running_mean.numpy(), batches.mean((0, 1)), rtol=1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), batches.var(1, ddof=1).mean(0), rtol=1e-5)


def test_running_statistics_have_no_history():
    layer = nn.BatchNorm1d(2)
    layer(rg.randn(4, 2).requires_grad_()).sum().backward()
    assert not layer.running_mean.requires_grad and not layer.running_var.requires_grad


def test_resetting_forgets():
    layer = nn.BatchNorm1d(2)
    layer(rg.randn(4, 2))
    layer.reset_running_stats()
    assert (layer.running_mean.tolist(), layer.running_var.tolist(), layer.num_batches_tracked.item()) == ([0, 0], [1, 1], 0)


@pytest.mark.parametrize("make", [
    lambda **options: nn.BatchNorm1d(4, **options), lambda **options: nn.InstanceNorm1d(4, affine=True, **options),
    lambda **options: nn.GroupNorm(2, 4, **options), lambda **options: nn.LayerNorm(6, **options),
], ids=["batch", "instance", "group", "layer"])
def test_a_norm_without_bias_scales_only(make):
    norm, full = make(bias=False), make()
    assert [name for name, _ in norm.named_parameters()] == ["weight"]
    norm.weight.data[...] = full.weight.data[...] = np.arange(1.0, full.weight.size + 1)
    x = rg.randn(3, 4, 6)
    np.testing.assert_allclose(norm(x).detach(), full(x).detach(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(rg.jit(norm)(x).detach(), full(x).detach(), rtol=1e-5, atol=1e-5)
    norm.reset_parameters()
    assert norm.weight.tolist() == [1.0] * norm.weight.size


@pytest.mark.parametrize(("call", "message"), [
    (lambda: nn.BatchNorm2d(3)(rg.ones(2, 3)), "4 axes"), (lambda: nn.BatchNorm1d(3)(rg.ones(1, 3)), "more than 1 value"),
    (lambda: nn.InstanceNorm1d(3)(rg.ones(2, 3, 1)), "more than 1 spatial"), (lambda: nn.GroupNorm(4, 6), "divide"),
    (lambda: functional.group_norm(rg.ones(2, 6), 4), "divide"), (lambda: nn.LayerNorm(3)(rg.ones(2, 4)), "normalized_shape"),
    (lambda: functional.layer_norm(rg.ones(2, 4), (4,), rg.ones(3)), "weight and bias"),
    (lambda: functional.batch_norm(rg.ones(2, 3), None, None), "running_mean"),
    (lambda: rg.standardize(rg.ones(3), rg.ones(2, 3)), "broadcast"),
])
def test_what_does_not_fit_is_an_error_that_says_so(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("compiled", [lambda f: f, rg.jit])
@pytest.mark.parametrize("offset", [0.0, 1000.0, "by example"])
def test_statistics_of_a_batch_are_precise_however_far_from_zero_its_numbers_are(offset, compiled):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((16, 4, 48, 50)) * np.array([1e-2, 1, 1, 30])[:, None, None]
    x = (x + (np.arange(16).reshape(16, 1, 1, 1) * 100 if offset == "by example" else offset)).astype(np.float32)
    mean, variance = rg.zeros(4), rg.zeros(4)
    found = compiled(lambda x: functional.batch_norm(x, mean, variance, training=True, momentum=1.0, eps=0.0))(rg.tensor(x))
    wide, axes = x.astype(np.float64), (0, 2, 3)
    # A mean is off by a few roundings of numbers as large as those of x, and a variance by the square of that beside its own: sums of
    # squares from which the square of the mean is taken would be off by 0.06 for 1000, where 0.0001 is the least variance here.
    off = 4 * np.finfo(np.float32).eps * np.abs(x).max()
    np.testing.assert_allclose(mean.numpy(), wide.mean(axes), rtol=0, atol=off)
    np.testing.assert_allclose(variance.numpy(), wide.var(axes, ddof=1), rtol=1e-5, atol=off**2)
    wanted = (wide - wide.mean(axes, keepdims=True)) / wide.std(axes, keepdims=True)
    distance = off / wide.std(axes).min() + 1e-5 * np.abs(wanted).max()
    np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=distance)


@pytest.mark.parametrize("compiled", [lambda f: f, rg.jit])
def test_gradients_in_half_precision_are_finite_where_sums_over_the_batch_are_not(compiled):
    rng = np.random.default_rng(1)
    x, g = rng.standard_normal((8, 2, 64, 64)).astype(np.float16), (4 + rng.standard_normal((8, 2, 64, 64))).astype(np.float16)
    slope = lambda x, g, w: rg.grad(lambda x: (functional.batch_norm(x, None, None, w, None, True) * g).sum())(x)
    found = compiled(slope)(*(rg.tensor(a, "float16") for a in (x, g, np.array([1.0, 2.0]))))
    wanted = slope(*(rg.tensor(a.astype(np.float64)) for a in (x, g, np.array([1.0, 2.0]))))
    assert g.sum(axis=(0, 2, 3), dtype=np.float64).min() > np.finfo(np.float16).max and found.dtype == rg.float16
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=5e-3, atol=2e-2)


@pytest.mark.parametrize(("shape", "weight", "axis"), [
    ((6, 3, 20, 20), (3, 1, 1), (0, 2, 3)), ((4, 3, 2, 5), (3, 1, 1), (0, 2, 3)), ((12, 40), (40,), 0), ((9, 8, 70), (8, 70), (1, 2)),
    ((9, 8, 70), (1, 1), (1, 2)), ((5, 6, 4), (6, 1), (0, 2)), ((5, 6, 4), (5, 1, 4), 1), ((5, 6, 4), (), -1), ((3, 90, 130), (90, 1), 2)])
def test_gradients_of_a_norm_are_those_of_its_ops_whatever_its_weight_is_repeated_for(shape, weight, axis):
    rng = np.random.default_rng(2)
    x, g, w, b = (rg.tensor(rng.standard_normal(s)) for s in (shape, shape, weight, weight))

    def in_ops(x, w, b):
        centred = x - x.mean(axis=axis, keepdims=True)
        return centred / rg.sqrt((centred * centred).mean(axis=axis, keepdims=True) + 1e-5) * w + b

    slopes = lambda function: rg.grad(lambda *a: (function(*a) * g).sum(), argnums=(0, 1, 2))
    wanted = slopes(in_ops)(x, w, b)
    for found in (slopes(lambda x, w, b: rg.standardize(x, w, b, axis))(x, w, b),
                  rg.jit(slopes(lambda x, w, b: rg.standardize(x, w, b, axis)))(x, w, b)):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-11 * max(1, np.abs(other.numpy()).max()))
