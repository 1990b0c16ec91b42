"""Models in ONNX as modules: what they compute, that they can be trained on, and what is said of damaged ones."""

from pathlib import Path

import numpy as np
import pytest

import retrograde as rg

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper

from retrograde.onnx import scanning
from tests.onnx_format.malformed import campaign


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(nodes, inputs, outputs, held=(), version=20, **words):
    graph = helper.make_graph(nodes, "main", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in held])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], **words)


def linear(held=None):
    held = held or [("layer.weight", np.eye(3, 2, dtype=np.float32)), ("layer.bias", np.ones(2, np.float32))]
    return model_of([helper.make_node("Gemm", ["x", "layer.weight", "layer.bias"], ["y"])], [value("x", ["n", 3])], [value("y", ["n", 2])], held)


def test_floats_are_parameters_under_their_names_and_can_be_trained():
    model = rg.onnx.load(linear())
    assert [n for n, _ in model.named_parameters()] == ["layer.weight", "layer.bias"]
    x, target = rg.randn(16, 3), rg.ones(16, 2)
    optimizer = rg.optim.SGD(model.parameters(), lr=0.1)
    losses = []

    @rg.jit
    def step(x, target):
        optimizer.zero_grad()
        loss = ((model(x) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(x, target).item() for _ in range(30)]
    assert losses[-1] < losses[0] / 2
    assert rg.onnx.load(linear(), trainable=False).state_dict() == {}


def test_a_model_takes_inputs_in_order_or_by_name_and_says_what_is_missing():
    model = rg.onnx.load(linear())
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(model(x), model(x=x))
    assert model.input_names == ("x",) and model.output_names == ("y",)
    for args, words, message in [((), {}, "needs the input 'x'"), ((x, x), {}, "takes 1 inputs"), ((x,), {"z": x}, "no input 'z'")]:
        with pytest.raises(rg.errors.OnnxError, match=message):
            model(*args, **words)


def test_shapes_stay_numbers_in_a_compiled_model():
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]), helper.make_node("Concat", ["n", "rest"], ["t"], axis=0),
             helper.make_node("Reshape", ["x", "t"], ["y"])]
    model = rg.onnx.load(model_of(nodes, [value("x", ["n", 2, 3])], [value("y", ["n", 6])],
                                  [("zero", np.array([0])), ("rest", np.array([-1]))]))
    assert rg.jit(model)(rg.ones(4, 2, 3)).shape == (4, 6)


def branch(name, node):
    return helper.make_graph([node], name, [], [value("z", [3])])


def test_branches_and_loops_run_eager_and_compiled():
    chosen = helper.make_node("If", ["p"], ["y"], then_branch=branch("a", helper.make_node("Neg", ["x"], ["z"])),
                              else_branch=branch("b", helper.make_node("Exp", ["x"], ["z"])))
    nodes = [helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0), helper.make_node("Greater", ["s", "zero"], ["p"]), chosen]
    model = rg.onnx.load(model_of(nodes, [value("x", [3])], [value("y", [3])], [("zero", np.array(0, np.float32))]))
    for x in (np.ones(3, np.float32), -np.ones(3, np.float32)):
        expected = -x if x.sum() > 0 else np.exp(x)
        np.testing.assert_allclose(model(rg.asarray(x)), expected, rtol=1e-6)
        np.testing.assert_allclose(rg.jit(model)(rg.asarray(x)), expected, rtol=1e-6)
    body = helper.make_graph([
        helper.make_node("Add", ["v", "v"], ["w"]), helper.make_node("ReduceSum", ["w"], ["s"], keepdims=0), helper.make_node("Less", ["s", "hundred"], ["on"])],
        "body", [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("v", [3])], [value("on", [], TensorProto.BOOL), value("w", [3])])
    loop = model_of([helper.make_node("Loop", ["", "", "x"], ["y"], body=body)], [value("x", [3])], [value("y", [3])], [("hundred", np.array(100, np.float32))])
    np.testing.assert_array_equal(rg.onnx.load(loop)(rg.ones(3)), 64.0)


def test_seeds_of_a_model_do_not_repeat_its_draws():
    model = rg.onnx.load(model_of([helper.make_node("RandomUniform", [], ["y"], shape=[50], seed=3.0)], [], [value("y", [50])]))
    assert not np.array_equal(model(), model())


def test_an_operator_without_a_counterpart_is_named():
    nodes = [helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="a+", name="first"), helper.make_node("Nothing", ["y"], ["z"])]
    model = model_of(nodes, [value("x", [1], TensorProto.STRING)], [value("z", [1], TensorProto.BOOL)])
    with pytest.raises(rg.errors.UnsupportedOnnxError, match=r"RegexFullMatch \(version 20\), of node 'first'.*Nothing"):
        rg.onnx.load(model)


def tensor(**words):
    return TensorProto(name="w", data_type=TensorProto.FLOAT, **words)


@pytest.mark.parametrize(("held", "message"), [
    (tensor(dims=[2**40, 2**40], raw_data=b"1234"), "needs 4835703278458516698824704 bytes, and has 4"), (tensor(dims=[-1], raw_data=b""), "negative"),
    (TensorProto(name="w", data_type=77, dims=[1]), "element type 77"), (tensor(dims=[3], float_data=[1.0]), "needs 3 entries, and has 1"),
])
def test_a_tensor_that_holds_not_what_it_says_is_refused_before_memory_is_taken(held, message):
    model = model_of([helper.make_node("Identity", ["w"], ["y"])], [], [value("y", None)])
    model.graph.initializer.append(held)
    with pytest.raises(rg.errors.OnnxError, match=message):
        rg.onnx.load(model)


@pytest.mark.parametrize(("location", "message"), [
    ("../secret", "not a path below"), ("/etc/passwd", "not a path below"), ("link/passwd", "leads out of"), ("absent", "no file beside"), ("short", "which has 3"),
    ("", "not a path below"),
])
def test_external_data_stays_in_the_folder_of_the_model(location, message, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "secret").write_bytes(bytes(8))
    (tmp_path / "model" / "link").symlink_to("/etc")
    (tmp_path / "model" / "short").write_bytes(b"123")
    model = model_of([helper.make_node("Identity", ["w"], ["y"])], [], [value("y", [2])])
    held = tensor(dims=[2], data_location=TensorProto.EXTERNAL)
    held.external_data.add(key="location", value=location)
    model.graph.initializer.append(held)
    path = tmp_path / "model" / "model.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(rg.errors.OnnxError, match=message):
        rg.onnx.load(path)


def test_external_data_beside_the_model_is_read(tmp_path):
    weight = np.arange(6, dtype=np.float32).reshape(2, 3)
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [1, 2])], [value("y", [1, 3])], [("w", weight)])
    onnx.save_model(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    np.testing.assert_array_equal(rg.onnx.load(tmp_path / "m.onnx").get_parameter("w"), weight)


@pytest.mark.parametrize(("nodes", "message"), [
    ([helper.make_node("Neg", ["b"], ["a"], name="one"), helper.make_node("Neg", ["a"], ["b"], name="two")], "cycle.*one"),
    ([helper.make_node("Neg", ["nobody"], ["b"])], "takes 'nobody', and nothing of that name"),
    ([helper.make_node("Neg", ["x"], ["b"]), helper.make_node("Abs", ["x"], ["b"])], "two values named 'b'"),
    ([helper.make_node("Neg", ["x"], ["c"])], "returns 'b', and nothing of that name"),
    ([helper.make_node("Softmax", ["x"], ["b"], axle=1)], "has an attribute 'axle'"), ([helper.make_node("Concat", ["x"], ["b"])], "needs the attribute 'axis'"),
    ([helper.make_node("Neg", ["x", "x"], ["b"])], "takes at most 1"),
])
def test_a_graph_that_cannot_be_computed_is_refused(nodes, message):
    with pytest.raises(rg.errors.OnnxError, match=message):
        rg.onnx.load(model_of(nodes, [value("x", [3])], [value("b", [3])]))


def test_nodes_in_another_order_are_computed_in_theirs():
    nodes = [helper.make_node("Exp", ["a"], ["b"]), helper.make_node("Neg", ["x"], ["a"])]
    np.testing.assert_allclose(rg.onnx.load(model_of(nodes, [value("x", [3])], [value("b", [3])]))(rg.ones(3)), np.exp(-1), rtol=1e-6)


def function(name, callee, times=1):
    body = [helper.make_node(callee, ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"], domain="own" if callee[0] == "f" else "") for i in range(times)]
    return helper.make_function("own", name, ["x"], [f"v{times - 1}"], body, [helper.make_opsetid("own", 1), helper.make_opsetid("", 20)])


@pytest.mark.parametrize(("functions", "message"), [
    ([function("f0", "f0")], "calls itself"), ([function("f0", "f1"), function("f1", "f0")], "calls itself"),
    ([*[function(f"f{i}", f"f{i + 1}", 20) for i in range(12)], function("f12", "Neg")], "unfold to more than"),
])
def test_functions_that_never_end_or_grow_without_bound_are_refused(functions, message):
    model = model_of([helper.make_node("f0", ["x"], ["y"], domain="own")], [value("x", [1])], [value("y", [1])], functions=functions)
    model.opset_import.append(helper.make_opsetid("own", 1))
    with pytest.raises(rg.errors.OnnxError, match=message):
        rg.onnx.load(model)


@pytest.mark.parametrize("field", [b"\x0a\x00", b"\x2a\x00", b"\x5a\x00"], ids=["nodes", "tensors", "inputs"])
def test_a_small_file_that_would_fill_the_memory_is_refused_before_it_is_parsed(field, monkeypatch):
    monkeypatch.setattr(scanning, "FLOOR", 1 << 20)
    inner = field * 50_000
    content = b"\x3a" + bytes([len(inner) & 127 | 128, len(inner) >> 7 & 127 | 128, len(inner) >> 14]) + inner
    with pytest.raises(rg.errors.OnnxError, match="memory"):
        rg.onnx.load(content)


def test_files_that_are_no_models_are_refused(tmp_path):
    path = tmp_path / "m.onnx"
    for content in (b"", b"no model", b"\x00" * 100, linear().SerializeToString()[:-9]):
        path.write_bytes(content)
        with pytest.raises(rg.errors.OnnxError):
            rg.onnx.load(path)
    with pytest.raises(rg.errors.StorageError, match="cannot be read"):
        rg.onnx.load(tmp_path / "absent.onnx")
    with pytest.raises(rg.errors.OnnxError, match="uses version 99"):
        rg.onnx.load(model_of([], [value("x", [1])], [value("x", [1])], version=99))


@pytest.mark.parametrize("count", [150, pytest.param(3000, marks=pytest.mark.long)])
def test_damaged_models_are_refused_or_run(count, tmp_path):
    assert campaign(count, count, Path(tmp_path)).total() == count
