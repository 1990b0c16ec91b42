"""Options that change between steps, so that more is kept of each parameter, or less."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import optim

CASES = {"momentum of SGD": (optim.SGD, "momentum", 0, 0.9), "momentum of RMSprop": (optim.RMSprop, "momentum", 0, 0.9),
         "centered of RMSprop": (optim.RMSprop, "centered", False, True), "amsgrad of Adam": (optim.Adam, "amsgrad", False, True),
         "amsgrad of AdamW": (optim.AdamW, "amsgrad", False, True)}


def trained(name, run, shape=(3,)):
    kind, option, off, on = CASES[name]
    p = rg.tensor(np.linspace(1, 2, int(np.prod(shape))).reshape(shape), requires_grad=True)
    optimizer, found = kind([p], lr=0.1, **{option: off}), []

    def step(x):
        optimizer.zero_grad()
        (p * p * x).sum().backward()
        optimizer.step()

    step = run(step)
    for i in range(8):
        optimizer.param_groups[0][option] = on if i in (2, 3, 6, 7) else off
        step(rg.tensor(1.0 + i % 3))
        found.append(p.detach().numpy().copy())
    return found, optimizer.state[p]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(3,), (80, 80)])
def test_state_that_an_option_asks_for_is_made_when_it_does(name, shape):
    # Small parameters are packed, and large ones are not.
    eager, state = trained(name, lambda f: f, shape)
    kept = {"momentum": "momentum_buffer", "centered": "grad_avg", "amsgrad": "max_exp_avg_sq"}[CASES[name][1]]
    assert state[kept].shape == shape
    assert all(np.isfinite(p).all() for p in eager)


@pytest.mark.parametrize("name", CASES)
def test_compiled_steps_make_state_when_an_option_asks_for_it(name):
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    for compiled, eager in zip(trained(name, rg.jit)[0], trained(name, lambda f: f)[0], strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-6)


def test_momentum_that_is_turned_on_starts_with_the_gradient_as_it_is():
    p = rg.tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([p], lr=1.0, dampening=0.5)
    found = []
    for momentum in (0, 0.5, 0.5, 0, 0.5):
        optimizer.param_groups[0]["momentum"] = momentum
        before = p.item()
        p.grad = rg.ones(1)
        optimizer.step()
        found.append(round(before - p.item(), 6))
    # The buffer is 1, then 0.5 + 0.5, is left alone by a step without momentum, and is 1 again.
    assert found == [1, 1, 1, 1, 1]
