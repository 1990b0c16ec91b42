"""Workers: what is told when one dies or raises, who ends when, and what is shared."""

import copyreg
import gc
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
from benchmarks import loader as loader_benchmark
from data_sets import Faulty, Numbered, Stubborn, killed, left, missing, noisy, owner, refuse, slow, stubborn
from retrograde.data import Loader, source
from retrograde.data.workers import Processes
from retrograde.data.workers.sending import chosen, packed, unpacked
from retrograde.data.workers.shared import Blocks, Maps, written
from retrograde.errors import ArgumentError, WorkerError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked, and share memory without names, on Linux alone")
FORK = {"workers": 2, "processes": True, "method": "fork"}


def is_alive(process):
    """Whether a process runs, and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def assert_ends(processes, seconds=20):
    until = time.monotonic() + seconds
    while any(is_alive(process) for process in processes):
        assert time.monotonic() < until, f"still alive: {[p for p in processes if is_alive(p)]}"
        time.sleep(0.02)


def processes_of(loader):
    return sorted({int(process) for _, processes in loader for process in processes.tolist()})


def run(text, tmp_path, *options, **given):
    """A script that runs in a process of its own."""
    script = tmp_path / "script.py"
    script.write_text(text)
    here = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(rg.__file__).parents[1])])
    return subprocess.Popen([sys.executable, "-W", "error", *options, str(script)], env={**os.environ, "PYTHONPATH": here}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **given)


def test_a_killed_worker_is_told_with_its_signal_and_its_rows():
    batches = iter(Loader(Faulty(killed), 2, **FORK))
    with pytest.raises(WorkerError, match=r"worker \d \(process \d+\) was killed by signal 9 \(SIGKILL\) while it made a batch \(rows 4, 5\)"):
        list(batches)
    assert list(batches) == []


def test_a_worker_that_leaves_is_told_with_its_exit_code():
    with pytest.raises(WorkerError, match=r"ended with exit code 3 while it made a batch \(rows 5\)"):
        list(Loader(Faulty(left), 1, **FORK))


def test_an_error_comes_with_the_workers_own_traceback_and_the_row():
    loader = Loader(Faulty(missing), 2, **FORK)
    batches = iter(loader)
    assert len([next(batches), next(batches)]) == 2
    with pytest.raises(KeyError, match="no such label") as caught:
        next(batches)
    assert "data_sets.py" in str(caught.value.__cause__) and "in missing" in str(caught.value.__cause__)
    assert caught.value.__notes__[0] == "while row 5, shelf 5, was made"
    assert re.fullmatch(r"in worker \d \(process \d+\)", caught.value.__notes__[1])
    assert next(batches)[0].numpy()[:, 0, 0].tolist() == [6, 7]


def test_an_error_that_cannot_be_sent_is_told_by_its_traceback(monkeypatch):
    # Where Dask was loaded before, errors have another pickle, from which this one can be made.
    monkeypatch.delitem(copyreg.dispatch_table, Stubborn, raising=False)
    with pytest.raises(WorkerError, match=r"(?s)an error that cannot be sent:\nTraceback.*Stubborn: one and two"):
        list(Loader(Faulty(stubborn), 2, **FORK))


@pytest.mark.parametrize("way", [{"workers": 2}, FORK], ids=["threads", "processes"])
def test_a_worker_that_cannot_start_says_why(way):
    with pytest.raises(RuntimeError, match="worker 0 will not"):
        list(Loader(Numbered(8), 2, init=refuse, **way))


@pytest.mark.parametrize("way", [{"workers": 1}, FORK], ids=["threads", "processes"])
def test_a_batch_that_takes_too_long_is_told(way):
    with pytest.raises(WorkerError, match=r"has not made its batch within 0.3 seconds \(rows 5\)"):
        list(Loader(Faulty(slow), 1, timeout=0.3, **way))


def test_processes_live_from_epoch_to_epoch_and_end_with_the_loader():
    loader = Loader(source(range(12)).map(owner), 2, **FORK)
    first, second = processes_of(loader), processes_of(loader)
    assert first == second and len(first) == 2 and os.getpid() not in first
    del loader
    gc.collect()
    assert_ends(first)


def test_an_iterator_that_is_dropped_leaves_its_workers_to_the_next():
    loader = Loader(source(range(40)).map(owner), 2, **FORK)
    whole = [numbers.tolist() for numbers, _ in loader]
    for _ in range(3):
        iterator = iter(loader)
        next(iterator)
        del iterator
    assert len(whole) == 20 and loader.epoch == 3
    crew = loader._crew
    assert isinstance(crew, Processes) and len(list(loader)) == 20 and loader._crew is crew


def test_two_iterators_at_once_have_workers_of_their_own():
    loader = Loader(Numbered(12), 3, **FORK)
    pairs = [(one[0].numpy().copy(), two[0].numpy().copy()) for one, two in zip(loader, loader, strict=True)]
    assert len(pairs) == 4
    for one, two in pairs:
        np.testing.assert_array_equal(one, two)


_SCRIPT = """
import os, sys, time
import numpy as np
from data_sets import double, owner
from retrograde.data import Loader, source

def slow(i):
    time.sleep(0.01)
    return owner(i)

if __name__ == "__main__":
    loader = Loader(source(range(100000)).map(slow), 2, workers=2, processes=True, method="{method}")
    batches = iter(loader)
    found = [next(batches) for _ in range(6)]
    print(*{{p for _, ps in found for p in ps.tolist()}}, flush=True)
    {then}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("method", "number"), [("fork", signal.SIGKILL), ("forkserver", signal.SIGKILL), ("fork", signal.SIGINT)])
def test_no_worker_outlives_a_parent_that_is_killed(method, number, tmp_path):
    parent = run(_SCRIPT.format(method=method, then="time.sleep(60)"), tmp_path)
    workers = [int(word) for word in parent.stdout.readline().split()]
    assert workers and all(is_alive(process) for process in workers)
    parent.send_signal(number)
    parent.communicate()
    assert_ends(workers)


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_processes_that_start_afresh_make_the_same_batches(method, tmp_path):
    then = "print([x.tolist() for x in Loader(source(range(5)).map(double), 2, workers=2, processes=True, method=loader.method)])"
    done = run(_SCRIPT.format(method=method, then=then), tmp_path)
    out, error = done.communicate()
    assert (done.returncode, out.splitlines()[1:], error) == (0, ["[[0, 2], [4, 6], [8]]"], "")


def test_a_script_without_a_guard_is_not_run_again(tmp_path):
    text = "from data_sets import Numbered\nfrom retrograde.data import Loader\nprint('once')\n" \
           "print(len(list(Loader(Numbered(6), 2, workers=2, processes=True))))\n"
    done = run(text, tmp_path)
    assert done.communicate() == ("once\n3\n", "")


def test_what_cannot_be_pickled_is_forked_or_told(tmp_path):
    job = source(range(3)).map(lambda x: x)
    assert chosen(None, job) == ("fork", None)
    with pytest.raises(WorkerError, match=r"cannot be sent to processes: it cannot be pickled \(.*lambda.*or use threads"):
        chosen("spawn", job)
    with pytest.raises(ArgumentError, match="got 'thread'"):
        list(Loader(Numbered(2), 1, workers=1, processes=True, method="thread"))
    assert len(list(Loader(job, 1, workers=2, processes=True))) == 3


def test_large_arrays_are_sent_once_and_written_to_by_each_alone():
    x = np.arange(100_000)
    parcel = packed({"x": x, "y": np.arange(3)})
    assert len(parcel.places) == 1 and len(parcel.text) < 1000
    copies = [unpacked(parcel.text, parcel.places, os.dup(parcel.handle)) for _ in range(2)]
    copies[0]["x"][:] = -1
    np.testing.assert_array_equal(copies[1]["x"], x)
    np.testing.assert_array_equal(copies[0]["y"], [0, 1, 2])
    os.close(parcel.handle)


def test_a_memory_map_is_sent_as_the_name_of_its_file(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(200_000.0).reshape(-1, 2))
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    parcel = packed(source(x))
    assert parcel.places == () and len(parcel.text) < 1000
    copy = unpacked(parcel.text, (), None)
    assert isinstance(copy.rows, np.memmap)
    np.testing.assert_array_equal(copy.rows, x)
    part = unpacked(*packed(x[10:20])[:2], None)  # a part of it is an array
    np.testing.assert_array_equal(part, x[10:20])
    np.testing.assert_array_equal(np.concatenate([b.numpy() for b in Loader(x, 30_000, **FORK)]), x)
    changed = np.load(tmp_path / "x.npy", mmap_mode="c")  # what is changed in such a map is not in the file
    changed[0] = 7
    parcel = packed(changed)
    assert unpacked(*parcel)[0, 0] == 7


def test_batches_lie_in_memory_that_the_worker_wrote_until_nobody_reads_them():
    blocks, maps = Blocks(), Maps()
    x = np.arange(10_000.0)

    def sent(batch):
        text, places, number, handle = written(batch, blocks)
        if handle is not None:
            maps.add(number, handle)
        return maps.read(text, places, number), number

    one, first = sent({"x": x, "n": 1})
    np.testing.assert_array_equal(one["x"], x)
    tensor = rg.asarray(one["x"])[5000:]
    del one
    assert maps.take_freed() == []
    two, second = sent({"x": x + 1})
    assert second != first
    assert tensor.numpy()[0] == 5000
    del tensor
    assert maps.take_freed() == [first]
    assert blocks.release([first]) == []
    three, third = sent({"x": x + 2})
    assert third == first and three["x"][0] == 2 and two["x"][0] == 1
    large, number = sent(np.zeros(40_000))
    assert number not in (first, second) and large.shape == (40_000,)
    texts, number = sent(["a" * 30_000])  # long without an array
    assert number is not None and texts == ["a" * 30_000]
    empty, number = sent({"x": np.zeros((0, 3)), "y": x})
    assert empty["x"].shape == (0, 3) and empty["x"].dtype == float
    small, number = sent(np.arange(3))
    assert number is None and small.tolist() == [0, 1, 2]


def test_blocks_that_are_too_many_are_given_up():
    blocks = Blocks()
    numbers = [blocks.place(1000)[0] for _ in range(10)]
    given_up = blocks.release(numbers)
    assert len(given_up) == 6 and len(blocks.maps) == 4


def test_memory_is_flat_over_two_thousand_batches():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    loader = Loader(Numbered(32_000, (16, 16)), 16, workers=1, processes=True, method="fork")
    batches = iter(loader)
    for _ in range(200):
        next(batches)
    gc.collect()
    before, total = resident(), 0
    for x, _ in batches:
        total += int(x.numpy()[:, 0, 0].sum())
    assert total == sum(range(3200, 32_000))
    assert resident() - before < 4e6  # the batches of 16 kB are 29 MB together
    crew = loader._crew
    assert len(crew.maps[0].maps) <= 8 and not crew.assigned and not crew.done


def test_batches_that_are_kept_keep_their_numbers():
    kept = list(Loader(Numbered(400, (64, 64)), 4, **FORK))
    assert [int(x.numpy()[0, 0, 0]) for x, _ in kept] == list(range(0, 400, 4))
    assert all((x.numpy()[3] == 4 * i + 3).all() for i, (x, _) in enumerate(kept))


def test_many_rows_of_a_task_do_not_block_a_worker_that_answers():
    rows = source(np.zeros(60_000)).augment(noisy)
    batches = list(Loader(rows, 15_000, shuffle=True, workers=1, processes=True, method="fork", prefetch=3))
    assert [len(batch) for batch in batches] == [15_000] * 4


def test_a_worker_starts_no_workers(tmp_path):
    text = """
from retrograde.data import Loader, source
def inner(i):
    return len(list(Loader([1, 2], 1, workers=1, processes=True)))
if __name__ == "__main__":
    list(Loader(source([0]).map(inner), 1, workers=1, processes=True, method="fork"))
"""
    _, error = run(text, tmp_path).communicate()
    assert "WorkerError: a worker cannot start processes of its own; use threads there" in error


def test_the_benchmark_of_the_loader_takes_steps_in_turns():
    calls = []
    x, y = loader_benchmark.rows(1)
    loader = Loader((x, y), 32)
    one, other = loader_benchmark.compared(lambda: calls.append("bare"), lambda *batch: calls.append(len(batch[0])), loader, 0.01)
    assert calls[:4] == ["bare", 32, "bare", 32] and one.shape == other.shape == (len(calls) // 2, 2)
    assert loader_benchmark.alone(loader) > 0
