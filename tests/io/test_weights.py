import os
import time

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors comes with the extra `io`")


@pytest.mark.parametrize("dtype", [
    rg.float16, rg.bfloat16, rg.float32, rg.float64, rg.bool_, rg.int8, rg.int64, rg.uint8, rg.uint16, rg.uint64, rg.complex64,
])
def test_every_dtype_comes_back(tmp_path, dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    rg.save({"x": x, "zero": x[0, 0], "none": x[:0]}, tmp_path / "w")
    state = rg.load(tmp_path / "w")
    assert state["x"].dtype == dtype
    np.testing.assert_array_equal(state["x"], x)
    assert state["zero"].shape == ()
    assert state["none"].shape == (0, 3)


def test_arrays_in_any_layout_and_byte_order_are_saved_right(tmp_path):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    arrays = {"transposed": x.T, "strided": x[:, ::2], "reversed": x[::-1], "big": x.astype(">f4"), "repeated": np.broadcast_to(x[0], (2, 4))}
    rg.save(arrays, tmp_path / "w")
    for name, value in safetensors.load_file(tmp_path / "w").items():
        np.testing.assert_array_equal(value, arrays[name])
        np.testing.assert_array_equal(rg.load(tmp_path / "w")[name], arrays[name])


def test_a_module_with_a_shared_layer_comes_back(tmp_path):
    shared = nn.Linear(2, 2)
    model, fresh = nn.Sequential(shared, nn.Tanh(), shared), nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
    rg.save(model, tmp_path / "w")
    fresh.load_state_dict(rg.load(tmp_path / "w"))
    np.testing.assert_array_equal(fresh(rg.ones(1, 2)).detach(), model(rg.ones(1, 2)).detach())


def test_what_was_loaded_can_be_written_to(tmp_path):
    rg.save({"x": rg.ones(2)}, tmp_path / "w")
    rg.load(tmp_path / "w")["x"][...] = 2.0


def test_weights_of_torch_load_unchanged(tmp_path):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    theirs = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(8, 3))
    ours = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 3))
    importer = pytest.importorskip("safetensors.torch")
    importer.save_file(theirs.state_dict(), tmp_path / "w")
    ours.load_state_dict(rg.load(tmp_path / "w"))
    x = np.random.default_rng(0).standard_normal((2, 1, 4, 4)).astype(np.float32)
    np.testing.assert_allclose(ours(rg.tensor(x)).detach(), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-5, atol=1e-6)
    rg.save(ours, tmp_path / "v")
    theirs.load_state_dict(importer.load_file(tmp_path / "v"))


@pytest.mark.parametrize("damage", [
    lambda b: b"", lambda b: b[:5], lambda b: b[:-1], lambda b: b + b"x", lambda b: b"\xff" * 8 + b[8:], lambda b: b"PK\x03\x04" + b,
    lambda b: b.replace(b"F32", b"F99"),
])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, damage):
    path = tmp_path / "w"
    rg.save({"x": rg.ones(2)}, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(rg.errors.CheckpointError, match=str(path)):
        rg.load(path)


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(rg.errors.CheckpointError, match=r"nothing cannot be read: No such file"):
        rg.load(tmp_path / "nothing")


def test_what_cannot_be_saved_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "w"
    rg.save({"x": rg.ones(2)}, path)
    before = path.read_bytes()
    with pytest.raises(rg.errors.CheckpointError, match="complex128"):
        rg.save({"x": np.ones(2, np.complex128)}, path)
    with pytest.raises(rg.errors.CheckpointError, match="key 3"):
        rg.save({3: rg.ones(2)}, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["w"]


def test_a_write_that_fails_half_way_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "w"
    rg.save({"x": rg.ones(2)}, path)
    before = path.read_bytes()

    def failing(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="No space"):
        rg.save({"x": rg.zeros(2)}, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["w"]


def test_parts_of_processes_that_died_are_swept(tmp_path):
    old, new = tmp_path / ".w.dead.part", tmp_path / ".w.alive.part"
    for part in (old, new):
        part.write_bytes(b"")
    os.utime(old, (time.time() - 7200,) * 2)
    rg.save({"x": rg.ones(1)}, tmp_path / "w")
    assert not old.exists()
    assert new.exists()


def test_without_safetensors_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    monkeypatch.setitem(__import__("sys").modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"needs safetensors; install it with: pip install 'retrograde\[io\]'"):
        rg.save({"x": rg.ones(1)}, tmp_path / "w")


def test_the_state_of_an_optimizer_is_told_from_weights(tmp_path):
    state = rg.optim.Adam([rg.nn.Parameter(rg.ones(2))]).state_dict()
    with pytest.raises(rg.errors.CheckpointError, match="'state' with a dict; the state of an optimizer can be pickled"):
        rg.save(state, tmp_path / "w")
