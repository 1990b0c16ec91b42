"""Weights made by modules of one's own, and orthogonal ones."""

import copy
import pickle

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ArgumentError, ShapeError
from retrograde.nn.utils.parametrizations import orthogonal, weight_norm
from retrograde.nn.utils.parametrize import is_parametrized, register_parametrization, remove_parametrizations

SHAPES = [(4, 4), (5, 3), (3, 5)]
MAPS = ["matrix_exp", "cayley", "householder"]


class Symmetric(nn.Module):
    def forward(self, x):
        return rg.triu(x) + rg.triu(x, 1).T


class Exponential(nn.Module):
    def forward(self, x):
        return rg.exp(x)

    def right_inverse(self, y):
        return rg.log(y)


class Product(nn.Module):
    """A matrix of rank one."""

    def forward(self, left, right):
        return left @ right

    def right_inverse(self, y):
        u, s, v = np.linalg.svd(y.detach().numpy(), full_matrices=False)
        return rg.tensor(u[:, :1] * s[0]), rg.tensor(v[:1])


def positive(module):
    nn.init.uniform_(module.weight, 0.5, 2)
    return module


def test_the_weight_is_what_the_module_makes_of_the_original():
    layer = nn.Linear(3, 3)
    weight = layer.weight
    assert register_parametrization(layer, "weight", Symmetric()) is layer
    found = layer.weight.detach().numpy()
    np.testing.assert_array_equal(found, found.T)
    assert layer.parametrizations.weight.original is weight and list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    with pytest.raises(ArgumentError, match="Symmetric has no method right_inverse"):
        layer.weight = rg.ones(3, 3)


def test_a_right_inverse_keeps_the_weight_and_lets_it_be_set():
    layer = positive(nn.Linear(3, 2))
    before = layer.weight.detach().numpy().copy()
    register_parametrization(layer, "weight", Exponential())
    np.testing.assert_allclose(layer.weight.detach(), before, rtol=1e-6)
    np.testing.assert_allclose(layer.parametrizations["weight"].original.detach(), np.log(before), rtol=1e-5, atol=1e-6)
    layer.weight = rg.ones(2, 3) * 3
    np.testing.assert_allclose(layer.weight.detach(), 3, rtol=1e-6)


def test_a_weight_may_be_made_of_several_parameters():
    layer = nn.Linear(3, 4)
    register_parametrization(layer, "weight", Product())
    assert [(name, p.shape) for name, p in layer.named_parameters()] == [
        ("bias", (4,)), ("parametrizations.weight.original0", (4, 1)), ("parametrizations.weight.original1", (1, 3))]
    target = np.outer([1.0, 2, 3, 4], [1.0, 0, 2]).astype(np.float32)
    layer.weight = rg.tensor(target)
    np.testing.assert_allclose(layer.weight.detach(), target, rtol=1e-4, atol=1e-5)
    layer(rg.ones(2, 3)).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())


def test_parametrizations_follow_each_other_and_are_removed_together():
    layer = positive(nn.Linear(3, 3))
    register_parametrization(layer, "weight", Exponential())
    register_parametrization(layer, "weight", Symmetric())
    made = layer.weight.detach().numpy()
    np.testing.assert_array_equal(made, made.T)
    assert len(layer.parametrizations.weight) == 2 and is_parametrized(layer, "weight")
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        np.testing.assert_array_equal(again.weight.detach(), made)
    remove_parametrizations(layer, "weight")
    np.testing.assert_array_equal(layer.weight.detach(), made)
    assert type(layer) is nn.Linear


def test_parametrized_weights_are_learned_in_compiled_steps():
    results = []
    for compiles in (False, True):
        rg.manual_seed(0)
        model = nn.Sequential(register_parametrization(nn.Linear(3, 3), "weight", Symmetric()), orthogonal(nn.Linear(3, 4)))
        optimizer = rg.optim.SGD(model.parameters(), lr=0.1)
        x = rg.randn(8, 3)

        def step(model=model, optimizer=optimizer, x=x):
            optimizer.zero_grad()
            loss = ((model(x) - 1) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        run = rg.jit(step) if compiles else step
        losses = [run().item() for _ in range(5)]
        assert losses[-1] < losses[0]
        results.append([*losses, *[value.numpy() for value in model.state_dict().values()]])
    for eager, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("trivial", [False, True])
@pytest.mark.parametrize("orthogonal_map", MAPS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_orthogonal_weight_stays_orthogonal_whatever_its_parameters(shape, orthogonal_map, trivial):
    rg.manual_seed(1)
    layer = orthogonal(nn.Linear(*reversed(shape)), orthogonal_map=orthogonal_map, use_trivialization=trivial)
    if orthogonal_map == "householder" and not trivial:
        signs = np.eye(*shape, dtype=np.float32)
    else:
        signs = -np.eye(*shape, dtype=np.float32)
    original, rng = layer.parametrizations.weight.original, np.random.default_rng(0)
    for _ in range(2):
        found = layer.weight.detach().numpy()
        small = found.T @ found if shape[0] >= shape[1] else found @ found.T
        np.testing.assert_allclose(small, np.eye(min(shape)), atol=1e-5)
        numbers = rng.standard_normal(shape).astype(np.float32)
        nn.init.constant_(original, numbers * (1 - np.eye(*shape, dtype=np.float32)) + signs)


@pytest.mark.parametrize("orthogonal_map", MAPS)
def test_an_orthogonal_weight_has_right_gradients_and_can_be_set(orthogonal_map):
    layer = orthogonal(nn.Linear(3, 4).double(), orthogonal_map=orthogonal_map)
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 3)))[0]
    layer.weight = rg.tensor(q)
    found = layer.weight.detach().numpy()
    np.testing.assert_allclose(np.abs(found), np.abs(q), rtol=1e-6, atol=1e-9)
    weights = rg.tensor(np.random.default_rng(1).standard_normal((4, 3)))
    start = -np.eye(4, 3) + 0.3 * np.random.default_rng(2).standard_normal((4, 3)) * (1 - np.eye(4, 3))
    module = layer.parametrizations.weight[0]
    rg.testing.check_gradients(lambda below: (module(below - 0.3 * rg.eye(4, 3, dtype=rg.float64)) * weights).sum(), (start,))


@pytest.mark.parametrize("trivial", [False, True])
@pytest.mark.parametrize("orthogonal_map", MAPS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_orthogonal_weight_is_that_of_torch_for_the_same_state(shape, orthogonal_map, trivial):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    torch.manual_seed(0)
    options = {"orthogonal_map": orthogonal_map, "use_trivialization": trivial}
    theirs = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(*reversed(shape)), **options)
    ours = orthogonal(nn.Linear(*reversed(shape)), **options)
    with torch.no_grad():
        theirs.parametrizations.weight.original += 0.3 * torch.randn(*shape)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({name: value.detach().numpy() for name, value in theirs.state_dict().items()})
    np.testing.assert_allclose(ours.weight.detach(), theirs.weight.detach().numpy(), atol=1e-5)
    weights = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    (ours.weight * rg.tensor(weights)).sum().backward()
    (theirs.weight * torch.tensor(weights)).sum().backward()
    np.testing.assert_allclose(ours.parametrizations.weight.original.grad, theirs.parametrizations.weight.original.grad.numpy(), atol=2e-5)


@pytest.mark.parametrize(("make", "error", "told"), [
    (lambda: register_parametrization(nn.Linear(3, 2), "weight", nn.Linear(3, 4)), ShapeError, "keeps shape and dtype"),
    (lambda: register_parametrization(nn.Linear(3, 3), "kernel", Symmetric()), ArgumentError, "no parameter 'kernel'"),
    (lambda: register_parametrization(weight_norm(nn.Linear(3, 3)), "weight", Symmetric()), ArgumentError, "made by WeightNorm"),
    (lambda: orthogonal(nn.Linear(3, 3), "bias"), ShapeError, r"two axes at least, got shape \(3,\)"),
    (lambda: orthogonal(nn.Linear(3, 3), orthogonal_map="svd"), ArgumentError, "matrix_exp, cayley, householder"),
])
def test_what_cannot_be_parametrized_is_named(make, error, told):
    with pytest.raises(error, match=told):
        make()
