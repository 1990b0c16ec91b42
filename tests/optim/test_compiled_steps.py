import gc
import weakref

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import InplaceError
from retrograde.optim import compiled

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
SHAPES = [(30, 40), (7,), ()]


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Steps are compiled after the third."""
    monkeypatch.setattr(compiled, "_WORTH", 3 * sum(int(np.prod(shape)) for shape in SHAPES))


def parameters():
    rng = np.random.default_rng(0)
    return [nn.Parameter(rg.tensor(rng.standard_normal(shape).astype("f"))) for shape in SHAPES]


def train(optimizer, steps, seed=1, before=lambda i: None):
    rng = np.random.default_rng(seed)
    for i in range(steps):
        before(i)
        for parameter in optimizer.param_groups[0]["params"]:
            parameter.grad = rg.tensor(rng.standard_normal(parameter.shape).astype("f"))
        optimizer.step()


def uncompiled(make):
    optimizer = make(parameters())
    optimizer._compiled._changes = compiled._PATIENCE + 1
    return optimizer


def numbers(optimizer):
    return [p.detach().numpy() for p in optimizer.param_groups[0]["params"]]


def is_compiled(optimizer):
    return optimizer._compiled._step is not None


@pytest.mark.parametrize("make", [
    optim.Adam, optim.AdamW, lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1, amsgrad=True, maximize=True)])
def test_compiled_steps_are_those_of_numpy(make):
    ours, theirs = make(parameters()), uncompiled(make)
    for optimizer in (ours, theirs):
        train(optimizer, 10)
    assert is_compiled(ours) and not is_compiled(theirs)
    for a, b in zip(numbers(ours), numbers(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert ours.state_dict()["state"][0]["step"].item() == 10


def test_a_schedule_of_the_learning_rate_needs_no_other_code():
    ours, theirs = optim.Adam(parameters()), uncompiled(optim.Adam)
    for optimizer in (ours, theirs):
        train(optimizer, 12, before=lambda i, o=optimizer: o.param_groups[0].update(lr=0.1 / (i + 1)))
    assert is_compiled(ours) and ours._compiled._changes == 0
    for a, b in zip(numbers(ours), numbers(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_options_that_change_at_each_step_are_left_to_numpy():
    ours, theirs = optim.Adam(parameters()), uncompiled(optim.Adam)
    for optimizer in (ours, theirs):
        train(optimizer, 14, before=lambda i, o=optimizer: o.param_groups[0].update(betas=(0.8 + i / 100, 0.99)))
    assert not is_compiled(ours) and ours._compiled._changes > compiled._PATIENCE
    for a, b in zip(numbers(ours), numbers(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_training_that_was_saved_goes_on_to_the_same_bits():
    whole = optim.Adam(parameters())
    train(whole, 6)
    train(whole, 6, seed=2)
    first = optim.Adam(parameters())
    train(first, 6)
    second = optim.Adam(first.param_groups[0]["params"])
    second.load_state_dict(first.state_dict())
    train(second, 6, seed=2)
    for a, b in zip(numbers(whole), numbers(second), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_parameter_without_a_gradient_is_not_touched():
    optimizer = optim.Adam(parameters())
    train(optimizer, 6)
    members = optimizer.param_groups[0]["params"]
    kept = members[1].detach().numpy().copy()
    for _ in range(2):
        members[0].grad, members[1].grad, members[2].grad = rg.ones(30, 40), None, rg.ones(())
        optimizer.step()
    np.testing.assert_array_equal(members[1].detach().numpy(), kept)


def test_state_that_was_replaced_is_what_counts():
    ours, theirs = optim.Adam(parameters()), uncompiled(optim.Adam)
    for optimizer in (ours, theirs):
        train(optimizer, 6)
        first = optimizer.param_groups[0]["params"][0]
        optimizer.state[first]["exp_avg"] = rg.zeros(30, 40)
        train(optimizer, 3, seed=2)
    for a, b in zip(numbers(ours), numbers(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_graph_that_needs_the_old_numbers_is_refused():
    optimizer = optim.Adam(parameters())
    train(optimizer, 6)
    first = optimizer.param_groups[0]["params"][0]
    loss = (first * first).sum()
    train(optimizer, 1)
    with pytest.raises(InplaceError):
        loss.backward()


@pytest.mark.usefixtures("young_heap")
def test_gradients_and_the_optimizer_are_free_after_the_step():
    optimizer = optim.Adam(parameters())
    train(optimizer, 6)
    assert is_compiled(optimizer)
    gradient = weakref.ref(optimizer.param_groups[0]["params"][0].grad.data)
    optimizer.zero_grad()
    assert gradient() is None
    owner = weakref.ref(optimizer)
    gc.collect()
    gc.disable()
    try:
        del optimizer
        assert owner() is None
    finally:
        gc.enable()


def test_a_formula_that_cannot_be_traced_is_left_to_numpy():
    class Careful(optim.Adam):
        def update(self, group, rates, p, g, *kept):
            return super().update(group, rates, p, g if bool((g == g).all()) else g * 0, *kept)

    ours, theirs = Careful(parameters()), uncompiled(optim.Adam)
    for optimizer in (ours, theirs):
        train(optimizer, 8)
    assert not is_compiled(ours)
    for a, b in zip(numbers(ours), numbers(theirs), strict=True):
        np.testing.assert_array_equal(a, b)
