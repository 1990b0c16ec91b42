"""Weights in a file beside a model, as large models have them: written and read by us, by onnx and by onnxruntime."""

import os
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.onnx import external

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

X = np.random.default_rng(0).normal(size=(2, 40)).astype(np.float32)


def made(seed=0):
    rg.manual_seed(seed)
    return nn.Sequential(nn.Linear(40, 30), nn.BatchNorm1d(30), nn.ReLU(), nn.Linear(30, 20)).eval()


def run(path):
    return runtime.InferenceSession(str(path)).run(None, {"input": X})[0]


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_model_whose_weights_lie_beside_it_is_the_same_to_all_who_read_it(tmp_path):
    model, path = made(), tmp_path / "model.onnx"
    rg.onnx.export(model, rg.tensor(X), path, external_data=True, check=True)
    data = next(p for p in tmp_path.iterdir() if p != path)
    assert data.name.startswith("model.onnx-")
    assert path.stat().st_size < 4000 < data.stat().st_size
    wanted = model(rg.tensor(X)).detach().numpy()
    np.testing.assert_allclose(run(path), wanted, rtol=1e-5, atol=1e-6)
    again = rg.onnx.load(path)
    np.testing.assert_array_equal(again(rg.tensor(X)).detach().numpy(), rg.onnx.load(_whole(model, tmp_path / "whole.onnx"))(rg.tensor(X)).detach().numpy())
    assert {n for n, _ in again.named_parameters()} == {n for n, _ in model.named_parameters()}
    held = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    for name, tensor in model.state_dict().items():
        if name in held:
            np.testing.assert_array_equal(held[name], tensor)
    small = [t.name for t in onnx.load(path, load_external_data=False).graph.initializer if not t.external_data]
    assert "0.bias" in small and "0.weight" not in small


def _whole(model, path):
    rg.onnx.export(model, rg.tensor(X), path)
    return path


@pytest.mark.parametrize("dtype", [rg.bfloat16, rg.float16, rg.float64, rg.int8])
def test_each_dtype_lies_beside_a_model(dtype, tmp_path):
    table = (rg.tensor(X) * 20).astype(dtype)
    rg.onnx.export(lambda x: (x, table.astype(rg.float32)), rg.ones(1, dtype=rg.float32), tmp_path / "m.onnx", external_data=True, dynamic=None)
    assert len(names(tmp_path)) == (1 if table.raw.nbytes < 1024 else 2)
    np.testing.assert_array_equal(rg.onnx.load(tmp_path / "m.onnx")(rg.ones(1))[1], table.astype(rg.float32))


def test_what_older_models_needed_goes_and_what_others_need_stays(tmp_path):
    (tmp_path / "other.onnx-0123456789abcdef.data").write_bytes(b"")
    for seed in (0, 1, 1):
        rg.onnx.export(made(seed), rg.tensor(X), tmp_path / "model.onnx", external_data=True)
    assert len(names(tmp_path)) == 3
    np.testing.assert_allclose(run(tmp_path / "model.onnx"), made(1)(rg.tensor(X)).detach(), rtol=1e-5, atol=1e-6)


def test_a_model_that_could_not_be_written_leaves_the_older_one_whole(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    rg.onnx.export(made(0), rg.tensor(X), path, external_data=True)
    before = names(tmp_path)
    write = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", lambda self, content: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(rg.errors.StorageError, match=r"model\.onnx cannot be written: No space left"):
        rg.onnx.export(made(1), rg.tensor(X), path, external_data=True)
    monkeypatch.setattr(Path, "write_bytes", write)
    assert names(tmp_path) == before
    np.testing.assert_allclose(run(path), made(0)(rg.tensor(X)).detach(), rtol=1e-5, atol=1e-6)


def test_weights_lie_beside_a_model_that_has_no_room_for_them(tmp_path, monkeypatch):
    monkeypatch.setattr(external, "MOST_BYTES", external._ROOM + 6000)
    rg.onnx.export(made(), rg.tensor(X), tmp_path / "model.onnx")
    assert len(names(tmp_path)) == 2
    with pytest.raises(rg.errors.UnsupportedOnnxError, match=r"larger than 2 GB.*leave out external_data=False"):
        rg.onnx.export(made(), rg.tensor(X), tmp_path / "m.onnx", external_data=False)
    assert len(names(tmp_path)) == 2


@pytest.mark.skipif(os.name != "posix", reason="links are those of POSIX")
def test_a_link_to_a_model_is_refused(tmp_path):
    (tmp_path / "link.onnx").symlink_to(tmp_path / "model.onnx")
    with pytest.raises(rg.errors.ArgumentError, match=r"link\.onnx is a link"):
        rg.onnx.export(made(), rg.tensor(X), tmp_path / "link.onnx", external_data=True)
    assert names(tmp_path) == ["link.onnx"]


@pytest.mark.long
def test_a_model_of_more_than_two_gigabytes_is_written_and_read(tmp_path):
    table = rg.tensor(np.zeros((700, 1_000_000), np.float32))  # 2.8 GB
    table[3, 5] = 7
    rg.onnx.export(lambda x: rg.take(table, x, axis=0)[:, :9], rg.tensor([3, 1]), tmp_path / "model.onnx")
    found = rg.onnx.load(tmp_path / "model.onnx", trainable=False)(rg.tensor([3, 1]))
    assert found[0, 5] == 7
    (found,) = runtime.InferenceSession(str(tmp_path / "model.onnx")).run(None, {"x": np.array([3, 1])})
    assert found[0, 5] == 7
