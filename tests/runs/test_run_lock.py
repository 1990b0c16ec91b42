import errno
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext

import numpy as np
import pytest

import retrograde as rg
from retrograde import atomic, nn, optim, process, train
from retrograde.runs import checkpoints, lock, saving

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks of files are those of POSIX")
X = np.random.default_rng(0).normal(size=(32, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)


class AfterStep(train.Callback):
    """Calls a function after one step."""

    def __init__(self, step, call):
        self.step, self.call = step, call

    def after_step(self, trainer):
        if trainer.step == self.step:
            self.call()


def trainer_into(folder, *callbacks):
    rg.manual_seed(0)
    model = nn.Linear(3, 2)
    return train.Trainer(model, optim.SGD(model.parameters(), lr=0.1), nn.functional.cross_entropy, checkpoint=folder, save_every=2,
                         progress=False, callbacks=callbacks)


def fitted(trainer, epochs=2):
    trainer.fit(rg.data.Loader((X, Y), 8), epochs=epochs)
    return trainer.model.weight.tolist()


def test_a_second_trainer_is_told_who_has_the_folder_and_mixes_in_nothing(tmp_path):
    whole = fitted(trainer_into(tmp_path / "whole"))
    seen = []

    def intrude():
        with pytest.raises(rg.errors.CheckpointError, match=f"this process {os.getpid()} on .*, is training into .*run, where one") as told:
            fitted(trainer_into(tmp_path / "run"))
        seen.append(str(told.value))

    assert fitted(trainer_into(tmp_path / "run", AfterStep(3, intrude))) == whole
    assert len(seen) == 1
    assert {p.name.partition("-")[0] for p in (tmp_path / "run").iterdir()} == {"checkpoint"}


HOLDS = """
import os, sys, time
from pathlib import Path
from retrograde.runs.lock import RunLock
held = RunLock(Path(sys.argv[1]))
held.acquire()
child = os.fork() if sys.argv[2] == "forks" else None
if child != 0:
    print(child or os.getpid(), flush=True)
time.sleep(60)
"""


def holder(folder, what="holds"):
    """(a process that has the lock of a folder, the number that it printed)."""
    made = subprocess.Popen([sys.executable, "-c", HOLDS, folder, what], stdout=subprocess.PIPE, text=True)
    return made, int(made.stdout.readline())


def ended(other):
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdout.close()


def test_the_folder_of_a_process_that_is_killed_is_free_at_once(tmp_path):
    other, number = holder(tmp_path)
    try:
        with pytest.raises(rg.errors.CheckpointError, match=f"process {number} on .*, since 2"):
            fitted(trainer_into(tmp_path))
    finally:
        ended(other)
    assert (tmp_path / lock.NAME).exists()
    fitted(trainer_into(tmp_path))
    assert not (tmp_path / lock.NAME).exists()


def test_a_child_of_a_killed_process_does_not_keep_its_folder(tmp_path):
    other, child = holder(tmp_path, "forks")
    try:
        ended(other)
        assert process.is_running(("", child, 0)) is None
        os.kill(child, 0)  # it lives, and has the handle that is locked
        with pytest.raises(BlockingIOError), (tmp_path / lock.NAME).open("rb") as file:
            atomic.fcntl.flock(file, atomic.fcntl.LOCK_EX | atomic.fcntl.LOCK_NB)
        fitted(trainer_into(tmp_path))
    finally:
        os.kill(child, signal.SIGKILL)


FORKED = """
import os, sys
from pathlib import Path
from retrograde.errors import CheckpointError
from retrograde.runs.lock import NAME, RunLock
held = RunLock(Path(sys.argv[1]))
held.acquire()
child = os.fork()
if child == 0:
    held.release()
    try:
        RunLock(Path(sys.argv[1])).acquire()
    except CheckpointError as error:
        os._exit(7 if str(os.getppid()) in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), (Path(sys.argv[1]) / NAME).exists())
held.release()
print((Path(sys.argv[1]) / NAME).exists())
"""


def test_a_forked_child_neither_has_nor_ends_the_lock_of_its_parent(tmp_path):
    done = subprocess.run([sys.executable, "-c", FORKED, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["7", "True", "False"]


@pytest.fixture
def no_locks(monkeypatch):
    """A file system without locks."""

    def refused(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(atomic.fcntl, "flock", refused)


def held_by(folder, name):
    (folder / lock.NAME).write_text(json.dumps({"process": name, "since": "2026-01-01 00:00:00"}))


def test_without_locks_a_holder_is_known_by_its_number_on_its_machine(tmp_path, no_locks):
    machine, number, began = process.myself()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name in ((machine, gone.pid, began), (machine, number, began - 1 if began else 1)):  # the other has a number that is in use again
        held_by(tmp_path, name)
        fitted(trainer_into(tmp_path))
    for name, said in ((process.myself(), f"this process {number}"), (("far away", 1, 1), "process 1 on far away")):
        held_by(tmp_path, name)
        with pytest.raises(rg.errors.CheckpointError, match=rf"{said}.*if that has ended, delete .*training\.lock"):
            fitted(trainer_into(tmp_path))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"process": 3}', b'{"process": ["x", "y", 0], "since": 1}', b"[" * 4000, b"\xff" * 9000,
                                     b'{"process": ["x", 1e999, 0], "since": 0}'])
def test_what_is_in_the_file_of_a_free_lock_does_not_matter(tmp_path, content):
    (tmp_path / lock.NAME).write_bytes(content)
    held = lock.RunLock(tmp_path)
    held.acquire()
    held.acquire()  # the same again
    with pytest.raises(rg.errors.CheckpointError, match=f"this process {os.getpid()}"):
        lock.RunLock(tmp_path).acquire()
    (tmp_path / lock.NAME).write_bytes(content)
    with pytest.raises(rg.errors.CheckpointError, match="another process is training into"):
        lock.RunLock(tmp_path).acquire()
    held.release()
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_locked_is_a_storage_error(tmp_path):
    (tmp_path / lock.NAME).mkdir()
    with pytest.raises(rg.errors.StorageError, match="cannot be written: Is a directory"):
        fitted(trainer_into(tmp_path))


def test_who_saves_into_the_folder_of_a_training_all_the_same_is_found_out(tmp_path):
    with pytest.raises(rg.errors.CheckpointError, match=r"has a checkpoint \d, and this training has saved up to \d: others save there too"):
        fitted(trainer_into(tmp_path, AfterStep(3, lambda: rg.save_run(tmp_path, step=1))))
    assert checkpoints(tmp_path)[-1].step == 1


def test_a_trainer_does_not_go_on_after_what_another_one_saved(tmp_path):
    first, second = trainer_into(tmp_path), trainer_into(tmp_path)
    fitted(first, 1)
    fitted(second, 2)
    with pytest.raises(rg.errors.CheckpointError, match="others save there too"):
        fitted(first, 3)
    fitted(second, 3)
    third = trainer_into(tmp_path)
    assert fitted(third, 4) == fitted(trainer_into(None), 4)


def test_a_folder_is_free_when_what_waited_for_the_disk_is_on_it(tmp_path, monkeypatch):
    gate, write = threading.Event(), saving.write_files
    monkeypatch.setattr(saving, "write_files", lambda *args: (gate.wait(60), write(*args)))

    def fail():
        raise ValueError("a fault")

    with pytest.raises(ValueError, match="a fault"):
        fitted(trainer_into(tmp_path, AfterStep(3, fail)))
    held = lock.RunLock(tmp_path)
    monkeypatch.setattr(lock, "claimed", nullcontext)  # the folder is claimed by the thread that writes
    with pytest.raises(rg.errors.CheckpointError, match="this process"):
        held.acquire()
    gate.set()
    for thread in threading.enumerate():
        if thread.name.startswith("saving"):
            thread.join()
    held.acquire()
    held.release()
    assert [c.step for c in checkpoints(tmp_path)] == [2]


def failed(folder, at):
    """A trainer that an error has ended, while a checkpoint was on its way to the disk."""
    def fail():
        raise ValueError("a fault")

    trainer = trainer_into(folder, AfterStep(at, fail))
    with pytest.raises(ValueError, match="a fault"):
        fitted(trainer)
    return trainer


def test_a_new_trainer_of_the_process_waits_for_what_an_ended_one_still_writes(tmp_path, monkeypatch):
    gate, write = threading.Event(), saving._Snapshot.write
    monkeypatch.setattr(saving._Snapshot, "write", lambda *args: gate.wait(60) and write(*args))
    failed(tmp_path, 5)
    threading.Timer(0.2, gate.set).start()
    again = trainer_into(tmp_path)
    assert fitted(again) == fitted(trainer_into(None))
    assert checkpoints(tmp_path)[-1].step == 8
    assert saving._LEAVING == {}


def test_a_training_that_goes_on_after_an_error_still_has_the_folder_to_itself(tmp_path, monkeypatch):
    gate, write = threading.Event(), saving.write_files
    monkeypatch.setattr(saving, "write_files", lambda *args: (gate.wait(60), write(*args)))
    trainer, told = failed(tmp_path, 3), []
    gate.set()

    def come_in():
        trainer._saver.wait()
        with pytest.raises(rg.errors.CheckpointError, match="this process"):
            lock.RunLock(tmp_path).acquire()
        told.append(trainer.step)

    trainer._callbacks._all.append(AfterStep(7, come_in))
    fitted(trainer)
    assert told == [7]
