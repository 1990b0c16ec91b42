import json
import os
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest

import retrograde as rg
from retrograde import atomic, nn

safetensors = pytest.importorskip("safetensors.numpy", reason="the oracle of the format")


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
    with pytest.raises(rg.errors.StorageError, match="w cannot be written: No space"):
        rg.save({"x": rg.zeros(2)}, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["w"]


def test_the_part_of_a_process_that_died_is_swept_at_the_next_save_and_that_of_a_living_one_is_not(tmp_path):
    dead, alive = tmp_path / ".w.dead.part", tmp_path / ".w.alive.part"
    for part in (dead, alive):
        part.write_bytes(b"")
    with atomic.locked(alive) as is_mine:
        assert is_mine
        rg.save({"x": rg.ones(1)}, tmp_path / "w")
    assert not dead.exists()
    assert alive.exists()


def test_where_files_cannot_be_locked_a_part_is_swept_after_an_hour(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "fcntl", None)
    old, new = tmp_path / ".w.old.part", tmp_path / ".w.new.part"
    for part in (old, new):
        part.write_bytes(b"")
    os.utime(old, (time.time() - 7200,) * 2)
    rg.save({"x": rg.ones(1)}, tmp_path / "w")
    assert not old.exists()
    assert new.exists()


@pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX")
def test_a_file_keeps_its_mode_and_a_link_leads_to_the_new_file(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    rg.save({"x": rg.ones(1)}, real)
    real.chmod(0o640)
    link.symlink_to("real")
    rg.save({"x": rg.zeros(1)}, link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert rg.load(real)["x"].tolist() == [0.0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
def test_a_fifo_is_refused_and_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "w")
    with pytest.raises(rg.errors.CheckpointError, match="no ordinary file"):
        rg.load(tmp_path / "w")


FULL = """
import errno, resource, sys
import retrograde as rg
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    rg.save({"x": rg.ones(100_000)}, "w")
except rg.errors.StorageError as error:
    assert error.errno == errno.EFBIG and isinstance(error, OSError)
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits on files are those of POSIX")
def test_a_file_that_the_system_has_no_room_for_is_an_error_of_ours_and_nothing_is_left(tmp_path):
    rg.save({"x": rg.ones(1)}, tmp_path / "w")
    done = subprocess.run([sys.executable, "-c", FULL], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "w cannot be written: File too large\n", done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["w"]
    assert rg.load(tmp_path / "w")["x"].tolist() == [1.0]


def file_of(header, data=b""):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(("entry", "data", "said"), [
    ({"dtype": "F32", "shape": [0, 2**62], "data_offsets": [0, 0]}, b"", "cannot be made"),
    ({"dtype": "F32", "shape": [0, 2**70], "data_offsets": [0, 0]}, b"", "no sizes"),
    ({"dtype": "F32", "shape": [1] * 65, "data_offsets": [0, 4]}, bytes(4), "65 axes"),
    ({"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}, bytes(4), "no sizes"),
    ({"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 4]}, bytes(4), "does not take 4 bytes"),
    ({"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}, bytes(8), "begins at byte 4"),
    ({"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}, bytes(4), "no sizes"),
    ({"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}, bytes(4), "does not know"),
    ({"dtype": "F32", "shape": [1]}, bytes(4), "lacks"),
    ([], b"", "lacks"),
])
def test_an_odd_entry_is_an_error_that_names_the_file_and_the_tensor(tmp_path, entry, data, said):
    path = tmp_path / "w"
    path.write_bytes(file_of({"x": entry}, data))
    with pytest.raises(rg.errors.CheckpointError, match=f"w.*{said}"):
        rg.load(path)


def test_a_header_nested_deep_or_crowded_is_refused_without_taking_memory_for_it(tmp_path):
    path = tmp_path / "w"
    crowded = b'{"x":[' + b"[]," * 1_000_000 + b"[]]}"
    for text in (b"[" * 200_000 + b"]" * 200_000, b"[" * 50_000 + b"]" * 50_000, crowded, b"1" * 10_000):
        path.write_bytes(len(text).to_bytes(8, "little") + text)
        tracemalloc.start()
        with pytest.raises(rg.errors.CheckpointError, match=str(path)):
            rg.load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * len(text) + (6 << 20)


def test_files_are_those_that_safetensors_writes_and_reads(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {f"{d}{n}": rng.integers(0, 2, (n, 3)).astype(d) for d in ("float64", "int8", "bool", "float16") for n in (0, 1, 5)}
    rg.save(arrays, tmp_path / "ours", metadata={"made": "by us"})
    safetensors.save_file(arrays, tmp_path / "theirs")
    theirs, ours = safetensors.load_file(tmp_path / "ours"), rg.load(tmp_path / "theirs")
    for name, array in arrays.items():
        for found in (theirs[name], ours[name].numpy()):
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array)
    with pytest.raises(rg.errors.CheckpointError, match="dictionary of strings"):
        rg.save(arrays, tmp_path / "ours", metadata={"made": 1})


def test_the_state_of_an_optimizer_is_told_from_weights(tmp_path):
    state = rg.optim.Adam([rg.nn.Parameter(rg.ones(2))]).state_dict()
    with pytest.raises(rg.errors.CheckpointError, match="'state' with a dict; a model with its optimizer"):
        rg.save(state, tmp_path / "w")
