import pytest

import retrograde as rg
from retrograde import nn


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
