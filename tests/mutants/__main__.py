"""Mutants of the compiler: small faults that are made by rule, and the tests that must find them.

    python -m tests.mutants --record         note which tests enter which functions; once, and after large changes
    python -m tests.mutants --count 200      make so many mutants, run the tests nearest to each, list those that survive
"""

import argparse
import os
import random
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
from .running import Copy

_ROOT = Path(retrograde.__file__).parent


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--record", action="store_true", help="note which tests enter which functions")
    parser.add_argument("--notes", default="build/mutants", help="the folder of these notes")
    parser.add_argument("--tests", nargs="*", default=["tests/compiler", "tests/transforms"], help="the tests to choose from")
    parser.add_argument("--module", default="compiler/**/*.py", help="a pattern of the files to change, below the package")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=30, help="how many tests a mutant meets at most")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long these take together, about")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    if options.record:
        return record(options)
    nearest = Nearest(options.notes)
    if not nearest.seconds:
        parser.error(f"there are no notes in {options.notes}: run with --record first")
    drawn = sample(options)
    survivors, untested = run(drawn, nearest, options)
    killed = len(drawn) - len(survivors) - len(untested)
    print(f"\n{len(drawn)} mutants: {killed} killed, {len(survivors)} survive, {len(untested)} that no test enters")
    for mutant in survivors:
        print(f"  survives  {mutant}")
    for mutant in untested:
        print(f"  no test   {mutant}")
    return int(killed < 0.9 * len(drawn))


def record(options):
    """Run the tests with notes of what they enter. A cache on disk would hide the compiler from them, so there is none."""
    Path(options.notes).mkdir(parents=True, exist_ok=True)
    for old in Path(options.notes).glob("*.json"):
        old.unlink()
    environment = {**os.environ, FOLDER: str(Path(options.notes).resolve()), "RETROGRADE_CACHE_DIR": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.recording", "-n", str(options.processes), *options.tests]
    return subprocess.run(command, env=environment, check=False).returncode


def sample(options):
    """The mutants of a seed, the same ones each time."""
    found = [mutant for path in sorted(_ROOT.glob(options.module))
             for mutant in mutants(path.relative_to(_ROOT).as_posix(), path.read_text())]
    return random.Random(options.seed).sample(found, min(options.count, len(found)))


def run(drawn, nearest, options):
    """The mutants that survive, and those that no test enters."""
    chosen = {mutant: nearest.to(mutant, options.most, options.seconds) for mutant in drawn}
    copies = SimpleQueue()
    for _ in range(options.processes):
        copies.put(Copy())
    broken = set(_failing(copies, sorted({test for tests in chosen.values() for test in tests})))
    survivors, untested = [], [mutant for mutant, tests in chosen.items() if not tests]

    def one(mutant):
        tests, copy, start = [test for test in chosen[mutant] if test not in broken], copies.get(), time.perf_counter()
        try:
            is_alive = copy.passes(tests, 60 + 10 * options.seconds, mutant)
        finally:
            copies.put(copy)
        print(f"{'SURVIVES' if is_alive else 'killed':9}{time.perf_counter() - start:6.1f} s  {len(tests):3} tests  {mutant}", flush=True)
        if is_alive:
            survivors.append(mutant)

    with ThreadPoolExecutor(options.processes) as pool:
        list(pool.map(one, [mutant for mutant, tests in chosen.items() if tests]))
    return survivors, untested


def _failing(copies, tests):
    """The tests that fail without any change: they would kill every mutant."""
    copy = copies.get()
    found = copy.failing(tests, 3600) if tests else []
    copies.put(copy)
    if found:
        print(f"{len(found)} tests fail as things are, and are left out: {', '.join(found[:3])}", flush=True)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
