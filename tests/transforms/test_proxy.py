"""A jitted model stands where the model stood: it can be trained, switched, saved, loaded, nested and copied."""

import copy
import pickle

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

X = np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32)


def jitted():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    return model, rg.jit(model)


def assert_same(compiled, model):
    np.testing.assert_allclose(np.asarray(compiled(X).detach()), np.asarray(model(X).detach()), rtol=1e-5, atol=1e-6)


def test_methods_that_return_the_model_return_the_jitted_one():
    model, compiled = jitted()
    assert compiled.eval() is compiled and not model.training
    assert_same(compiled, model)
    assert compiled.train() is compiled and model.training
    assert compiled.requires_grad_(False) is compiled and not model[0].weight.requires_grad


def test_the_mode_of_the_model_decides_which_program_runs():
    model, compiled = jitted()
    compiled(X)
    compiled.eval()
    assert_same(compiled, model)
    assert compiled.traces == 2 and compiled.training is False


def test_parameters_and_state_are_those_of_the_model():
    model, compiled = jitted()
    assert list(compiled.state_dict()) == list(model.state_dict())
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in model.parameters()]
    assert [name for name, _ in compiled.named_parameters()] == [name for name, _ in model.named_parameters()]
    other = jitted()[0]
    compiled.load_state_dict(other.state_dict())
    assert_same(compiled.eval(), other.eval())


def test_a_jitted_model_is_trained_as_the_model_is():
    def losses(wrap):
        rg.manual_seed(0)
        model = wrap(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
        optimizer = rg.optim.SGD(model.parameters(), lr=0.1)
        found = []
        for _ in range(3):
            model.zero_grad()
            loss = (model(rg.tensor(X)) ** 2).mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    np.testing.assert_allclose(losses(rg.jit), losses(lambda model: model), rtol=1e-5)


def test_attributes_are_read_set_and_deleted_on_the_model():
    model, compiled = jitted()
    compiled.note = 3
    assert model.note == 3 and "note" in dir(compiled)
    del compiled.note
    assert not hasattr(model, "note")
    with pytest.raises(AttributeError, match="notes"):
        compiled.notes  # noqa: B018 - read to see that it is not there


def test_items_are_those_of_the_model():
    model, compiled = jitted()
    assert len(compiled) == 4 and compiled[0] is model[0] and list(compiled) == list(model) and compiled
    assert rg.jit(nn.Linear(3, 1))  # which has no length


def test_a_jitted_model_is_a_module_for_what_takes_modules():
    model, compiled = jitted()
    assert isinstance(compiled, nn.Module) and isinstance(compiled, nn.Sequential)
    whole = nn.Sequential(compiled, nn.ReLU())
    assert list(whole.state_dict()) == [f"0.{name}" for name in model.state_dict()]
    assert whole.get_parameter("0.0.weight") is model[0].weight
    whole.eval()
    np.testing.assert_allclose(np.asarray(whole(X).detach()), np.maximum(np.asarray(model(X).detach()), 0), rtol=1e-5, atol=1e-6)


def test_other_weights_are_used_for_one_call_of_a_jitted_model():
    model, compiled = jitted()
    compiled.eval()(X)
    weights = {name: rg.ones_like(value) for name, value in model.state_dict().items()}
    found, expected = (nn.functional_call(m, weights, (X,)) for m in (compiled, model))
    np.testing.assert_array_equal(np.asarray(found.detach()), np.asarray(expected.detach()))
    assert_same(compiled, model)


def test_other_weights_are_used_for_one_call_of_a_model_with_a_jitted_method():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 1)
            self.compiled = rg.jit(self.applied)

        def applied(self, x):
            return self.layer(x)

        def forward(self, x):
            return self.compiled(x)

    net = Net()
    net(X)
    weights = {"layer.weight": rg.ones(1, 3), "layer.bias": rg.zeros(1)}
    np.testing.assert_allclose(np.asarray(nn.functional_call(net, weights, (X,)).detach())[:, 0], X.sum(1), rtol=1e-5)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_a_copy_is_jitted_and_has_a_model_of_its_own(copied):
    model, compiled = jitted()
    other = copied(compiled)
    compiled.eval()
    assert other.training and other[0] is not model[0]
    assert_same(other.eval(), model)
    assert other.traces == 1


def test_how_a_jitted_object_is_shown():
    assert repr(rg.jit(nn.Linear(3, 1))) == "jit(Linear(in_features=3, out_features=1, bias=True))"
    assert repr(rg.jit(np.square)) == "<square, compiled by jit>"


def test_any_object_that_is_called_keeps_its_attributes():
    class Scale:
        factor = 2.0

        def __call__(self, x):
            return x * self.factor

    compiled = rg.jit(Scale())
    assert compiled.factor == 2.0
    np.testing.assert_array_equal(compiled(X), X * 2)


def test_a_jitted_step_notices_what_happens_to_a_jitted_model_in_it():
    model, compiled = jitted()

    @rg.jit
    def step(x):
        return compiled(x)

    step(X)
    for change in (compiled.eval, lambda: setattr(compiled[0], "weight", nn.Parameter(rg.ones(4, 3)))):
        change()
        np.testing.assert_allclose(np.asarray(step(X).detach()), np.asarray(model(X).detach()), rtol=1e-5, atol=1e-6)
    assert step.traces == 3


def test_a_jitted_model_may_be_an_argument_of_a_jitted_function():
    model, compiled = jitted()
    compiled.eval()
    found = rg.jit(lambda model, x: model(x))(compiled, X)
    np.testing.assert_allclose(np.asarray(found.detach()), np.asarray(model(X).detach()), rtol=1e-5, atol=1e-6)
