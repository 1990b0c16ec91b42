"""recompute: what a late product reads is computed again for it rather than kept, where that is cheap and takes nothing more."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

F = nn.functional
WIDTH, ROWS, DEPTH = 128, 4096, 4


def normalised(x, scale):
    d = x - x.mean(axis=-1, keepdims=True)
    return d / rg.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5) * scale


def loss(x, weights, scales, activation):
    """Layers that add to what they read; each product reads what is cheap to compute from what is kept. The mean of all rows
    keeps layers apart.
    """
    for weight, scale in zip(weights, scales, strict=True):
        x = x + activation(normalised(x, scale) @ weight)
        x = x - x.mean(axis=0, keepdims=True)
    return (x * x).mean()


def numbers(seed=0):
    rng = np.random.default_rng(seed)
    x = rg.tensor(rng.standard_normal((ROWS, WIDTH)), "float32")
    weights = [rg.tensor(rng.standard_normal((WIDTH, WIDTH)) / 12, "float32") for _ in range(DEPTH)]
    return x, weights, [rg.tensor(1 + 0.1 * rng.standard_normal(WIDTH), "float32") for _ in range(DEPTH)]


def again(step):
    """The names of what is computed a second time."""
    symbols = [node for s in step._last_step().program.schedule.steps for node in s.roots]
    return [node.args[0].op.name for node in symbols if node.op is not None and node.op.name == "after"]


def compiled(activation):
    step = rg.jit(rg.value_and_grad(lambda weights, scales, x: loss(x, weights, scales, activation), argnums=(0, 1)))
    x, weights, scales = numbers()
    return step, step(weights, scales, x)


def test_a_normalised_layer_is_computed_again_for_the_gradient_of_its_weight_and_all_gradients_are_right():
    step, (value, found) = compiled(rg.tanh)
    x, weights, scales = numbers()
    wanted_value, wanted = rg.value_and_grad(lambda weights, scales: loss(x, weights, scales, rg.tanh), argnums=(0, 1))(weights, scales)
    np.testing.assert_allclose(value.item(), wanted_value.item(), rtol=1e-5)
    for a, b in zip([*found[0], *found[1]], [*wanted[0], *wanted[1]], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=2e-5 * np.abs(b.numpy()).max())
    assert again(step).count("multiply") >= DEPTH - 1


@pytest.mark.parametrize("name", ["gelu_erf", "gelu_tanh", "silu"])
def test_an_activation_is_computed_again_where_its_slope_is_and_all_gradients_are_right(name):
    def loss(weights, x):
        for up, down in weights:
            x = x + rg.ops.get(name).call(normalised(x, 1.0) @ up) @ down
            x = x - x.mean(axis=0, keepdims=True)
        return (x * x).mean()

    rng = np.random.default_rng(1)
    weights = [[rg.tensor(rng.standard_normal(shape) / 12, "float32") for shape in ((WIDTH, WIDTH), (WIDTH, WIDTH))] for _ in range(DEPTH)]
    x, step = numbers()[0], rg.jit(rg.value_and_grad(loss))
    value, found = step(weights, x)
    wanted_value, wanted = rg.value_and_grad(loss)(weights, x)
    np.testing.assert_allclose(value.item(), wanted_value.item(), rtol=1e-5)
    for pair, wanted_pair in zip(found, wanted, strict=True):
        for a, b in zip(pair, wanted_pair, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), atol=2e-5 * np.abs(b.numpy()).max())
    assert again(step).count(name) >= DEPTH - 1


def test_what_is_computed_again_takes_no_memory_meanwhile(monkeypatch):
    step, _ = compiled(rg.tanh)
    with_copies = step.explain().arena_bytes
    monkeypatch.setattr("retrograde.compiler.pipeline.rematerialised", lambda outputs: outputs)
    step, _ = compiled(rg.tanh)
    assert not again(step)
    assert step.explain().arena_bytes - with_copies > (DEPTH - 2) * ROWS * WIDTH * 4


def test_what_is_dear_is_kept():
    def dear(x, scale):
        return rg.sin(rg.exp(normalised(x, scale)))

    def loss(weights, x, scales):
        for weight, scale in zip(weights, scales, strict=True):
            x = x + dear(x, scale) @ weight
        return (x * x).mean()

    x, weights, scales = numbers()
    step = rg.jit(rg.grad(loss))
    step(weights, x, scales)
    assert not again(step)


def test_a_small_program_is_left_as_it_is():
    step = rg.jit(rg.grad(lambda weights, x, scales: loss(x[:64], weights, scales, rg.tanh)))
    x, weights, scales = numbers()
    step(weights, x, scales)
    assert not again(step)
