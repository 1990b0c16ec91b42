"""Modules and functions written in ONNX: what onnxruntime computes with them, for any batch, is what they compute here."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

import onnx
from architectures import ARCHITECTURES


def run(path, *arrays):
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(str(path), options)
    return session.run(None, {i.name: x for i, x in zip(session.get_inputs(), arrays, strict=True)})


def exported(function, arguments, tmp_path, **words):
    path = tmp_path / "model.onnx"
    rg.onnx.export(function, arguments, path, **words)
    return path


def batch_of(model, make, size, seed=0):
    x = make(size, np.random.default_rng(seed))
    with rg.no_grad():
        return x, model(rg.asarray(x)).numpy()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_network_gives_the_same_in_onnxruntime_for_each_batch(name, tmp_path):
    rg.manual_seed(0)
    kind, make = ARCHITECTURES[name]
    model = kind()
    for tensor in (t for n, t in model.named_buffers() if "running" in n):
        tensor[...] = rg.rand(*tensor.shape) + 0.5
    path = exported(model, rg.asarray(make(2, np.random.default_rng(1))), tmp_path, check=True)
    assert model.training
    model.eval()
    for size in (1, 2, 5):
        x, expected = batch_of(model, make, size)
        (found,) = run(path, x)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_an_exported_network_is_read_again_with_its_parameters_and_gradients(name, tmp_path):
    rg.manual_seed(0)
    kind, make = ARCHITECTURES[name]
    model = kind().eval()
    x = rg.asarray(make(2, np.random.default_rng(1)))
    again = rg.onnx.load(exported(model, x, tmp_path))
    state = model.state_dict()
    assert set(again.state_dict()) <= set(state)
    assert {n for n, _ in again.named_parameters()} == {n for n, _ in model.named_parameters()}
    for network in (model, again):
        (network(x) ** 2).sum().backward()
    for parameter_name, parameter in model.named_parameters():
        np.testing.assert_allclose(again.get_parameter(parameter_name).grad, parameter.grad, rtol=1e-3, atol=1e-5)


def test_a_check_finds_a_function_that_does_not_always_compute_the_same(tmp_path):
    calls = []

    def function(x):
        calls.append(x)
        return x + len(calls) // 4

    with pytest.raises(rg.errors.OnnxError, match="gives other numbers"):
        exported(function, rg.ones(2, 3), tmp_path, check=True)


def test_two_sizes_may_change(tmp_path):
    kind, make = ARCHITECTURES["gpt"]
    model = kind().eval()
    path = exported(model, rg.asarray(make(2, np.random.default_rng(0))), tmp_path, dynamic={"tokens": {0: "batch", 1: "length"}})
    for batch, length in ((1, 1), (3, 12)):
        x = make(batch, np.random.default_rng(1), length)
        np.testing.assert_allclose(run(path, x)[0], model(rg.asarray(x)).detach().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [
    lambda x: x.reshape(x.shape[0] * 2, -1), lambda x: x.reshape(-1), lambda x: rg.zeros(x.shape[0], 5) + x[:, :1], lambda x: x + rg.arange(x.shape[0])[:, None],
    lambda x: rg.concatenate([x, x]), lambda x: x.mean(0) + x.shape[0], lambda x: rg.broadcast_to(x[:1], (x.shape[0] + 1, 6)), lambda x: x @ x.T,
    lambda x: rg.sort(x, 0), lambda x: x[:, None].reshape(x.shape[0], 1, 2, 3).swapaxes(0, 2), lambda x: rg.flip(x), lambda x: x[1:] - x[:-1],
    lambda x: rg.scan(lambda c, row: (c + row, c * row), rg.zeros(6), x), lambda x: rg.fori_loop(0, 3, lambda i, c: c * 0.5 + i, x),
    lambda x: rg.scan(lambda c, row: (c + row, c), rg.zeros(6), x, reverse=True), lambda x: rg.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1),
    lambda x: rg.while_loop(lambda c: c.sum() < 100, lambda c: c * 2 + 1, x), lambda x: rg.expm1(x * 1e-4), lambda x: rg.log1p(rg.exp(x)),
    rg.jit(lambda x: rg.softmax(x, 0)),
])
def test_what_depends_on_the_batch_is_computed_by_the_model(function, tmp_path):
    rng = np.random.default_rng(0)
    path = exported(function, rg.asarray(rng.normal(size=(2, 6)).astype(np.float32)), tmp_path)
    for size in (2, 3, 7):
        x = rng.normal(size=(size, 6)).astype(np.float32)
        expected = rg.tree.leaves(function(rg.asarray(x)))
        for found, wanted in zip(run(path, x), expected, strict=True):
            np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("function", "message"), [
    (lambda x: x * (1.0 / x.shape[0]), "keep that size out of it"),
    (lambda x: x.reshape(x.shape[0] // 2, -1) if x.shape[0] % 2 == 0 else x, "other ops|in a way that is not found"),
    (lambda x: x + rg.asarray(np.random.default_rng(0).normal(size=x.shape[0])[:, None]), "uses other tensors from outside"),
    (lambda x: rg.linalg.cholesky(x @ x.T), "op cholesky has no counterpart"), (lambda x: x + rg.randn(6), "draws random numbers"),
    (lambda x: x[x > 0], "depends on data"),
])
def test_what_has_no_counterpart_is_refused_by_name(function, message, tmp_path):
    with pytest.raises((rg.errors.UnsupportedOnnxError, rg.errors.TraceError), match=message):
        exported(function, rg.ones(4, 6), tmp_path)
    assert not list(tmp_path.iterdir())


def test_names_dtypes_and_constants_of_the_signature(tmp_path):
    def function(first, scale, pair):
        return {"sum": first * scale + pair[0], "other": pair[1].astype(rg.int32)}

    path = exported(function, (rg.ones(2, 3), 3.0, (rg.ones(2, 1), rg.ones(2, dtype=rg.float64))), tmp_path, output_names=["a", "b"])
    model = onnx.load(path)
    assert [i.name for i in model.graph.input] == ["first", "pair_0", "pair_1"]
    assert [d.dim_param or d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim] == ["batch", 3]
    found = run(path, np.ones((5, 3), np.float32), np.ones((5, 1), np.float32), np.ones(5))
    assert [f.dtype for f in found] == [np.float32, np.int32]
    np.testing.assert_array_equal(found[0], 4.0)


def test_a_module_in_training_writes_nothing_and_stays_in_training(tmp_path):
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    before = {n: t.numpy().copy() for n, t in model.state_dict().items()}
    exported(model, rg.ones(4, 3), tmp_path)
    assert model.training and model[2].training
    for name, array in before.items():
        np.testing.assert_array_equal(model.state_dict()[name], array)


def test_a_path_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    with pytest.raises(rg.errors.StorageError, match="cannot be written"):
        rg.onnx.export(nn.Linear(2, 2), rg.ones(1, 2), tmp_path / "missing" / "model.onnx")


@pytest.mark.parametrize("opset", [20, 22, 24])
def test_older_operators_give_the_same(opset, tmp_path):
    kind, make = ARCHITECTURES["vit"]
    model = kind().eval()
    path = exported(model, rg.asarray(make(2, np.random.default_rng(0))), tmp_path, opset=opset)
    assert onnx.load(path).opset_import[0].version == opset
    x, expected = batch_of(model, make, 3)
    np.testing.assert_allclose(run(path, x)[0], expected, rtol=1e-5, atol=1e-5)


def test_wrong_names_are_refused(tmp_path):
    with pytest.raises(rg.errors.ArgumentError, match="opset must be an integer from 20 to"):
        exported(nn.Linear(2, 2), rg.ones(1, 2), tmp_path, opset=7)
    with pytest.raises(rg.errors.ArgumentError, match="input_names must be 1 names"):
        exported(nn.Linear(2, 2), rg.ones(1, 2), tmp_path, input_names=["a", "b"])
    with pytest.raises(rg.errors.ArgumentError, match="has no axis 5"):
        exported(nn.Linear(2, 2), rg.ones(1, 2), tmp_path, dynamic={"input": {5: "n"}})


@pytest.mark.parametrize(("dynamic", "message"), [
    ("batch", "sizes of one name are equal, and 'batch' would be 2 for axis 0 of x, 5 for axis 0 of table"),
    ({"x": {0: "n"}, "table": {1: "n"}}, "'n' would be 2 for axis 0 of x, 3 for axis 1 of table"),
    (["batch"], r"or None; got \['batch'\]"), (True, "got True"), ({"x": ["batch"]}, r"got \{'x': \['batch'\]\}"),
    ("", "not empty, got ''"), ({"x": {0: 5}}, "by a text that is not empty, got 5"),
])
def test_sizes_that_may_change_are_named_as_the_arguments_have_them(dynamic, message, tmp_path):
    with pytest.raises(rg.errors.ArgumentError, match=message):
        exported(lambda x, table: x @ table.T, (rg.ones(2, 3), rg.ones(5, 3)), tmp_path, dynamic=dynamic)
    with pytest.raises(rg.errors.ArgumentError, match="'batch' is the size of an axis that is empty here"):
        exported(nn.Linear(2, 2), rg.ones(0, 2), tmp_path)
