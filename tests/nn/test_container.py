import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import DTypeError, OutOfRangeError


def test_sequential_is_a_list_of_modules():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    model.append(nn.Linear(3, 1))
    assert len(model) == 3
    assert isinstance(model[-1], nn.Linear)
    assert isinstance(model[:2], nn.Sequential)
    assert model[:2][0] is model[0]
    assert model(rg.ones(4, 2)).shape == (4, 1)


def test_sequential_takes_named_modules():
    model = nn.Sequential({"first": nn.Linear(2, 2), "second": nn.ReLU()})
    assert list(model.state_dict()) == ["first.weight", "first.bias"]


def test_items_are_replaced_deleted_and_inserted():
    model = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    model[1] = nn.GELU()
    del model[0]
    model.insert(1, nn.SiLU())
    assert [type(m).__name__ for m in model] == ["GELU", "SiLU", "Sigmoid"]
    assert [name for name, _ in model.named_children()] == ["0", "1", "2"]


def test_module_list_registers_its_modules():
    layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))
    assert len(list(layers.parameters())) == 4
    with pytest.raises(NotImplementedError, match="forward"):
        layers(rg.ones(2))


def test_module_dict_behaves_like_a_dictionary():
    heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Tanh()})
    assert heads.keys() == ["a", "b"]
    assert "a" in heads
    assert isinstance(heads.pop("b"), nn.Tanh)
    assert len(heads) == 1
    assert list(heads.state_dict()) == ["a.weight", "a.bias"]
    with pytest.raises(IndexError, match="no module is named 'c'"):
        heads["c"]


def test_flatten_keeps_the_axes_outside():
    assert nn.Flatten(1, 2)(rg.ones(2, 3, 4, 5)).shape == (2, 12, 5)
    assert nn.Flatten(0)(rg.ones(2, 3)).shape == (6,)


def test_parameter_list_behaves_like_a_list():
    scales = nn.ParameterList([rg.ones(2), nn.Parameter(rg.zeros(3))])
    scales.append(np.full(1, 7.0)).extend([rg.ones(())])
    assert [p.shape for p in scales] == [(2,), (3,), (1,), ()] and len(scales) == 4
    assert [name for name, _ in scales.named_parameters()] == ["0", "1", "2", "3"]
    scales[-1] = rg.ones(5)
    assert scales[3].shape == (5,) and len(scales[1:]) == 3 and scales[1:][0] is scales[1]
    assert repr(nn.ParameterList([rg.ones(2)])) == "ParameterList((0): float32[2])"
    with pytest.raises(DTypeError, match="must be a list of tensors, got one tensor"):
        nn.ParameterList(rg.ones(2))


def test_parameter_dict_behaves_like_a_dictionary():
    scales = nn.ParameterDict({"a": rg.ones(2)})
    scales["b"] = nn.Parameter(rg.zeros(1))
    scales["a"] = rg.ones(3)
    assert [(name, p.shape) for name, p in scales.items()] == [("a", (3,)), ("b", (1,))]
    assert list(scales.state_dict()) == ["a", "b"] and scales.pop("a").shape == (3,) and "a" not in scales
    with pytest.raises(OutOfRangeError, match="no parameter is named 'c'; there are b"):
        scales["c"]
    with pytest.raises(DTypeError, match="a ParameterDict is indexed by a name, got 0"):
        scales[0]


@pytest.mark.parametrize("way", [lambda f: f, rg.jit])
def test_parameters_in_lists_and_dictionaries_are_learned(way):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.slopes = nn.ParameterList([rg.ones(1), rg.ones(1)])
            self.shift = nn.ParameterDict({"b": rg.zeros(1)})

        def forward(self, x):
            for slope in self.slopes:
                x = x * slope
            return x + self.shift["b"]

    model = Model()
    optimizer = rg.optim.SGD(model.parameters(), lr=0.5)

    @way
    def step(x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    assert [step(rg.ones(1)).item() for _ in range(2)] == [1.0, -0.25]


def test_lists_of_modules_are_added_and_popped():
    model = nn.Sequential(nn.ReLU(), nn.Tanh())
    both = model + nn.Sequential(nn.GELU())
    assert isinstance(both, nn.Sequential) and [type(m).__name__ for m in both] == ["ReLU", "Tanh", "GELU"] and both[0] is model[0]
    assert isinstance(both.pop(), nn.GELU) and isinstance(both.pop(0), nn.ReLU) and len(both) == 1 and len(model) == 2
    layers = nn.ModuleList([nn.ReLU()])
    layers += [nn.Tanh()]
    assert isinstance(layers + layers, nn.ModuleList) and len(layers + layers) == 4
    with pytest.raises(OutOfRangeError):
        layers.pop(5)


def test_a_dictionary_of_parameters_has_the_methods_of_a_dictionary():
    parameters = nn.ParameterDict({"a": rg.ones(1)})
    assert parameters.get("b") is None and parameters.get("a") is parameters["a"]
    assert parameters.setdefault("b", rg.zeros(2)).shape == (2,) and parameters.setdefault("a", rg.zeros(2)).shape == (1,)
    joined = parameters | {"c": rg.ones(3)}
    assert joined.keys() == ["a", "b", "c"] and parameters.keys() == ["a", "b"] and joined["a"] is parameters["a"]
    parameters |= joined
    assert parameters.popitem()[0] == "c" and parameters.copy().keys() == ["a", "b"]
    assert list(parameters.fromkeys(["x", "y"], rg.ones(2)).state_dict()) == ["x", "y"]
    parameters.clear()
    assert len(parameters) == 0 and not list(parameters.parameters())


def test_a_sequence_can_be_repeated_and_shares_its_modules():
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    assert len(model * 2) == len(2 * model) == 4 and (model * 2)[2] is model[0]
    with pytest.raises(ValueError, match="at least 1 times, got 0"):
        model * 0
