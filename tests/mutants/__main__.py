"""Mutants of the compiler: small faults that are made by rule, and the tests that must find them.

    python -m tests.mutants --record         note which tests come to which places; once, and after large changes
    python -m tests.mutants --count 200      make so many mutants, run the tests nearest to each, list those that survive
    python -m tests.mutants --again LOG      the mutants that have survived by what an earlier run has printed, wherever their lines are now
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import retrograde

from .nearest import Nearest
from .recording import FOLDER
from .rules import mutants
from .running import Copy, Server

_ROOT = Path(retrograde.__file__).parent
#: The tests that enter the compiler often.
_TESTS = [*[f"tests/{folder}" for folder in ("compiler", "transforms", "fuzz", "testing", "core", "nn", "optim")],
          "tests/test_sweep_compiled.py", "tests/test_debug.py", "tests/test_extend.py"]
_EQUIVALENT = Path(__file__).parent / "equivalent.txt"
#: What a survivor's line begins with in the list at the end.
_SURVIVES = "  survives  "


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--record", action="store_true", help="note which tests come to which places")
    parser.add_argument("--notes", default="build/mutants", help="the folder of these notes")
    parser.add_argument("--tests", nargs="*", default=_TESTS, help="the tests to choose from")
    parser.add_argument("--module", default="compiler/**/*.py", help="a pattern of the files to change, below the package")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", metavar="LOG", help="instead of a sample those that an earlier run lists as survivors")
    parser.add_argument("--most", type=int, default=60, help="how many tests a mutant meets at most")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long these take together, about")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    if options.record:
        return record(options)
    nearest = Nearest(options.notes)
    if not nearest.seconds:
        parser.error(f"there are no notes in {options.notes}: run with --record first")
    drawn = sample(options)
    killers = run(drawn, nearest, options)
    known = equivalent()
    left = [mutant for mutant in drawn if not killers[mutant]]
    alike = [mutant for mutant in left if _without_line(str(mutant)) in known]
    survivors = [mutant for mutant in left if mutant not in alike]
    killed = len(drawn) - len(left)
    print(f"\n{len(drawn)} mutants: {killed} killed, {len(alike)} equivalent, {len(survivors)} survive")
    for mutant in survivors:
        print(f"{_SURVIVES}{mutant}")
    return int(killed < 0.9 * (len(drawn) - len(alike)))


def equivalent():
    """The mutants that compute the same as the program, by the reasons that stand in a file: no test can tell them from it."""
    return {line for line in _EQUIVALENT.read_text().splitlines() if line and not line.startswith("#")}


def record(options):
    """Run the tests with notes of what they meet. A cache on disk would hide the compiler from them, so there is none."""
    Path(options.notes).mkdir(parents=True, exist_ok=True)
    for old in Path(options.notes).glob("*.json"):
        old.unlink()
    environment = {**os.environ, FOLDER: str(Path(options.notes).resolve()), "RETROGRADE_CACHE_DIR": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "tests.mutants.recording", "-n", str(options.processes), *options.tests]
    return subprocess.run(command, env=environment, check=False).returncode


def sample(options):
    """The mutants of a seed, the same ones each time, or those that a log lists."""
    found = [mutant for path in sorted(_ROOT.glob(options.module))
             for mutant in mutants(path.relative_to(_ROOT).as_posix(), path.read_text())]
    if options.again:
        listed = {_without_line(line.removeprefix(_SURVIVES)) for line in Path(options.again).read_text(errors="replace").splitlines()
                  if line.startswith(_SURVIVES)}
        return [mutant for mutant in found if _without_line(str(mutant)) in listed]
    return random.Random(options.seed).sample(found, min(options.count, len(found)))


def _without_line(told):
    """What is told of a mutant, but for the number of its line, which changes elsewhere in the file move."""
    return re.sub(r"(?<=\.py):\d+ ", " ", told)


def run(drawn, nearest, options):
    """For each mutant what kills it, or None."""
    broken, killers, left = set(), {}, drawn
    with _Workers(nearest, options) as workers:
        while left:
            killers.update(zip(left, workers.killers(left, broken), strict=True))
            # A test that fails without any change kills nothing. The few that have killed are run as things are.
            failing = workers.failing(sorted({killers[mutant] for mutant in left} & set(nearest.seconds)))
            if failing:
                print(f"{len(failing)} tests fail as things are, and are left out: {', '.join(failing[:3])}", flush=True)
            broken.update(failing)
            left = [mutant for mutant in left if killers[mutant] in failing]
    return killers


class _Workers:
    """Servers, and copies for what they cannot change, of which each is used by one thread at a time."""

    def __init__(self, nearest, options):
        self._nearest, self._options = nearest, options
        self._idle = SimpleQueue()

    def __enter__(self):
        files = sorted({test.split("::")[0] for test in self._nearest.seconds})
        files = [file for file in files if Path(file).exists()]  # others have another name since they were noted
        for _ in range(self._options.processes):
            self._idle.put((Server(files), Copy()))
        return self

    def __exit__(self, *_):
        for _ in range(self._options.processes):
            self._idle.get()[0].close()

    def killers(self, mutants, broken):
        """For each of some mutants the test that finds it, or None."""
        with ThreadPoolExecutor(self._options.processes) as pool:
            return list(pool.map(lambda mutant: self._killer(mutant, broken), mutants))

    def failing(self, tests):
        """The tests that fail as things are."""
        server, copy = self._idle.get()
        found = server.failing(tests, 3600, all_of_them=True)
        self._idle.put((server, copy))
        return found

    def _killer(self, mutant, broken):
        tests = [test for test in self._nearest.to(mutant, self._options.most, self._options.seconds) if test not in broken]
        timeout = 60 + 10 * sum([self._nearest.seconds[test] for test in tests])
        server, copy = self._idle.get()
        start, failed = time.perf_counter(), None
        try:
            if tests and not self._nearest.differs_at_import(mutant):
                failed = server.failing(tests, timeout, mutant, (_ROOT / mutant.path).read_text())
            if tests and failed is None:
                failed = copy.failing(tests, timeout, mutant)
        finally:
            self._idle.put((server, copy))
        seconds, verdict = time.perf_counter() - start, "killed" if failed else "SURVIVES" if tests else "NO TEST"
        print(f"{verdict:9}{seconds:6.1f} s  {len(tests):3} tests, {len(self._nearest.differing(mutant)):4} come there  {mutant}"
              f"{f'  by {failed[0]}' if failed else ''}", flush=True)
        return failed[0] if failed else None


if __name__ == "__main__":
    raise SystemExit(main())
