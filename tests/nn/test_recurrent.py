import pickle
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
from nn.recurrent_cases import CASES, CELLS, PACKED, drawn, figures
from retrograde import nn
from retrograde.errors import ArgumentError, DTypeError, ShapeError
from retrograde.nn.utils import rnn

RECORD = Path(__file__).parent / "recurrent.npz"


ALL = [*CASES, *CELLS, *PACKED]


@pytest.mark.parametrize("number", range(len(ALL)), ids=lambda i: str(ALL[i]))
def test_outputs_and_gradients_are_those_that_torch_gave(number):
    with np.load(RECORD) as record:
        for i, array in enumerate(figures(rg, ALL[number])):
            np.testing.assert_allclose(array, record[f"{number}_{i}"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_a_compiled_step_gives_what_an_eager_one_gives(kind):
    results = []
    for compiled in (False, True):
        rg.manual_seed(1)
        network = kind(3, 4, num_layers=2, bidirectional=True)

        def step(x, network=network):
            network.zero_grad()
            loss = (network(x)[0] ** 2).sum()
            loss.backward()
            return loss.detach()

        loss = (rg.jit(step) if compiled else step)(rg.tensor(drawn(5, (6, 2, 3))))
        results.append([loss.numpy(), *[p.grad.numpy() for p in network.parameters()]])
    for eager, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("kind", "options"), [(nn.RNN, {}), (nn.LSTM, {"proj_size": 2}), (nn.GRU, {"bidirectional": True})])
def test_packed_sequences_give_compiled_what_each_gives_by_itself(kind, options):
    rg.manual_seed(1)
    network = kind(3, 4, num_layers=2, **options)
    x, lengths = rg.tensor(drawn(5, (6, 3, 3))), [2, 6, 3]

    @rg.jit
    def step(x):
        packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        found, state = network(packed)
        return rnn.pad_packed_sequence(found)[0], state[0] if isinstance(state, tuple) else state

    found, state = step(x)
    for i, length in enumerate(lengths):
        alone, last = network(x[:length, i])
        np.testing.assert_allclose(found[:length, i].detach(), alone.detach(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(state[:, i].detach(), (last[0] if isinstance(last, tuple) else last).detach(), rtol=1e-5, atol=1e-6)
        assert not found[length:, i].detach().numpy().any()


def test_dropout_between_layers_draws_the_same_numbers_compiled():
    network = nn.GRU(3, 4, num_layers=2, dropout=0.5)
    x = rg.tensor(drawn(5, (6, 2, 3)))
    rg.manual_seed(7)
    eager = network(x)[0].detach().numpy()
    rg.manual_seed(7)
    np.testing.assert_allclose(rg.jit(lambda x: network(x)[0])(x).detach().numpy(), eager, rtol=1e-5, atol=1e-6)
    network.eval()
    assert np.abs(network(x)[0].detach().numpy() - eager).max() > 1e-3


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_a_cell_called_in_a_loop_is_the_network(kind):
    network = getattr(nn, kind.__name__.removesuffix("Cell"))(3, 4)
    cell = kind(3, 4)
    cell.load_state_dict({key.removesuffix("_l0"): value for key, value in network.state_dict().items()})
    x = rg.tensor(drawn(5, (6, 2, 3)))
    state = None
    for row in x:
        state = cell(row) if state is None else cell(row, state)
    last = state[0] if isinstance(state, tuple) else state
    np.testing.assert_allclose(network(x)[0][-1].detach().numpy(), last.detach().numpy(), rtol=1e-6, atol=1e-6)


def test_weights_start_within_one_over_the_root_of_the_hidden_size():
    network = nn.LSTM(3, 100)
    largest = max(float(rg.abs(p.detach()).max()) for p in network.parameters())
    assert 0.099 < largest <= 0.1


def test_networks_can_be_copied_and_shown():
    network = nn.RNN(3, 4, nonlinearity="relu", bidirectional=True)
    again = pickle.loads(pickle.dumps(network))
    x = rg.tensor(drawn(5, (6, 2, 3)))
    assert np.array_equal(again(x)[0].detach().numpy(), network(x)[0].detach().numpy())
    assert repr(network) == "RNN(3, 4, bidirectional=True)"
    assert repr(nn.LSTM(3, 4, num_layers=2, proj_size=2)) == "LSTM(3, 4, proj_size=2, num_layers=2)"
    assert [[p.shape for p in weights] for weights in nn.LSTM(3, 4, bias=False, proj_size=2).all_weights] == [[(16, 3), (16, 2), (2, 4)]]
    assert repr(nn.LSTMCell(3, 4, bias=False)) == "LSTMCell(3, 4, bias=False)"


def test_what_does_not_fit_is_named():
    with pytest.raises(ShapeError, match=r"time, batch, 3.*got \(5, 2, 4\)"):
        nn.LSTM(3, 4)(rg.ones(5, 2, 4))
    with pytest.raises(ShapeError, match=r"\(h, c\), each of shape \(1, 2, 4\), got \(1, 2, 5\)"):
        nn.LSTM(3, 4)(rg.ones(5, 2, 3), (rg.ones(1, 2, 5), rg.ones(1, 2, 4)))
    with pytest.raises(ShapeError, match=r"\(1, 2, 2\) and \(1, 2, 4\), got \(1, 2, 4\) and \(1, 2, 4\)"):
        nn.LSTM(3, 4, proj_size=2)(rg.ones(5, 2, 3), (rg.ones(1, 2, 4), rg.ones(1, 2, 4)))
    with pytest.raises(DTypeError, match="a PackedSequence, got list"):
        nn.GRU(3, 4)([rg.ones(5, 3)])
    with pytest.raises(ArgumentError, match="less than hidden_size, 4, got 4"):
        nn.LSTM(3, 4, proj_size=4)
    with pytest.raises(ArgumentError, match="only an LSTM has projections"):
        nn.GRU(3, 4, proj_size=2)
    with pytest.raises(ArgumentError, match="nonlinearity"):
        nn.RNN(3, 4, nonlinearity="sin")
    with pytest.raises(ShapeError, match="LSTMCell needs input"):
        nn.LSTMCell(3, 4)(rg.ones(2, 5))


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(("weights", "inputs", "wanted"), [
    ("float64", "float32", "float64"), ("float32", "float64", "float64"), ("float32", "bfloat16", "float32"), ("float64", "float16", "float64")])
def test_weights_and_sequences_of_two_dtypes_have_a_common_one(kind, weights, inputs, wanted):
    rg.manual_seed(0)
    net = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True).to(weights)
    x = rg.tensor(np.random.default_rng(0).normal(size=(5, 2, 3)), dtype=inputs)
    expected = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True).to("float64")
    expected.load_state_dict(net.state_dict())
    outputs = expected(x.astype("float64"))[0].detach().numpy()
    for run in (net, rg.jit(net)):
        found = run(x)[0]
        assert str(found.dtype) == wanted
        np.testing.assert_allclose(found.detach().numpy(), outputs, atol=1e-5)
