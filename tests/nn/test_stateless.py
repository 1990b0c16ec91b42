"""A module as a function of its parameters."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ArgumentError
from retrograde.nn import functional_call

RNG = np.random.default_rng(0)


def network():
    rg.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def others(model, scale=2.0):
    return {name: p.detach() * scale for name, p in model.named_parameters()}


X = rg.tensor(RNG.standard_normal((5, 3)).astype(np.float32))


def test_the_call_is_that_of_a_module_with_these_parameters_and_leaves_the_module_as_it_was():
    model, other = network(), network()
    before = {name: id(p) for name, p in model.named_parameters()}
    other.load_state_dict(others(model))
    np.testing.assert_array_equal(nn.functional_call(model, others(model), X).detach().numpy(), other(X).detach().numpy())
    assert {name: id(p) for name, p in model.named_parameters()} == before
    with pytest.raises(rg.errors.ShapeError):
        nn.functional_call(model, {"0.weight": rg.ones(2, 2)}, (X,))
    assert {name: id(p) for name, p in model.named_parameters()} == before


@pytest.mark.parametrize("way", [lambda f: f, rg.jit], ids=["eager", "jit"])
def test_gradients_are_those_of_backward(way):
    model = network()
    model(X).sum().backward()
    weights = {name: p.detach() for name, p in model.named_parameters()}
    found = way(rg.grad(lambda w, x: nn.functional_call(model, w, x).sum()))(weights, X)
    for name, p in model.named_parameters():
        np.testing.assert_allclose(found[name].numpy(), p.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_many_models_are_called_at_once():
    model = network()
    several = [others(model, scale) for scale in (0.5, 1.0, 2.0)]
    stacked = {name: rg.stack([w[name] for w in several]) for name in several[0]}
    found = rg.vmap(lambda w, x: nn.functional_call(model, w, x), in_axes=(0, None))(stacked, X)
    for one, w in zip(found, several, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), nn.functional_call(model, w, X).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_shared_parameters_are_replaced_together_unless_they_are_untied():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = self.b = nn.Parameter(rg.ones(1))

        def forward(self, x, factor=1.0):
            return (self.a + 10 * self.b) * x * factor

    model, two = Tied(), {"b": rg.tensor([2.0])}
    assert nn.functional_call(model, two, (rg.ones(1),), {"factor": 2.0}).item() == 44
    assert nn.functional_call(model, two, rg.ones(1), tie_weights=False).item() == 21
    assert nn.functional_call(model, (two, {"a": np.array([3.0])}), rg.ones(1)).item() == 23


def test_buffers_are_written_where_they_are_given():
    layer = nn.BatchNorm1d(2)
    mean = rg.zeros(2)
    nn.functional_call(layer, {"running_mean": mean}, rg.ones(4, 2))
    assert layer.running_mean.tolist() == [0, 0] and mean.tolist() == pytest.approx([0.1, 0.1])


def test_names_must_be_those_of_the_module():
    model = network()
    with pytest.raises(ArgumentError, match=r"no parameter or buffer 1\.weight"):
        nn.functional_call(model, {"1.weight": rg.ones(1)}, X)
    with pytest.raises(ArgumentError, match=r"0\.bias is missing"):
        nn.functional_call(model, {"0.weight": rg.ones(4, 3)}, X, strict=True)
    with pytest.raises(ArgumentError, match=r"0\.weight more than once"):
        nn.functional_call(model, ({"0.weight": rg.ones(4, 3)},) * 2, X)


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        return rg.checkpoint(lambda x: rg.checkpoint(self.inner, x).tanh(), x)


@pytest.mark.parametrize("wrap", [lambda f: f, rg.jit])
def test_gradients_of_what_is_computed_again_are_those_of_the_tensors_that_were_given(wrap):
    model, x = Checkpointed(), rg.tensor(np.random.default_rng(0).normal(size=(4, 3)))
    weights = {name: value.detach().astype("float64") * 2 for name, value in model.named_parameters()}
    found = wrap(rg.grad(lambda w: (functional_call(model, w, x) ** 2).sum()))(weights)
    wanted = rg.grad(lambda w: ((x @ w["inner.weight"].T + w["inner.bias"]).tanh() ** 2).sum())(weights)
    for name in weights:
        assert np.any(wanted[name].numpy())
        np.testing.assert_allclose(found[name].numpy(), wanted[name].numpy(), rtol=1e-12)


def test_lists_and_dictionaries_of_parameters_have_the_tensors_that_were_given():
    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.some = nn.ParameterList([rg.ones(3), rg.ones(3)])
            self.named = nn.ParameterDict({"a": rg.ones(3)})

        def forward(self, x):
            return sum([(p * x).sum() for p in self.some]) + (self.named["a"] * x).sum() * len(self.some) * len(self.named)

    model, x = Listed(), rg.tensor([1.0, 2.0, 3.0])
    weights = {name: rg.tensor(np.full(3, i + 2.0, np.float32)) for i, name in enumerate(model.state_dict())}
    assert functional_call(model, weights, x).item() == (2 + 3 + 2 * 4) * 6
    found = rg.grad(lambda w: functional_call(model, w, x))(weights)
    assert [value.tolist() for value in found.values()] == [[1, 2, 3], [1, 2, 3], [2, 4, 6]]
