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
