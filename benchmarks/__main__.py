"""The command line of the benchmarks."""

import argparse
import importlib
from pathlib import Path

from . import measure, report

SUITES = ("eager",)


def main():
    """Run a suite, print its table and write JSON if asked to."""
    options = _parser().parse_args()
    suite = importlib.import_module(f"{__package__}.{options.suite}")
    cases = [case for case in suite.CASES if not options.cases or case.name in options.cases]
    if not cases:
        known = ", ".join(case.name for case in suite.CASES)
        raise SystemExit(f"no such case in {options.suite}: {', '.join(options.cases)}; there are {known}")
    pythons = dict(pair.split("=", 1) for pair in options.python)
    print(report.machine(), flush=True)
    results = []
    for case in cases:
        results.append(measure.run(case, options.rounds, pythons))
        print(f"\n{report.table(results[-1])}", flush=True)
    if options.json:
        options.json.write_text(report.as_json(options.suite, results))


def _parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure retrograde beside its rivals.")
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("cases", nargs="*", help="names of cases (default: all of the suite)")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each rival (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there")
    parser.add_argument("--python", action="append", default=[], metavar="RIVAL=PATH",
                        help="the interpreter that has a rival installed (default: this one); may be repeated")
    return parser


if __name__ == "__main__":
    main()
