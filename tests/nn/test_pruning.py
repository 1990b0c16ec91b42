"""Pruned weights: which numbers the methods choose, and modules that train, copy and become plain again."""

import copy
import pickle

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ArgumentError, ShapeError
from retrograde.nn.utils import prune
from retrograde.nn.utils.parametrizations import weight_norm

WEIGHT = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def layer():
    """A layer with weights that are known."""
    found = nn.Linear(6, 4)
    with rg.no_grad():
        found.weight[...] = rg.tensor(WEIGHT)
    return found


def is_zero(module):
    return module.weight.detach().numpy() == 0


def test_the_least_numbers_are_pruned_of_those_that_are_left():
    order = np.argsort(np.abs(WEIGHT).reshape(-1))
    module = prune.l1_unstructured(layer(), "weight", 0.25)
    assert set(np.flatnonzero(is_zero(module))) == set(order[:6])
    prune.l1_unstructured(module, "weight", 4)
    assert set(np.flatnonzero(is_zero(module))) == set(order[:10])
    assert sorted(module.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    scored = prune.l1_unstructured(layer(), "weight", 6, importance_scores=rg.tensor(1 / WEIGHT))
    assert set(np.flatnonzero(is_zero(scored))) == set(order[-6:])


@pytest.mark.parametrize("n", [1, 2, float("inf"), -float("inf")])
def test_channels_of_the_least_norm_are_pruned(n):
    module = prune.ln_structured(layer(), "weight", 0.5, n, dim=1)
    norms = np.linalg.norm(WEIGHT, n, axis=0)
    assert set(np.flatnonzero(is_zero(module).all(0))) == set(np.argsort(norms)[:3])
    prune.ln_structured(module, "weight", 1, n, dim=1)  # of the three that are left
    assert set(np.flatnonzero(is_zero(module).all(0))) == set(np.argsort(norms)[:4])


def test_random_methods_prune_as_many_as_they_are_told():
    assert is_zero(prune.random_unstructured(layer(), "weight", 7)).sum() == 7
    assert is_zero(prune.random_structured(layer(), "weight", 2, dim=0)).all(1).sum() == 2


def test_several_parameters_are_pruned_as_one_vector():
    first, second = prune.l1_unstructured(layer(), "weight", 3), nn.Linear(6, 4)
    prune.global_unstructured([(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=0.5)
    sizes = np.abs(np.concatenate([WEIGHT.reshape(-1), second.weight_orig.detach().numpy().reshape(-1)]))
    found = np.concatenate([is_zero(module).reshape(-1) for module in (first, second)])
    sizes[np.argsort(sizes[:24])[:3]] = 9  # pruned before, which leaves 45, and half of them are 22
    assert set(np.flatnonzero(found)) == set(np.argsort(sizes)[:22]) | set(np.argsort(np.abs(WEIGHT).reshape(-1))[:3])
    with pytest.raises(ArgumentError, match="unstructured"):
        prune.global_unstructured([(first, "weight")], prune.LnStructured, amount=0.5, n=2)


@pytest.mark.parametrize("make", [lambda f: f, rg.jit])
def test_pruned_numbers_stay_zero_in_training(make):
    module = prune.l1_unstructured(layer(), "weight", 0.5)
    before, optimizer = is_zero(module), rg.optim.SGD(module.parameters(), lr=0.01)

    def step(x):
        optimizer.zero_grad()
        loss = (module(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    step = make(step)
    losses = [step(rg.ones(3, 6)).item() for _ in range(3)]
    assert losses[2] < losses[0]
    np.testing.assert_array_equal(is_zero(module), before)
    prune.random_unstructured(module, "weight", 1.0)  # a step that is compiled sees the mask that is there
    assert step(rg.ones(3, 6)).item() == pytest.approx(3 * (module.bias.detach().numpy() ** 2).sum(), rel=0.2)


def test_pruned_modules_are_copied_and_become_plain_again():
    module = prune.custom_from_mask(layer(), "weight", WEIGHT > 0)
    parameter = module.weight_orig
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        np.testing.assert_array_equal(other.weight.detach(), np.maximum(WEIGHT, 0))
        assert prune.is_pruned(nn.Sequential(other)) and not prune.is_pruned(layer())
    assert prune.remove(module, "weight") is module and type(module) is nn.Linear
    assert module.weight is parameter and sorted(module.state_dict()) == ["bias", "weight"]
    np.testing.assert_array_equal(module.weight.detach(), np.maximum(WEIGHT, 0))


@pytest.mark.parametrize("call", [
    lambda: prune.l1_unstructured(layer(), "weight", 1.5), lambda: prune.l1_unstructured(layer(), "weight", 25),
    lambda: prune.l1_unstructured(layer(), "nothing", 1), lambda: prune.remove(layer(), "weight"),
    lambda: prune.custom_from_mask(layer(), "weight", np.ones((2, 2))), lambda: prune.identity(weight_norm(layer()), "bias"),
    lambda: setattr(prune.identity(layer(), "weight"), "weight", rg.ones(4, 6)),
])
def test_what_cannot_be_pruned_is_refused(call):
    with pytest.raises((ArgumentError, ShapeError)):
        call()
