"""Weights made of other parameters, as PyTorch has them."""

import copy
import pickle

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from retrograde.nn.utils.parametrizations import spectral_norm, weight_norm
from retrograde.nn.utils.parametrize import is_parametrized, remove_parametrizations

LAYERS = {
    "linear": lambda nn: nn.Linear(4, 3), "conv": lambda nn: nn.Conv2d(2, 3, 2), "transposed": lambda nn: nn.ConvTranspose1d(2, 3, 2),
}
INPUTS = {"linear": (5, 4), "conv": (2, 2, 4, 4), "transposed": (2, 2, 5)}


def data(name):
    return np.random.default_rng(1).standard_normal(INPUTS[name]).astype(np.float32)


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("name", LAYERS)
def test_a_weight_of_a_length_and_a_direction_is_at_first_what_it_was(name, dim):
    layer = LAYERS[name](nn)
    weight, output = layer.weight.detach().numpy().copy(), layer(rg.tensor(data(name))).detach().numpy()
    assert weight_norm(layer, dim=dim) is layer
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight, rtol=1e-5)
    np.testing.assert_allclose(layer(rg.tensor(data(name))).detach().numpy(), output, rtol=1e-4, atol=1e-6)
    axes = tuple(i for i in range(weight.ndim) if i != dim)
    lengths = np.sqrt((weight**2).sum()) if dim is None else np.sqrt((weight**2).sum(axes, keepdims=True))
    np.testing.assert_allclose(layer.parametrizations.weight.original0.detach().numpy(), lengths, rtol=1e-5)
    assert layer.state_dict().keys() == {"bias", "parametrizations.weight.original0", "parametrizations.weight.original1"}
    assert isinstance(layer, type(LAYERS[name](nn)))


def test_length_and_direction_are_learned_in_eager_and_compiled_steps():
    found = []
    for way in (lambda f: f, rg.jit):
        rg.manual_seed(3)
        layer = weight_norm(nn.Linear(4, 3))
        optimizer = rg.optim.SGD(layer.parameters(), lr=0.1)

        def step(x, layer=layer, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (layer(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        step = way(step)
        losses = [step(rg.tensor(data("linear"))).item() for _ in range(5)]
        assert losses == sorted(losses, reverse=True)
        found.append([layer.parametrizations.weight.original0.detach().numpy(), layer.parametrizations.weight.original1.detach().numpy(), losses])
    for eager, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_the_greatest_singular_value_becomes_one(name):
    rg.manual_seed(0)
    layer = spectral_norm(LAYERS[name](nn), n_power_iterations=30)
    layer(rg.tensor(data(name)))
    weight = layer.eval().weight.detach().numpy()
    matrix = np.moveaxis(weight, 1 if name == "transposed" else 0, 0).reshape(3, -1)
    assert np.linalg.svd(matrix)[1][0] == pytest.approx(1.0, rel=1e-3)
    assert layer.state_dict().keys() == {"bias", "parametrizations.weight.original", "parametrizations.weight.0._u", "parametrizations.weight.0._v"}


def test_singular_vectors_are_followed_in_training_alone():
    layer = spectral_norm(nn.Linear(4, 3)).eval()
    vector = layer.parametrizations.weight.state_dict()["0._u"]
    before = vector.numpy().copy()
    layer.parametrizations.weight.original.data[...] *= np.arange(1.0, 4.0, dtype=np.float32)[:, None]
    layer(rg.tensor(data("linear")))
    np.testing.assert_array_equal(vector.numpy(), before)
    layer.train()(rg.tensor(data("linear")))
    assert not np.array_equal(vector.numpy(), before)


def test_a_parametrized_module_is_copied_and_only_its_own_class_changes():
    layer = weight_norm(weight_norm(nn.Bilinear(2, 3, 4)), "bias")
    twin = copy.deepcopy(layer)
    other = weight_norm(copy.deepcopy(weight_norm(nn.Linear(2, 3))), "bias", dim=None)
    assert type(other).__name__ == "ParametrizedLinear" and other(rg.ones(1, 2)).shape == (1, 3)
    assert twin.state_dict().keys() == layer.state_dict().keys() and "weight" not in dict(layer.named_parameters())
    twin.parametrizations.weight.original0.data[...] = 0
    assert not twin.weight.detach().numpy().any() and layer.weight.detach().numpy().any()
    assert isinstance(nn.Bilinear(2, 3, 4).weight, nn.Parameter)
    with pytest.raises(ArgumentError, match="no parameter 'scale'"):
        weight_norm(nn.Linear(2, 2), "scale")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("norm", [weight_norm, spectral_norm])
def test_copies_and_pickles_keep_parameters_and_behaviour(norm, copied):
    layer = norm(norm(nn.Bilinear(2, 3, 4)), "bias").eval()
    twin = copied(layer)
    assert type(twin) is type(layer) and isinstance(twin, nn.Bilinear) and not twin.training
    assert {k: v.tolist() for k, v in twin.state_dict().items()} == {k: v.tolist() for k, v in layer.state_dict().items()}
    inputs = rg.ones(1, 2), rg.ones(1, 3)
    assert twin(*inputs).tolist() == layer(*inputs).tolist()
    np.testing.assert_allclose(rg.jit(twin)(*inputs).numpy(), layer(*inputs).detach().numpy(), rtol=1e-5)
    for parameter in twin.parameters():
        parameter.data[...] = 0
    assert all(parameter.detach().numpy().any() for parameter in layer.parameters())


@pytest.mark.parametrize("norm", [weight_norm, spectral_norm])
def test_a_parametrized_weight_can_be_set(norm):
    layer = norm(nn.Linear(2, 2), n_power_iterations=50) if norm is spectral_norm else norm(nn.Linear(2, 2))
    layer.weight = rg.tensor([[3.0, 0.0], [0.0, 2.0]])
    expected = np.diag([1.0, 2 / 3] if norm is spectral_norm else [3.0, 2.0])
    np.testing.assert_allclose(layer.weight.detach().numpy(), expected, rtol=1e-5)
    assert len(dict(layer.named_parameters())) == len(norm(nn.Linear(2, 2)).state_dict()) - 2 * (norm is spectral_norm)
    with pytest.raises(ShapeError, match=r"weight is parametrized and keeps its shape, \(2, 2\), got \(2,\)"):
        layer.weight = rg.ones(2)


def test_parametrizations_are_removed_again():
    layer = weight_norm(spectral_norm(nn.Linear(3, 2)), "bias").eval()
    assert is_parametrized(layer) and is_parametrized(layer, "weight")
    weight, output = layer.weight.tolist(), layer(rg.ones(1, 3)).tolist()
    remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.tolist() == weight and not is_parametrized(layer, "weight")
    remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear and layer.state_dict().keys() == {"weight", "bias"}
    np.testing.assert_allclose(layer(rg.ones(1, 3)).tolist(), output, rtol=1e-6)
    plain = nn.Linear(3, 2)
    before = plain.weight.tolist()
    assert remove_parametrizations(spectral_norm(plain), "weight", leave_parametrized=False).weight.tolist() == before
    with pytest.raises(ArgumentError, match="has no parametrized 'weight'; it has none"):
        remove_parametrizations(layer, "weight")
    with pytest.raises(ArgumentError, match="made of 2 parameters"):
        remove_parametrizations(weight_norm(layer), "weight", leave_parametrized=False)


@pytest.mark.parametrize("norm", [weight_norm, spectral_norm])
def test_axes_that_a_weight_has_not_are_refused(norm):
    for wrong in (5, -3):
        with pytest.raises(OutOfRangeError, match=f"axis {wrong} is out of range for 2 dimensions"):
            norm(nn.Linear(3, 2), dim=wrong)
    with pytest.raises(DTypeError, match="a weight of a Module, got 3"):
        norm(3)


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
@pytest.mark.parametrize("name", LAYERS)
def test_values_gradients_and_state_agree_with_torch(name, norm):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    theirs = getattr(torch.nn.utils.parametrizations, norm)(LAYERS[name](torch.nn))
    ours = getattr(nn.utils.parametrizations, norm)(LAYERS[name](nn))
    ours.load_state_dict({key: value.detach().numpy() for key, value in theirs.state_dict().items()})
    for _ in range(2):
        a, b = ours(rg.tensor(data(name))), theirs(torch.tensor(data(name)))
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-5)
    (a**2).sum().backward()
    (b**2).sum().backward()
    expected = {key: p.grad.numpy() for key, p in theirs.named_parameters()}
    assert dict(ours.named_parameters()).keys() == expected.keys()
    for key, p in ours.named_parameters():
        np.testing.assert_allclose(p.grad.numpy(), expected[key], rtol=1e-3, atol=1e-4)
