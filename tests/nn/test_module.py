import copy
import pickle

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ArgumentError


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.scale = nn.Parameter(rg.ones(2))
        self.nothing = None
        self.register_buffer("mean", rg.zeros(2))
        self.register_buffer("cache", rg.zeros(1), persistent=False)

    def forward(self, x):
        return self.inner(x) * self.scale + self.mean


def names(pairs):
    return [name for name, _ in pairs]


def test_attributes_register():
    block = Block()
    assert names(block.named_parameters()) == ["scale", "inner.weight", "inner.bias"]
    assert names(block.named_buffers()) == ["mean", "cache"]
    assert names(block.named_children()) == ["inner"]
    assert names(block.named_modules()) == ["", "inner"]
    assert all(p.requires_grad and isinstance(p, nn.Parameter) for p in block.parameters())


def test_state_dict_has_own_entries_first_and_no_passing_buffers():
    assert list(Block().state_dict()) == ["scale", "mean", "inner.weight", "inner.bias"]


def test_a_shared_layer_is_listed_once_and_saved_under_each_name():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.ReLU(), shared)
    assert names(model.named_parameters()) == ["0.weight", "0.bias"]
    assert names(model.named_modules()) == ["", "0", "1"]
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_a_shared_parameter_receives_both_gradients():
    first, second = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
    second.weight = first.weight
    model = nn.Sequential(first, second)
    assert len(list(model.parameters())) == 1
    x = np.array([[1.0, -2.0]], np.float32)
    model(rg.tensor(x)).sum().backward()
    expected = rg.grad(lambda w: ((x @ w.T) @ w.T).sum())(first.weight.detach().numpy())
    np.testing.assert_allclose(first.weight.grad.numpy(), expected, rtol=1e-6)


def test_a_parameter_cannot_be_replaced_by_a_tensor():
    layer = nn.Linear(2, 2)
    with pytest.raises(TypeError, match="weight is a parameter"):
        layer.weight = rg.zeros(2, 2)
    layer.bias = None
    assert names(layer.named_parameters()) == ["weight"]


@pytest.mark.parametrize("name", ["forward", "a.b", "", "inner"])
def test_names_that_are_taken_or_have_dots_are_refused(name):
    with pytest.raises(ValueError, match="name"):
        Block().register_parameter(name, nn.Parameter(rg.ones(1)))


def test_train_and_eval_reach_every_module():
    model = nn.Sequential(nn.Sequential(nn.Dropout()), nn.Dropout())
    assert not any(m.training for m in model.eval().modules())
    assert all(m.training for m in model.train().modules())


def test_apply_calls_innermost_first():
    seen = []
    nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh())).apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["ReLU", "Tanh", "Sequential", "Sequential"]


def test_to_converts_floats_and_gradients_and_keeps_the_parameters():
    block = Block()
    block.register_buffer("count", rg.zeros(1, dtype=rg.int64))
    block(rg.ones(1, 3)).sum().backward()
    before = list(block.parameters())
    block.to(rg.float64)
    assert all(a is b for a, b in zip(before, block.parameters(), strict=True))
    assert {p.dtype for p in block.parameters()} == {p.grad.dtype for p in block.parameters()} == {rg.float64}
    assert block.mean.dtype == rg.float64
    assert block.count.dtype == rg.int64


def test_zero_grad_and_requires_grad():
    block = Block()
    block(rg.ones(1, 3)).sum().backward()
    block.zero_grad(set_to_none=False)
    assert not block.scale.grad.numpy().any()
    block.zero_grad()
    assert block.scale.grad is None
    assert not block.requires_grad_(False)(rg.ones(1, 3)).requires_grad


def test_copies_and_pickles_stand_for_themselves():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, shared)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert isinstance(other[0].weight, nn.Parameter)
        assert len(list(other.parameters())) == 2
        assert not np.shares_memory(other[0].weight.detach().numpy(), shared.weight.detach().numpy())
        np.testing.assert_array_equal(other[0].weight.detach(), shared.weight.detach())


def test_repr_is_nested():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))
    assert repr(model) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): Sequential(\n    (0): ReLU()\n  )\n)")


def test_get_submodule_follows_a_path():
    model = nn.Sequential(nn.Sequential(nn.ReLU()))
    assert model.get_submodule("0.0") is model[0][0]
    with pytest.raises(ValueError, match="no submodule"):
        model.get_submodule("0.1")


def test_loading_copies_into_the_parameters():
    source, target = Block(), Block()
    source.inner.weight.detach()[...] = 7.0
    missing, unexpected = target.load_state_dict(source.state_dict())
    assert not missing
    assert not unexpected
    np.testing.assert_array_equal(target.inner.weight.detach(), np.full((2, 3), 7.0))
    assert not np.shares_memory(target.inner.weight.detach().numpy(), source.inner.weight.detach().numpy())


def test_loading_what_does_not_fit_names_all_of_it_and_changes_nothing():
    block = Block()
    before = {k: v.numpy().copy() for k, v in block.state_dict().items()}
    state = {k: np.asarray(v) + 1 for k, v in before.items()}
    state["inner.weight"] = np.zeros((5, 5))
    state["other"] = state.pop("scale")
    with pytest.raises(rg.errors.CheckpointError) as caught:
        block.load_state_dict(state)
    for part in ("inner.weight has shape (5, 5)", "no tensor for scale", "no place for other"):
        assert part in str(caught.value)
    for name, value in block.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_lenient_loading_reports_what_it_left_out():
    block = Block()
    assert block.load_state_dict({"mean": np.ones(2), "more": np.ones(1)}, strict=False) == (
        ["scale", "inner.weight", "inner.bias"], ["more"])
    assert block.mean.tolist() == [1, 1]


def test_a_tied_weight_may_be_given_under_one_of_its_names():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    state = model.state_dict()
    del state["1.weight"]
    model.load_state_dict(state)


def test_a_graph_from_before_loading_refuses_to_be_walked():
    layer = nn.Linear(2, 2)
    y = layer(rg.ones(1, 2).requires_grad_()).sum()
    layer.load_state_dict(layer.state_dict())
    with pytest.raises(rg.errors.InplaceError):
        y.backward()


def test_a_module_is_brought_to_another_precision_by_a_word():
    model = nn.BatchNorm1d(2)
    for word, dtype in (("double", rg.float64), ("half", rg.float16), ("bfloat16", rg.bfloat16), ("float", rg.float32)):
        assert getattr(model, word)() is model
        assert {t.dtype for t in (model.weight, model.running_mean)} == {dtype}
        assert model.num_batches_tracked.dtype == rg.int64
    assert model.cpu().weight.device == "cpu"


def test_parameters_and_buffers_are_found_by_their_paths():
    model = nn.Sequential(nn.BatchNorm1d(2))
    assert model.get_parameter("0.weight") is model[0].weight
    assert model.get_buffer("0.running_var") is model[0].running_var
    for find, path in ((model.get_parameter, "0.running_var"), (model.get_buffer, "0.weight"), (model.get_parameter, "0.x")):
        with pytest.raises(ArgumentError, match=f"Sequential has no (parameter|buffer) '{path}'"):
            find(path)


def test_device_and_dtype_may_be_given_by_name_and_together():
    for targets, named in (((), {"device": "cpu", "dtype": rg.float64}), (("cpu", "float64"), {}), (("cpu",), {"dtype": "float64"})):
        model, x = nn.Linear(1, 1).to(*targets, **named), rg.ones(1).to(*targets, **named)
        assert model.weight.dtype == x.dtype == rg.float64 and model(x).dtype == rg.float64


def test_a_buffer_registers_when_it_is_set():
    module = nn.Module()
    module.mean, module.passing = nn.Buffer(rg.ones(2)), nn.Buffer(rg.ones(3), persistent=False)
    assert [name for name, _ in module.named_buffers()] == ["mean", "passing"]
    assert list(module.state_dict()) == ["mean"]
    module.load_state_dict({"mean": rg.zeros(2)})
    assert module.mean.tolist() == [0.0, 0.0]
    module.mean = nn.Buffer(rg.ones(1), persistent=False)
    assert not module.state_dict() and len(list(module.buffers())) == 2
    again = copy.deepcopy(module)
    assert [name for name, _ in again.named_buffers()] == ["passing", "mean"] and not again.state_dict()


def test_a_buffer_is_state_of_a_compiled_step():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = nn.Buffer(rg.zeros(1))

        def forward(self, x):
            self.count += 1
            return x * self.count

    counter = Counter()
    step = rg.jit(lambda x: counter(x))
    assert [step(rg.ones(1)).item() for _ in range(3)] == [1.0, 2.0, 3.0]
    assert counter.count.item() == 3.0


def test_set_submodule_follows_a_path():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))
    model.set_submodule("1.0", nn.Tanh())
    assert repr(model[1][0]) == "Tanh()"
    model.set_submodule("1.extra", nn.Sigmoid())
    assert list(model[1](rg.zeros(1)).tolist()) == [0.5]
    with pytest.raises(ValueError, match="no submodule 'other'"):
        model.set_submodule("1.other", nn.ReLU(), strict=True)
    with pytest.raises(ValueError, match="no submodule '2'"):
        model.set_submodule("2.0", nn.ReLU())
    with pytest.raises(TypeError, match="must be a Module"):
        model.set_submodule("0", rg.ones(1))
    with pytest.raises(ValueError, match="not empty"):
        model.set_submodule("", nn.ReLU())


def test_loading_may_take_over_memory_and_type():
    model = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
    weight, before = rg.ones(1, 2, dtype=rg.float64), model[0].weight
    state = {**model.state_dict(), "0.weight": weight, "1.running_mean": rg.ones(1)}
    model.load_state_dict(state, assign=True)
    assert model[0].weight is before and before.dtype == rg.float64 and before.requires_grad
    weight += 1
    assert before.tolist() == [[2.0, 2.0]] and model[1].running_mean.tolist() == [1.0]
    with pytest.raises(ValueError, match=r"0\.weight has shape"):
        model.load_state_dict({**state, "0.weight": rg.ones(3)}, assign=True)


def test_a_state_may_be_put_into_a_dictionary_and_hold_the_parameters_themselves():
    model, found = nn.Linear(2, 1), {"other": 1}
    assert model.state_dict(destination=found, prefix="layer.", keep_vars=True) is found
    assert list(found) == ["other", "layer.weight", "layer.bias"] and found["layer.weight"] is model.weight
