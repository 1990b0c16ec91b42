"""Layers of quantised weights in the place of others: what they compute is what those computed, or these stay."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.compiler import backends
from retrograde.ops.networks import quantized

X = np.random.default_rng(0).standard_normal((2, 5, 64)).astype(np.float32)


class Doubled(nn.Linear):
    def forward(self, input):
        return super().forward(input) * 2


class AnotherWay(nn.Linear):
    is_affine = True

    def forward(self, input):
        return rg.einsum("...i,oi->...o", input, self.weight) + self.bias


class Inheriting(nn.Linear):
    pass


def hooked(register):
    model = nn.Sequential(nn.Linear(64, 32))
    register(model[0])
    return model


def with_a_forward_on_itself():
    model = nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 32))
    plain = model[0].forward
    model[0].forward = lambda input: plain(input) * 2
    return model


#: Models whose layers do more than to multiply, or do it elsewhere; how many of their layers are quantised.
MODELS = {
    "a subclass with a forward of its own": (lambda: nn.Sequential(Doubled(64, 32), nn.Linear(32, 32)), 1),
    "one that says it is the same": (lambda: nn.Sequential(AnotherWay(64, 32)), 1),
    "a subclass that adds none": (lambda: nn.Sequential(Inheriting(64, 32)), 1),
    "a forward that was set": (with_a_forward_on_itself, 1),
    "a hook behind": (lambda: hooked(lambda layer: layer.register_forward_hook(lambda module, args, output: output * 3)), 1),
    "a hook before": (lambda: hooked(lambda layer: layer.register_forward_pre_hook(lambda module, args: (args[0] * 3,))), 1),
    "weights that are parametrized": (lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(64, 32))), 1),
    "a lazy layer": (lambda: nn.Sequential(nn.LazyLinear(32)), 1),
    "attention": (lambda: nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 3),
    "other dtypes": (lambda: nn.Sequential(nn.Linear(64, 32).to(rg.bfloat16)), 1)}


@pytest.mark.parametrize("name", MODELS)
def test_a_quantised_model_computes_nearly_what_it_computed(name):
    make, count = MODELS[name]
    rg.manual_seed(0)
    model = make().eval()
    x = rg.asarray(X).astype(rg.bfloat16 if name == "other dtypes" else rg.float32)
    expected = np.asarray(model(x).detach(), np.float32)
    found = np.asarray(rg.quantize(model, "int8")(x).detach(), np.float32)
    # Bits of weights of 8 bits, and of results of bfloat16.
    assert 0 < np.abs(found - expected).max() < 0.02 * np.abs(expected).max()
    assert sum(isinstance(layer, nn.QuantizedLinear) for layer in model.modules()) == count


def test_hooks_can_be_removed_by_their_handles_and_the_mode_stays():
    model = nn.Sequential(nn.Linear(64, 32)).eval()
    handle = model[0].register_forward_hook(lambda module, args, output: output * 3)
    quantised = rg.quantize(model, "int8")
    three = np.asarray(quantised(rg.asarray(X)).detach())
    handle.remove()
    np.testing.assert_allclose(three, 3 * np.asarray(quantised(rg.asarray(X)).detach()), rtol=1e-6)
    assert not quantised[0].training
    assert rg.quantize(nn.Linear(64, 32), "int8").training


def test_layers_are_skipped_by_their_whole_names_and_a_name_that_no_layer_has_is_refused():
    model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(12)])
    rg.quantize(model, "q4", skip="10")
    assert [name for name, layer in model.named_children() if not isinstance(layer, nn.QuantizedLinear)] == ["10"]
    with pytest.raises(rg.errors.ArgumentError, match="'12' is none"):
        rg.quantize(nn.Sequential(*[nn.Linear(32, 32) for _ in range(12)]), "q4", skip=("1", "12"))


@pytest.mark.skipif(backends.chosen_name() != "native", reason="code of the native backend")
@pytest.mark.parametrize("format", ["int8", "q4", "F16"])
def test_a_large_layer_does_not_unpack_its_weights_in_eager_code_either(format, monkeypatch):
    layer, x = rg.quantize(nn.Linear(256, 512), format), rg.tensor(np.resize(X, (12, 256)), requires_grad=True)
    exact = np.asarray(x.detach()) @ np.asarray(rg.dequantize(layer.blocks, layer.format)).T + np.asarray(layer.bias.detach())
    monkeypatch.setattr(quantized, "unpacked", lambda *_: pytest.fail("weights were unpacked"))
    for rows in (1, 12):
        found = layer(x[:rows])
        np.testing.assert_allclose(found.detach(), exact[:rows], rtol=1e-4, atol=1e-4)
    found.sum().backward()
    assert x.grad.shape == x.shape


def test_a_model_of_other_layers_alone_is_refused():
    for model in (Doubled(64, 32), nn.Sequential(Doubled(64, 32))):
        with pytest.raises(rg.errors.ShapeError, match="without a forward of its own"):
            rg.quantize(model)
