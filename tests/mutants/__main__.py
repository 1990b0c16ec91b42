"""Mutants of the compiler: small faults that are made by rule, and the tests that must find them.

    python -m tests.mutants --record         note which tests come to which places; once, and after large changes
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
#: So many tests are run first: most mutants need no more, and it takes a second to collect a file of tests.
_FIRST = 10


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--record", action="store_true", help="note which tests come to which places")
    parser.add_argument("--notes", default="build/mutants", help="the folder of these notes")
    parser.add_argument("--tests", nargs="*", default=["tests/compiler", "tests/transforms"], help="the tests to choose from")
    parser.add_argument("--module", default="compiler/**/*.py", help="a pattern of the files to change, below the package")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=60, help="how many tests a mutant meets at most")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long these take together, about")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    if options.record:
        return record(options)
    nearest = Nearest(options.notes)
    if not nearest.seconds:
        parser.error(f"there are no notes in {options.notes}: run with --record first")
    drawn = sample(options)
    killers = run(drawn, nearest, options)
    survivors = [mutant for mutant in drawn if not killers[mutant]]
    killed = len(drawn) - len(survivors)
    print(f"\n{len(drawn)} mutants: {killed} killed, {len(survivors)} survive")
    for mutant in survivors:
        print(f"  survives  {mutant}")
    return int(killed < 0.9 * len(drawn))


def record(options):
    """Run the tests with notes of what they meet. A cache on disk would hide the compiler from them, so there is none."""
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
    """For each mutant that a test enters, what kills it or None."""
    copies = SimpleQueue()
    for _ in range(options.processes):
        copies.put(Copy())
    broken, killers = set(), {}
    left = drawn
    while left:
        with ThreadPoolExecutor(options.processes) as pool:
            found = pool.map(lambda mutant: _killer(mutant, nearest, copies, broken, options), left)
            killers.update(zip(left, found, strict=True))
        # A test that fails without any change kills nothing. The few that have killed are run as things are, not all that were chosen.
        copy = copies.get()
        suspects = sorted({killers[mutant] for mutant in left} & set(nearest.seconds))
        failing = set(copy.failing(suspects, 3600)) if suspects else set()
        copies.put(copy)
        if failing:
            print(f"{len(failing)} tests fail as things are, and are left out: {', '.join(sorted(failing)[:3])}", flush=True)
        broken |= failing
        left = [mutant for mutant in left if killers[mutant] in failing]
    return killers


def _killer(mutant, nearest, copies, broken, options):
    """The first test that finds a mutant, of a few and then of the others."""
    tests = [test for test in nearest.to(mutant, options.most, options.seconds) if test not in broken]
    copy, start, found = copies.get(), time.perf_counter(), None
    try:
        for part in (tests[:_FIRST], tests[_FIRST:]):
            if part and not found:
                found = copy.killer(part, 60 + 10 * sum([nearest.seconds[test] for test in part]), mutant)
    finally:
        copies.put(copy)
    differing = len(nearest.differing(mutant))
    verdict = "killed" if found else "SURVIVES" if tests else "NO TEST"
    print(f"{verdict:9}{time.perf_counter() - start:6.1f} s  {len(tests):3} tests, {differing:4} come there  {mutant}"
          f"{f'  by {found}' if found else ''}", flush=True)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
