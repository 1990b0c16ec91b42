"""Common ops on about 1,000 numbers, forward and back, op by op: PyTorch's time over ours.

Run `python -m benchmarks.eager_ops` (options: --only, --rounds, --python, --markdown). Each library has one thread, and a
process of its own that waits while the other works; they take turns, A B A B. A figure is the least CPU time of its turns. Results
and gradients must be equal, or the op has no figure.
"""

import argparse
import importlib
import sys
import time
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from types import SimpleNamespace

import numpy as np

from . import report
from .process import AbsentRivalError, Worker
from .workloads import common_ops

RIVALS = ("retrograde", "torch")
#: What libraries read when they are loaded, so that each has one thread.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: Seconds of a turn, and what is aimed at: of all ops together, and of each.
TURN_SECONDS, MEAN, LEAST = 0.02, 1.2, 0.7


def prepared(library):
    """What a worker answers with: CPU seconds of one pass of an op, or what the op gives."""
    importlib.import_module(library).set_num_threads(1)
    known = {}

    def answer(request):
        name, count = request
        if name not in known:
            known.clear()
            known[name] = common_ops.passes(library, name)
        run, answered = known[name]
        return _seconds(run, count) if count else answered()

    return answer


def _seconds(run, count):
    start = time.process_time()
    for _ in range(count):
        run()
    return (time.process_time() - start) / count


#: What `benchmarks.worker` looks for.
CASES = [SimpleNamespace(name="all", rivals={name: partial(prepared, name) for name in RIVALS})]


def run(module, what, known, measure, scale, mean, least):
    """The command line of a table of `known` things: `measure(workers, name, rounds)` gives our seconds and PyTorch's."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--only", type=lambda text: text.split(","), default=known, metavar="A,B", help="names (default: all)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each library (default: %(default)s)")
    parser.add_argument("--python", default=sys.executable, metavar="PATH", help="an interpreter with PyTorch (default: this one)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there, too")
    options = parser.parse_args()
    if unknown := [name for name in options.only if name not in known]:
        raise SystemExit(f"no such {what}: {', '.join(unknown)}; there are {', '.join(known)}")
    print(report.machine(), flush=True)
    try:
        workers = [Worker([module, "all", name], python, ONE_THREAD)
                   for name, python in zip(RIVALS, (sys.executable, options.python), strict=True)]
    except AbsentRivalError as error:
        raise SystemExit(f"both libraries are needed: {error}") from None
    rows = []
    with workers[0], workers[1]:
        for name in options.only:
            rows.append((name, *measure(workers, name, options.rounds)))
            print(_line(*rows[-1], *scale), flush=True)
    print(verdict(rows, mean, least))
    if options.markdown:
        options.markdown.write_text("\n".join(_markdown(what, rows, *scale)) + "\n", encoding="utf-8")


def measured(workers, name, rounds):
    """The least CPU seconds of both, ours first; a word of what is wrong in place of theirs if they compute something else."""
    ours, theirs = [worker.ask("figures", [name, 0]) for worker in workers]
    if name not in common_ops.DRAWN and not _agree(ours, theirs):
        return "differs", None
    for worker in workers:
        worker.ask("figures", [name, 20])
    counts = [max(1, round(TURN_SECONDS / max(worker.ask("figures", [name, 20]), 1e-7))) for worker in workers]
    times = ([], [])
    for _ in range(rounds):
        for worker, count, found in zip(workers, counts, times, strict=True):
            found.append(worker.ask("figures", [name, count]))
    return min(times[0]), min(times[1])


def _agree(ours, theirs):
    return all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(ours, theirs, strict=True))


def _line(name, ours, theirs, scale, unit):
    if theirs is None:
        return f"{name:34} {ours}"
    return f"{name:34} {ours * scale:8.1f} {unit} {theirs * scale:8.1f} {unit} {theirs / ours:6.2f}"


def verdict(rows, mean, least):
    """The geometric mean of all ratios, which is to be at least `mean`, and what falls short of `least`."""
    ratios = {name: theirs / ours for name, ours, theirs in rows if theirs is not None}
    short = {name: ratio for name, ratio in sorted(ratios.items(), key=lambda pair: pair[1]) if ratio < least}
    reached = sum(ratio >= mean for ratio in ratios.values())
    below = ", ".join(f"{name} {ratio:.2f}" for name, ratio in short.items())
    return (f"{len(ratios)} measured, geometric mean {geometric_mean(ratios.values()):.2f} (at least {mean}); "
            f"{reached} at {mean} or more; "
            f"{len(short)} below {least}: {below or 'none'}")


def _markdown(what, rows, scale, unit):
    yield from (f"| {what} | retrograde | PyTorch | PyTorch ÷ retrograde |", "| --- | --- | --- | --- |")
    for name, ours, theirs in rows:
        if theirs is not None:
            yield f"| {name} | {ours * scale:.1f} {unit} | {theirs * scale:.1f} {unit} | {theirs / ours:.2f} |"


if __name__ == "__main__":
    run("benchmarks.eager_ops", "op", list(common_ops.BY_NAME), measured, (1e6, "µs"), MEAN, LEAST)
