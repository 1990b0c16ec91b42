"""Kills one random process of four that train, at a random moment: all must end within 30 s, leave nobody and no damaged file behind,
and three processes that go on from what is saved must come to the weights of one process that was never killed.

    python -m tests.distributed.kills --count 100
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from launching import started  # noqa: E402 - it stands in the folder of tests

PROGRAM = ROOT / "tests" / "distributed" / "programs" / "trainer.py"
_RUN = "import sys; from retrograde.distributed.running import run; sys.exit(run(int(sys.argv[1]), sys.argv[2:]))"


def members(mark):
    """(process id, its rank or None) of all processes that a run with that mark in the environment has started."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"KILLS={mark}".encode() in words:
                rank = next((int(w.split(b"=")[1]) for w in words if w.startswith(b"OMPI_COMM_WORLD_RANK=")), None)
                found.append((int(folder.name), rank))
    return found


def killed(folder, drawn, count=4):
    """Kill one of `count` processes that train into a folder; how long the others took to end, None if the run was over before."""
    mark = uuid.uuid4().hex
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "KILLS": mark, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", _RUN, str(count), sys.executable, str(PROGRAM), str(folder), "4"], env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        _until(lambda: len([r for _, r in members(mark) if r is not None]) >= count or process.poll() is not None, 60)
        time.sleep(drawn.uniform(0, 10))
        ranks = [pair for pair in members(mark) if pair[1] is not None]
        if process.poll() is not None or not ranks:
            process.communicate(timeout=60)
            assert process.returncode == 0
            return None
        victim, rank = drawn.choice(ranks)
        start = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        output, errors = process.communicate(timeout=30)
        seconds = time.monotonic() - start
    finally:
        process.kill()
    _until(lambda: not members(mark), 5)
    assert not members(mark), f"still there: {members(mark)}"
    if process.returncode == 0:  # all had done their work
        assert output.count("is done") == count
        return None
    assert re.search(rf"retrograde: process {rank} of {count}, on \S+, was ended by SIGKILL", errors), errors
    return seconds


def _until(is_so, seconds):
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)


def round_of(seed):
    """One kill, and the run that goes on from it; how long the others took to end."""
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        seconds = killed(Path(folder) / "run", drawn)
        found = started(3, "trainer.py", Path(folder) / "run", 4, seconds=120)
        assert found.returncode == 0, f"seed {seed}: {found.stderr}"
        assert found.stdout.count("is done after step 16") == 3, found.stdout
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    times = []
    for seed in range(options.seed, options.seed + options.count):
        times.append(round_of(seed))
        print(f"seed {seed}: {'over before' if times[-1] is None else f'ended after {times[-1]:.1f} s'}", flush=True)
    killed_times = [t for t in times if t is not None]
    print(f"{len(times)} rounds, {len(killed_times)} kills, the slowest end after {max(killed_times, default=0):.1f} s")


if __name__ == "__main__":
    main()
