"""Two trees of the library side by side: `python -m benchmarks.paired BEFORE [AFTER]`, each the folder that holds the package.

Each case of the suites that times our own calls runs in two processes, one of each tree, which take turns, first one and then the
other first. What is compared is CPU time of all threads, which other work on the machine disturbs least. Told are the median ratio
of a pair, after to before, and an interval that holds the true median 19 times of 20, by drawing the pairs anew (Efron's percentile
bootstrap, 1979). First calls, each in a process of its own, are compared alike, with and without code on disk, and peaks of memory.
"""

import argparse
import importlib
import os
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from .case import FirstCall, Peak, Timed
from .measure import CACHES, Settings
from .process import AbsentRivalError

SUITES = ("eager", "jit", "numpy")
#: Processes whose names begin so are ours.
_OURS = "retrograde"
_BLOCK_SECONDS = 0.15
#: Peaks differ by no more than a few pages from one process to the next.
_PEAKS = 3
_RESAMPLES = 4000


def main():
    """Compare, and print a line for each case as soon as it is measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paired", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=Path(__file__).parents[1] / "src")
    parser.add_argument("--suites", nargs="*", choices=SUITES, default=SUITES)
    parser.add_argument("--cases", nargs="*", default=(), help="names of cases (default: all)")
    parser.add_argument("--rounds", type=int, default=30, help="pairs of each case (default: %(default)s)")
    options = parser.parse_args()
    trees = options.before.resolve(), options.after.resolve()
    for suite in options.suites:
        module = importlib.import_module(f"{__package__}.{suite}")
        settings = Settings(module.__name__, options.rounds)
        for case in module.CASES:
            if options.cases and case.name not in options.cases:
                continue
            for rival in [name for name in case.rivals if name.split(",")[0].startswith(_OURS)]:
                for name, pairs in _pairs_of(case, rival, settings, trees):
                    print(f"{suite:6} {case.name:16} {rival}{name}: {_told(pairs)}", flush=True)


def _pairs_of(case, rival, settings, trees):
    """(what of a case, the pairs of figures) of all that is compared."""
    try:
        if isinstance(case, Timed):
            yield "", _calls(case, rival, settings, trees)
        elif isinstance(case, FirstCall):
            cold_and_warm = _first_calls(case, rival, settings, trees)
            yield from zip((f", {turn}" if turn else "" for turn in case.turns), cold_and_warm, strict=True)
        elif isinstance(case, Peak):
            yield ", peak", [_peaks(case, rival, settings, trees) for _ in range(_PEAKS)]
    except AbsentRivalError as error:
        print(f"       {case.name} {rival} is left out: {error}", flush=True)


def _calls(case, rival, settings, trees):
    with ExitStack() as stack:
        workers = [stack.enter_context(settings.worker(case, rival, environment=_environment(tree))) for tree in trees]
        count = max(1, round(_BLOCK_SECONDS / workers[0].ask("seconds", 3)))
        count = max(1, round(_BLOCK_SECONDS / workers[0].ask("seconds", count)))
        return [_in_turn(number, [lambda worker=worker: worker.ask("cost", count)[1] for worker in workers])
                for number in range(settings.rounds)]


def _first_calls(case, rival, settings, trees):
    """For each turn of a case its pairs; the turns of one round and one tree share a folder for code."""
    found = [[] for _ in case.turns]
    # Bytecode is there, as after an installation.
    with TemporaryDirectory() as bytecode:
        for number in range(-1, settings.rounds):
            pair = _in_turn(number, [lambda tree=tree: _turns(case, rival, settings, tree, bytecode) for tree in trees])
            for kept, both in zip(found, zip(*pair, strict=True), strict=True):
                kept += [both] if number >= 0 else []
    return found


def _turns(case, rival, settings, tree, bytecode):
    with TemporaryDirectory() as folder:
        bytes_there = {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
        environment = _environment(tree) | dict.fromkeys(CACHES, folder) | bytes_there
        taken = []
        for _ in case.turns:
            with settings.worker(case, rival, environment=environment) as worker:
                taken.append(worker.ask("first_cost"))
        return taken


def _peaks(case, rival, settings, trees):
    found = []
    for tree in trees:
        with settings.worker(case, rival, environment=_environment(tree)) as worker:
            found.append(worker.ask("peak"))
    return found


def _in_turn(number, asked):
    """What both give, asked in one order and the other by turns."""
    if number % 2:
        return [ask() for ask in reversed(asked)][::-1]
    return [ask() for ask in asked]


def _environment(tree):
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and not Path(path, "retrograde").is_dir()]
    return {"PYTHONPATH": os.pathsep.join([str(tree), *others])}


def _told(pairs):
    pairs = np.array(pairs)
    ratios = pairs[:, 1] / pairs[:, 0]
    drawn = np.random.default_rng(0).choice(ratios, (_RESAMPLES, len(ratios)))
    low, high = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    sure = " SLOWER" if low > 1.03 else ""
    return f"{median(ratios):.3f} ({low:.3f} to {high:.3f}) of {median(pairs[:, 0]):.3g}, {len(pairs)} pairs{sure}"


if __name__ == "__main__":
    main()
