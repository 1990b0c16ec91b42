"""Recurrent layers: written as ONNX's LSTM, GRU and RNN where these do the same, and read from them."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

import onnx
from onnx import helper

KINDS = {
    "LSTM": lambda: nn.LSTM(3, 5), "LSTM of two layers": lambda: nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True),
    "LSTM without bias": lambda: nn.LSTM(3, 2, bias=False), "GRU": lambda: nn.GRU(3, 5), "GRU in both directions": lambda: nn.GRU(3, 4, bidirectional=True),
    "GRU without bias": lambda: nn.GRU(3, 4, bias=False, batch_first=True), "RNN": lambda: nn.RNN(3, 4, bidirectional=True),
    "RNN of relu": lambda: nn.RNN(3, 4, nonlinearity="relu", bias=False),
}


def exported(model, arguments, path, **words):
    """The operators of a model that was written to `path`."""
    rg.onnx.export(model, arguments, path, dynamic={"input": {0: "first", 1: "second"}}, **words)
    return [node.op_type for node in onnx.load(path).graph.node]


def run(path, *arrays):
    session = runtime.InferenceSession(str(path))
    return session.run(None, {i.name: x for i, x in zip(session.get_inputs(), arrays, strict=True)})


def drawn(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("name", KINDS)
def test_a_layer_is_one_operator_and_the_same_for_any_sizes(name, tmp_path):
    rg.manual_seed(0)
    model, path = KINDS[name](), tmp_path / "model.onnx"
    operators = exported(model, rg.tensor(drawn(4, 2, 3)), path)
    assert name.split()[0] in operators
    assert "Loop" not in operators
    again = rg.onnx.load(path)
    assert {n for n, _ in again.named_parameters()} == {n for n, _ in model.named_parameters()}
    for shape in ((1, 1, 3), (6, 3, 3), (4, 2, 3)):
        x = drawn(*shape)
        wanted = [np.asarray(z.detach()) for z in rg.tree.leaves(model(rg.tensor(x)))]
        for found in (run(path, x), [np.asarray(z.detach()) for z in rg.tree.leaves(again(rg.tensor(x)))]):
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_states_that_are_handed_in_are_those_at_the_start(tmp_path):
    model = nn.LSTM(3, 5)
    x, h, c = [rg.tensor(drawn(*shape)) for shape in ((4, 2, 3), (1, 2, 5), (1, 2, 5))]
    path = tmp_path / "model.onnx"
    rg.onnx.export(lambda x, h, c: model(x, (h, c)), (x, h, c), path, dynamic=None, check=True)
    assert "LSTM" in [node.op_type for node in onnx.load(path).graph.node]


class Capped(nn.LSTM):
    """An LSTM whose cells never hold more than one."""

    def _step(self, suffix):
        step = super()._step(suffix)

        def capped(*args, **words):
            h, c = step(*args, **words)
            return h, rg.clip(c, -1, 1)

        return capped


def with_history(x):
    """A loop with the step of an LSTM, whose states of all steps are looked at, the first included."""
    from retrograde.nn.cells import lstm_step

    weight = rg.tensor(drawn(20, 5))
    projected = nn.functional.linear(x, rg.tensor(drawn(20, 3)))
    body = lambda carry, row: ((after := lstm_step(carry, row, weight, None)), after[1])
    return rg.scan(body, (rg.zeros(x.shape[1], 5), rg.zeros(x.shape[1], 5)), projected)


@pytest.mark.parametrize("model", [
    Capped(3, 5), nn.LSTM(3, 5, proj_size=2), nn.LSTM(3, 5, dtype=rg.float64), with_history,
    lambda x: rg.scan(lambda h, row: (rg.tanh(row - h), h), rg.zeros(x.shape[1], 3), x)], ids=["capped", "projected", "double", "cells", "plain"])
def test_what_only_looks_like_a_layer_stays_a_loop(model, tmp_path):
    dtype = rg.float64 if isinstance(model, nn.LSTM) and model.weight_ih_l0.dtype == rg.float64 else rg.float32
    operators = exported(model, rg.tensor(drawn(4, 2, 3)).astype(dtype), tmp_path / "model.onnx", check=True, input_names=["input"])
    assert "Loop" in operators
    assert not {"LSTM", "GRU", "RNN"} & set(operators)


@pytest.mark.parametrize("attributes", [{"input_forget": 1}, {"clip": 0.3}, {"direction": "reverse"}])
def test_forms_of_an_lstm_that_others_write_are_read_as_onnxruntime_computes_them(attributes):
    x, w, r, b = drawn(4, 2, 3), drawn(1, 20, 3), drawn(1, 20, 5), drawn(1, 40)
    held = [onnx.numpy_helper.from_array(a, name) for name, a in (("w", w), ("r", r), ("b", b))]
    info = lambda name: helper.make_tensor_value_info(name, 1, None)
    node = helper.make_node("LSTM", ["x", "w", "r", "b"], ["y", "h", "c"], hidden_size=5, **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 1, [4, 2, 3])], [info("y"), info("h"), info("c")], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    wanted = runtime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    for found, expected in zip(rg.onnx.load(model)(x), wanted, strict=True):
        np.testing.assert_allclose(found.detach(), expected, rtol=1e-5, atol=1e-6)
