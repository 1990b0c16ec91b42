import json
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc

import malformed
import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.runs import checkpoints, loading


@pytest.fixture
def run(tmp_path):
    """A checkpoint, and what it restores."""
    return malformed.example(tmp_path / "run")


def test_a_flipped_bit_in_any_byte_is_found(run):
    folder, parts = run
    for name in ("tensors.safetensors", "run.json"):
        path, draw = folder / name, random.Random(0)
        content = path.read_bytes()
        # An odd number of bytes apart: each byte of a number, and all of a tensor, come up.
        for place in range(0, len(content), 19):
            changed = bytearray(content)
            changed[place] ^= 1 << draw.randrange(8)
            path.write_bytes(changed)
            with pytest.raises(rg.errors.CheckpointError):
                rg.load_run(folder)
        path.write_bytes(content)
    assert rg.load_run(folder, **parts)["step"] == 3


def test_a_tensor_that_is_damaged_is_named(run):
    folder, _ = run
    path = folder / "tensors.safetensors"
    content = path.read_bytes()
    place = content.index(rg.load_run(folder)["model"]["0.weight"].numpy().tobytes())
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1:])
    with pytest.raises(rg.errors.CheckpointError, match=r"tensors\.safetensors: model/0\.weight is damaged"):
        rg.load_run(folder.parent)


@pytest.mark.parametrize("part", range(4))
def test_what_is_malformed_is_an_error_of_ours_soon_and_without_much_memory(tmp_path, part):
    original, parts = malformed.example(tmp_path)
    for seed in range(40 * part, 40 * part + 40):
        way, found = malformed.tried(seed, original, parts)
        assert found != "fine" or way in ("signed", "unchanged"), seed


def test_loading_takes_the_memory_of_the_tensors_and_little_more(tmp_path):
    rg.save_run(tmp_path, x=np.zeros(4_000_000), y=np.ones(4_000_000))
    tracemalloc.start()
    found = rg.load_run(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["y"].sum() == 4_000_000
    assert peak < 1.1 * 64_000_000


def test_a_later_version_says_so(run):
    folder, _ = run
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 2}))
    with pytest.raises(rg.errors.CheckpointError, match="is of version 2, and this retrograde reads version 1"):
        rg.load_run(folder)


def test_where_there_is_no_checkpoint_the_error_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "absent", tmp_path / "file"):
        with pytest.raises(rg.errors.CheckpointError, match=f"there is no checkpoint in {path}"):
            rg.load_run(path)
    rg.save_run(tmp_path, step=1)
    with pytest.raises(rg.errors.CheckpointError, match="was saved with a metric"):
        rg.load_run(tmp_path, which="best")


def test_a_part_that_was_saved_as_something_else_is_an_error(tmp_path):
    rg.save_run(tmp_path, model=3, x=np.ones(3), t=rg.ones(3))
    for parts, said in (({"model": nn.Linear(1, 1)}, "model is a Linear, and what was saved under that name is a int"),
                        ({"x": np.ones(4)}, r"x is float64 of shape \(4,\)"), ({"t": rg.ones(3, dtype=rg.float64)}, "t is float64")):
        with pytest.raises(rg.errors.CheckpointError, match=said):
            rg.load_run(tmp_path, **parts)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(rg.errors.CheckpointError, match="read-only"):
        rg.load_run(tmp_path, x=frozen)


def test_generators_of_the_process_go_on_unless_they_are_not_to(tmp_path):
    rg.manual_seed(1)
    rg.save_run(tmp_path)
    draws = lambda: (rg.rand(1).item(), random.random(), np.random.random())
    expected = draws()
    rg.load_run(tmp_path)
    assert draws() == expected
    rg.load_run(tmp_path, generators=False)
    assert draws() != expected


def test_a_lazy_model_takes_its_shapes_from_the_checkpoint(tmp_path):
    model, lazy = nn.Sequential(nn.Linear(3, 2)), nn.Sequential(nn.LazyLinear(2))
    rg.save_run(tmp_path, model=model)
    rg.load_run(tmp_path, model=lazy)
    assert lazy[0].weight.tolist() == model[0].weight.tolist()


def test_a_checkpoint_that_is_deleted_while_it_is_read_is_read_from_a_newer_one(tmp_path, monkeypatch):
    rg.save_run(tmp_path, step=1)
    read = loading.read_files

    def read_late(folder):
        if folder.name == "checkpoint-000001":
            rg.save_run(tmp_path, step=2, keep_last=1)
        return read(folder)

    monkeypatch.setattr(loading, "read_files", read_late)
    assert rg.load_run(tmp_path)["step"] == 2


SAVES = """
import sys, numpy as np, retrograde as rg
step = 0
while True:
    step += 1
    rg.save_run(sys.argv[1], step=step, x=np.full(200_000, step), keep_last=2, metric=-step, keep_best=1, wait=sys.argv[2] == "wait")
"""


@pytest.mark.skipif(os.name != "posix", reason="processes are killed as POSIX does it")
@pytest.mark.parametrize("mode", ["wait", "behind"])
def test_a_process_that_is_killed_leaves_a_whole_checkpoint_and_nothing_after_the_next_save(tmp_path, mode):
    draw, last = random.Random(0), 0
    for _ in range(4):
        process = subprocess.Popen([sys.executable, "-c", SAVES, tmp_path, mode])
        while not (found := checkpoints(tmp_path)) or found[-1].number == last:
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(draw.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = rg.load_run(tmp_path)
        assert (found["x"] == found["step"]).all()
        last = checkpoints(tmp_path)[-1].number
    rg.save_run(tmp_path, step=0, keep_last=1)
    assert [p.name for p in tmp_path.iterdir()] == [f"checkpoint-{last + 1:06}"]


def test_the_best_is_the_one_that_was_the_best_when_it_was_saved(tmp_path):
    for step, metric in enumerate([0.5, 0.9, 0.7]):
        rg.save_run(tmp_path, step=step, metric=metric, mode="max")
    assert rg.load_run(tmp_path, which="best") == {"step": 1}
    assert rg.load_run(tmp_path, which="best", mode="min") == {"step": 0}


def test_a_file_is_no_folder_of_a_run(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(rg.errors.StorageError, match="run is a file, and a run is saved in a folder: name another place"):
        rg.save_run(tmp_path / "run", step=1)


def test_a_state_that_does_not_fit_is_the_runtime_error_that_pytorch_raises():
    with pytest.raises(RuntimeError, match="no tensor for bias"):
        nn.Linear(2, 1).load_state_dict({"weight": rg.ones(1, 2)})
