"""TensorParallel and Mesh: on several processes by programs/tensor.py, which compares with one process; what is cut, and refused, here."""

import copy

import numpy as np
import pytest

import retrograde as rg
from launching import needs_mpi, passed
from retrograde import distributed, nn
from retrograde.distributed import Mesh, TensorParallel
from retrograde.distributed.share import Share
from retrograde.errors import ArgumentError, CheckpointError, DistributedError, ShapeError
from retrograde.ops._alone import Alone


@needs_mpi
def test_two_processes_that_hold_a_gpt_together_train_as_one_does(tmp_path):
    assert passed(2, "tensor.py", tmp_path, "gpt", "faults", seconds=300).count("is done") == 2


@needs_mpi
@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2, 4])
def test_so_do_others_on_all_meshes(count, tmp_path):
    assert passed(count, "tensor.py", tmp_path, seconds=550).count("is done") == count


class Second(Alone):
    """Process 1 of a group of two, of which the other one gives the same."""

    rank, size, ranks = 1, 2, (0, 1)

    def contents(self, content, name):
        return [content, content]


def net():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))


def test_a_process_holds_its_part_of_what_is_declared_and_the_whole_of_the_rest():
    alone = net()
    model = TensorParallel(copy.deepcopy(alone), {"0.*": "column", "2.weight": "row"}, Second())
    whole = {name: value.numpy() for name, value in alone.state_dict().items()}
    held = {name: p.detach().numpy() for name, p in model.named_parameters()}
    np.testing.assert_array_equal(held["0.weight"], whole["0.weight"][3:])
    np.testing.assert_array_equal(held["0.bias"], whole["0.bias"][3:])
    np.testing.assert_array_equal(held["2.weight"], whole["2.weight"][:, 3:])
    np.testing.assert_array_equal(held["2.bias"], whole["2.bias"])
    # The other process gives what this one does.
    state = model.state_dict()
    np.testing.assert_array_equal(state["2.weight"].numpy(), np.concatenate([whole["2.weight"][:, 3:]] * 2, axis=1))
    assert copy.deepcopy(model).state_dict()["0.weight"].shape == (6, 4)
    model.load_state_dict({name: value * 2 for name, value in whole.items()})
    np.testing.assert_array_equal(model.module[2].weight.detach().numpy(), 2 * whole["2.weight"][:, 3:])
    with pytest.raises(CheckpointError, match=r"0.weight has shape \(3, 4\) and the model needs \(6, 4\)"):
        model.load_state_dict({**whole, "0.weight": whole["0.weight"][3:]})


@pytest.mark.parametrize(("axis", "blocks"), [(0, 1), (1, 1), (0, 3)])
def test_parts_put_together_are_the_whole(axis, blocks):
    whole = np.random.default_rng(0).normal(size=(12, 4))
    groups = [Alone(), Alone()]
    for rank, group in enumerate(groups):
        group.rank, group.size = rank, 2
    shares = [Share("w", whole.shape, axis, group, blocks) for group in groups]
    parts = [share.of(whole) for share in shares]
    assert all(part.size * 2 == whole.size for part in parts)
    np.testing.assert_array_equal(shares[0].joined(parts), whole)


def test_an_optimizer_saves_and_loads_moments_of_the_whole():
    model = TensorParallel(net(), {"0.*": "column", "2.weight": "row"}, Second())
    optimizer = rg.optim.Adam(model.parameters())
    for p in model.parameters():
        p.grad = rg.ones(*p.shape)
    optimizer.step()
    state = optimizer.state_dict()
    assert [tuple(state["state"][i]["exp_avg"].shape) for i in range(4)] == [(6, 4), (6,), (2, 6), (2,)]
    marked = {i: {name: value if name == "step" else rg.tensor(np.arange(value.size, dtype=np.float32).reshape(value.shape))
                  for name, value in state["state"][i].items()} for i in range(4)}
    optimizer.load_state_dict({**state, "state": marked})
    np.testing.assert_array_equal(optimizer.state[model.module[2].weight]["exp_avg"].numpy(), [[3, 4, 5], [9, 10, 11]])
    marked[0]["exp_avg"] = rg.zeros(3, 4)
    with pytest.raises(CheckpointError, match=r"saved exp_avg has shape \(3, 4\) and its parameter 0.weight \(6, 4\)"):
        optimizer.load_state_dict({**state, "state": marked})


def test_one_process_has_its_model_as_it_was():
    model = net()
    parallel = TensorParallel(model, {"0.*": "column", "2.weight": "row"}, Mesh().tensor)
    assert type(model[0]) is nn.Linear and not parallel.shares
    x = rg.randn(3, 4)
    np.testing.assert_array_equal(parallel(x).detach().numpy(), model(x).detach().numpy())


def test_cross_entropy_of_parts_is_that_of_the_whole_on_one_process():
    x, y = rg.randn(5, 4), rg.tensor([0, 1, -100, 3, 2])
    for options in ({}, {"reduction": "none"}, {"label_smoothing": 0.1}):
        np.testing.assert_array_equal(distributed.cross_entropy(x, y, **options).numpy(),
                                      nn.functional.cross_entropy(x, y, **options).numpy())


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight


@pytest.mark.parametrize(("make", "error", "text"), [
    (lambda: TensorParallel(net(), {"0.*": "columns"}), ArgumentError, "one of column, gathered, heads, row, vocabulary, got 'columns'"),
    (lambda: TensorParallel(net(), {"first.*": "column"}), ArgumentError, "no parameter has a name that fits 'first"),
    (lambda: TensorParallel(net(), {"0.*": "heads"}), ArgumentError, "0.weight is declared as 'heads', and Linear has no such"),
    (lambda: TensorParallel(net(), {"0.weight": "column", "0.bias": "row"}), ArgumentError, "another parameter of its layer as 'column'"),
    (lambda: TensorParallel(net(), ["0.*"]), ArgumentError, "must be a dictionary"),
    (lambda: TensorParallel(lambda x: x, {}), ArgumentError, "takes a model that is a Module"),
    (lambda: TensorParallel(nn.Linear(2, 3), {"*": "column"}, Second()), ShapeError, "axis 0 of weight is cut into 2 equal parts"),
    (lambda: TensorParallel(nn.MultiheadAttention(6, 3), {"*": "heads"}, Second()), ArgumentError, "num_heads of .* multiple of 2"),
    (lambda: TensorParallel(Tied(), {"a.*": "column", "b.*": "row"}, Second()), ArgumentError, "one parameter, which cannot be cut in two"),
    (lambda: rg.optim.Muon(TensorParallel(nn.Linear(2, 4), {"*": "column"}, Second()).parameters()), ArgumentError, "needs the whole of weight"),
    (lambda: Mesh(data=2, tensor=2), DistributedError, "data=2 and tensor=2 with 1"),
    (lambda: Mesh(data=0), ArgumentError, "data must be a number of processes"),
    (lambda: distributed.cross_entropy(rg.ones(2, 3), rg.tensor([1])), ShapeError, r"shapes \(2, 3\) and \(1,\)"),
])
def test_what_is_wrong_is_said(make, error, text):
    with pytest.raises(error, match=text):
        make()
