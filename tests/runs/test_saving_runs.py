import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from run_parts import Training, states

import retrograde as rg
from retrograde import nn, optim
from retrograde.runs import RunSaver, checkpoints, files, saving


def names(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("before", [0, 1, 4, 5, 7])
def test_a_run_that_is_loaded_goes_on_with_the_bits_of_one_that_was_never_stopped(tmp_path, before):
    first = Training().train(before)
    rg.save_run(tmp_path, step=before, **first.parts())
    first.train(9)
    second = Training(seed=5).train(2)
    assert second.load(tmp_path) == {"step": before}
    assert states(second.train(9)) == states(first)


def test_values_of_every_kind_come_back_as_they_were(tmp_path):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    values = {
        "none": None, "truth": True, "whole": 2**70, "number": 0.1, "text": "déjà $vu\n", "bytes": b"\0\xff", "unit": 1j,
        "tuple": (1, (2.0,)), "set": {3, 1}, "keys": {1: "a", (2, 3): "b", "$x": 4}, "far": [float("inf"), -float("inf")],
        "small": np.float16(0.1), "big": x.astype(">f8"), "complex": x + 1j * x.astype(np.float64), "turned": x.T,
        "empty": np.empty((0, 3), np.int8), "flag": np.array(True),
    }
    rg.save_run(tmp_path, **values, tensor=rg.tensor(x), half=rg.tensor(x).astype(rg.bfloat16))
    found = rg.load_run(tmp_path)
    assert isinstance(found["tensor"], rg.Tensor)
    assert found["half"].dtype == rg.bfloat16
    assert found["half"].tolist() == found["tensor"].tolist() == x.tolist()
    for name, value in values.items():
        assert type(found[name]) is type(value), name
        if isinstance(value, (np.ndarray, np.generic)):
            assert found[name].dtype == value.dtype.newbyteorder("=")
            np.testing.assert_array_equal(found[name], value)
        else:
            assert found[name] == value
    assert np.isnan(rg.load_run(rg.save_run(tmp_path, x=float("nan")))["x"])


def test_parts_may_lie_in_lists_and_dictionaries(tmp_path):
    models = {"generator": nn.Linear(2, 2), "critics": [nn.Linear(2, 1), nn.Linear(2, 1)]}
    optimizers = [optim.SGD(models["generator"].parameters()), optim.Adam([p for c in models["critics"] for p in c.parameters()])]
    table = np.arange(3.0)
    rg.save_run(tmp_path, models=models, optimizers=optimizers, table=table)
    before = [p.tolist() for p in models["critics"][1].parameters()]
    nn.init.zeros_(models["critics"][1].weight)
    table[:] = 0
    assert rg.load_run(tmp_path, models=models, optimizers=optimizers, table=table) == {}
    assert [p.tolist() for p in models["critics"][1].parameters()] == before
    assert table.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(rg.errors.CheckpointError, match="models is a dict of 1"):
        rg.load_run(tmp_path, models={"generator": models["generator"]})


def test_memory_that_several_names_share_is_written_once(tmp_path):
    shared = nn.Linear(100, 100)
    rg.save_run(tmp_path, model=nn.Sequential(shared, shared))
    assert (tmp_path / "checkpoint-000001" / "tensors.safetensors").stat().st_size < 1.1 * 4 * 100 * 101


def test_a_checkpoint_is_a_file_of_safetensors_and_one_of_json(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy", reason="the oracle of the format")
    training = Training().train(2)
    folder = rg.save_run(tmp_path, **training.parts())
    assert names(folder) == ["run.json", "tensors.safetensors"]
    theirs = safetensors.load_file(folder / "tensors.safetensors")
    np.testing.assert_array_equal(theirs["model/0.weight"], training.model[0].weight.detach().numpy())


def swapped(model):
    return optim.AdamW([*list(model.parameters())[::-1]], lr=0.05)


class Twins(nn.Module):
    """Two layers that could be taken for each other."""

    def __init__(self, order="ab"):
        super().__init__()
        for name in order:
            setattr(self, name, nn.Linear(2, 2))


WRONG = {
    "another width": lambda t: {"model": Training(width=9).model},
    "another dtype": lambda t: {"model": Training().model.double()},
    "AdamW into SGD": lambda t: {"optimizer": optim.SGD(t.model.parameters())},
    "AdamW into Adam": lambda t: {"optimizer": optim.Adam(t.model.parameters())},
    "parameters in another order": lambda t: {"model": t.model, "optimizer": swapped(t.model)},
    "fewer parameters": lambda t: {"optimizer": optim.AdamW(list(t.model.parameters())[:-1])},
    "two groups": lambda t: {"optimizer": optim.AdamW([{"params": [p]} for p in t.model.parameters()])},
    "another schedule": lambda t: {"schedule": optim.lr_scheduler.StepLR(t.optimizer, 3)},
    "another schedule inside": lambda t: {"schedule": optim.lr_scheduler.SequentialLR(t.optimizer, [
        optim.lr_scheduler.LinearLR(t.optimizer), optim.lr_scheduler.StepLR(t.optimizer, 3)], [3])},
    "other data": lambda t: {"data": Training(rows=24).data},
    "another size of batches": lambda t: {"data": rg.data.Loader(t.data.source, 4, shuffle=True)},
    "NumPy's generator for ours": lambda t: {"generator": t.noise},
    "bits of another kind": lambda t: {"noise": np.random.Generator(np.random.MT19937(0))},
    "a model for data": lambda t: {"data": t.model},
    "a number": lambda t: {"step": 3},
    "a part that is not there": lambda t: {"critic": t.model},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_an_error_before_anything_changes(tmp_path, wrong):
    rg.save_run(tmp_path, step=3, **Training().train(3).parts())
    other = Training(seed=1).train(2)
    parts = other.parts() | wrong(other)
    before = states(other)
    with pytest.raises((rg.errors.CheckpointError, rg.errors.DataError)):
        rg.load_run(tmp_path, **parts)
    assert states(other) == before


def test_the_moments_of_layers_that_were_exchanged_are_not_mixed_up(tmp_path):
    model = Twins()
    rg.save_run(tmp_path, model=model, optimizer=optim.Adam(model.parameters()))
    exchanged = Twins("ba")
    with pytest.raises(rg.errors.CheckpointError, match=r"it has model/b\.weight .* where it had model/a\.weight"):
        rg.load_run(tmp_path, model=exchanged, optimizer=optim.Adam(exchanged.parameters()))
    assert rg.load_run(tmp_path, model=exchanged).keys() == {"optimizer"}


class Fussy:
    """An object whose state is taken over at once, and refused afterwards."""

    def __init__(self, value):
        self.value = value

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]
        if self.value == "refused":
            raise KeyError("value")


def test_an_object_that_fails_half_way_takes_everything_back(tmp_path):
    rg.save_run(tmp_path, **Training().train(3).parts(), zealous=Fussy("refused"))
    other, own = Training(seed=1).train(2), Fussy("own")
    before = states(other)
    with pytest.raises(rg.errors.CheckpointError, match="zealous does not take what was saved: KeyError"):
        rg.load_run(tmp_path, **other.parts(), zealous=own)
    assert (states(other), own.value) == (before, "own")


def test_what_cannot_be_saved_is_named_and_leaves_nothing(tmp_path):
    for value, said in ((lambda: 0, "part/0 is a function"), (np.array(["a"]), "part/0 is an array of <U1"), (object(), "part/0 is a object")):
        with pytest.raises(rg.errors.CheckpointError, match=said):
            rg.save_run(tmp_path / "run", part=[value])
    deep = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(rg.errors.CheckpointError, match="nested deeper"):
        rg.save_run(tmp_path / "run", deep=deep)
    assert names(tmp_path) == []


def test_the_last_and_the_best_are_kept(tmp_path):
    for step, metric in enumerate((0.5, 0.2, 0.4, float("nan"), 0.3, 0.6, 0.7)):
        rg.save_run(tmp_path, step=step, metric=metric, keep_last=2, keep_best=1, value=step)
    assert [(c.number, c.step, c.metric) for c in checkpoints(tmp_path)] == [(2, 1, 0.2), (6, 5, 0.6), (7, 6, 0.7)]
    assert names(tmp_path) == ["checkpoint-000002", "checkpoint-000006", "checkpoint-000007"]
    assert rg.load_run(tmp_path)["value"] == 6
    assert rg.load_run(tmp_path, which="best")["value"] == 1
    assert rg.load_run(tmp_path, which="best", mode="max")["value"] == 6
    assert rg.load_run(tmp_path / "checkpoint-000006")["value"] == 5
    rg.save_run(tmp_path, metric=0.1, keep_last=1, keep_best=1, mode="max", value=7)
    assert [c.metric for c in checkpoints(tmp_path)] == [0.7, 0.1]


def test_a_save_into_a_run_that_went_back_is_the_newest_all_the_same(tmp_path):
    rg.save_run(tmp_path, step=100, value="old")
    rg.save_run(tmp_path, step=50, value="new")
    assert rg.load_run(tmp_path) == {"step": 50, "value": "new"}


@pytest.fixture
def disk(monkeypatch):
    """A disk on which nothing is written before it is let go."""
    gate, write = threading.Event(), files.write_files
    monkeypatch.setattr(saving, "write_files", lambda *args: (gate.wait(60), write(*args)))
    return gate


def test_saving_does_not_wait_for_the_disk_and_saves_what_was_there(tmp_path, disk):
    training = Training().train(3)
    expected = states(training)
    saver = RunSaver(tmp_path)
    saver.save(step=3, **training.parts())
    training.train(4)
    assert checkpoints(tmp_path) == []
    disk.set()
    saver.wait()
    again = Training(seed=2)
    again.load(tmp_path)
    assert states(again) == expected


def test_a_process_that_changes_its_folder_saves_where_it_was_asked_to(tmp_path, disk, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    saver = RunSaver("run")
    saver.save(step=1)
    monkeypatch.chdir(tmp_path / "other")
    disk.set()
    saver.wait()
    assert checkpoints(tmp_path / "run")[0].step == 1


def test_of_those_that_wait_the_newest_is_written_and_the_best(tmp_path, disk):
    saver = RunSaver(tmp_path, keep_last=None, keep_best=1)
    for step, metric in enumerate((9.0, 5.0, 1.0, 3.0, 2.0, 4.0)):
        saver.save(step=step, metric=metric)
    disk.set()
    saver.wait()
    # One was on its way, or the first of all waited like the others: of these the best and the newest.
    kept = [c.step for c in checkpoints(tmp_path)]
    assert {2, 5} <= {*kept} and len(kept) <= 3
    saver.save(step=6, metric=8.0, wait=True)
    assert checkpoints(tmp_path)[-1].step == 6


def test_what_goes_wrong_behind_is_raised_by_the_next_call(tmp_path):
    (tmp_path / "file").write_text("")
    saver = RunSaver(tmp_path / "file")
    saver.save(step=1)
    with pytest.raises(rg.errors.StorageError, match="file is a file, and a run is saved in a folder"):
        saver.wait()
    rg.save_run(tmp_path / "file", wait=False)
    with pytest.raises(rg.errors.StorageError, match="file is a file, and a run is saved in a folder"):
        for _ in range(100):
            rg.save_run(tmp_path / "file", wait=False)
            saving._SAVERS[os.path.realpath(tmp_path / "file")].wait()


LAST = """
import sys, numpy as np, retrograde as rg
for step in range(3):
    rg.save_run(sys.argv[1], step=step, x=np.full(1_000_000, step), wait=False)
"""


def test_a_process_that_ends_writes_what_it_has_saved(tmp_path):
    subprocess.run([sys.executable, "-c", LAST, tmp_path], check=True)
    assert rg.load_run(tmp_path)["x"][0] == 2


def test_what_went_wrong_behind_is_told_when_the_process_ends_without_another_save(tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run([sys.executable, "-c", LAST, tmp_path / "file"], check=False, capture_output=True, text=True)
    assert "file is a file, and a run is saved in a folder" in done.stderr
    alone = LAST.replace("range(3)", "range(1)")
    done = subprocess.run([sys.executable, "-c", alone, tmp_path / "file"], check=True, capture_output=True, text=True)
    assert done.stderr.count("a checkpoint was not saved: StorageError") == 1
    assert subprocess.run([sys.executable, "-c", alone, tmp_path], check=True, capture_output=True, text=True).stderr == ""


def test_several_that_save_into_one_folder_lose_nothing(tmp_path):
    def save(who):
        for i in range(5):
            RunSaver(tmp_path, keep_last=None).save(who=who, i=i, wait=True)

    threads = [threading.Thread(target=save, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {tuple(rg.load_run(c.path).values()) for c in checkpoints(tmp_path)}
    assert found == {(who, i) for who in range(4) for i in range(5)}


FULL = """
import resource, sys, numpy as np, retrograde as rg
rg.save_run("run", step=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    rg.save_run("run", x=np.zeros(100_000))
except rg.errors.StorageError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits on files are those of POSIX")
def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "run cannot be written: File too large\n"
    assert names(tmp_path / "run") == ["checkpoint-000001"]


@pytest.mark.parametrize(("options", "said"), [
    ({"keep_last": 0}, "keep_last must be an integer of at least 1"), ({"keep_best": -1}, "keep_best"), ({"keep_best": None}, "keep_best"),
    ({"mode": "least"}, "mode must be"),
])
def test_options_that_cannot_be_are_refused(tmp_path, options, said):
    with pytest.raises(rg.errors.ArgumentError, match=said):
        rg.save_run(tmp_path, **options)
    with pytest.raises(rg.errors.ArgumentError, match="which"):
        rg.load_run(tmp_path, which="first")
