"""The differential fuzzer: `python -m tests.fuzz --minutes 30 --seed 7`."""

import argparse
import os
import signal

from .keeping import keep, snippet_of
from .runner import SHARES, Runner
from .worker import checked, source_of


def _interrupt(*_):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, _interrupt)  # so that the summary is told
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, help="how long to run")
    parser.add_argument("--count", type=int, help="how many seeds of each kind to run")
    parser.add_argument("--seed", type=int, default=0, help="which million of seeds to begin with")
    parser.add_argument("--first", type=int, help="the first seed itself, instead of --seed")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--kind", choices=("programs", "stateful", "rivals", "all"), default="all",
                        help="programs, scripts with state, programs that PyTorch and JAX run too")
    parser.add_argument("--form", help="run this form alone, instead of jit and drawn ones")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed, what came of it, and the snippets of what fails")
    parser.add_argument("--keep", metavar="FOLDER", help="write the snippets of what fails into a folder")
    options = parser.parse_args()
    os.environ.setdefault("RETROGRADE_VERIFY", "1")  # a pass that leaves what must not be is found at once
    kinds = tuple(SHARES) if options.kind == "all" else (options.kind,)
    if options.show is not None:
        for kind in kinds:
            show(kind, options.show, options.form)
        return 0
    count = options.count if options.count or options.minutes else 1000
    first = options.seed * 1_000_000 if options.first is None else options.first
    summary = Runner(kinds, first, count, options.minutes, options.form, lambda line: print(line, flush=True)).run(options.processes)
    print(f"\n{summary}", flush=True)
    if options.keep:
        keep(summary.defects, options.keep)
    return int(bool(summary.defects))


def show(kind, seed, form=None):
    """Print a program with what came of it."""
    print(source_of(kind, seed).text)
    for name, outcome in checked(kind, seed, form):
        print(f"# {name}: {outcome.kind} {outcome.detail}")
        if outcome.is_defect:
            print(snippet_of(kind, seed, name))


if __name__ == "__main__":
    raise SystemExit(main())
