"""The benchmarks run, leave missing rivals out with a note, and calculate what they print."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import eager, report
from benchmarks.case import Timed
from benchmarks.measure import Result

ROOT = Path(__file__).parents[1]

def run(*arguments):
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_suite_measures_and_writes_json(tmp_path):
    file = tmp_path / "figures.json"
    done = run("eager", "chain", "record", "--rounds", "2", "--json", str(file))
    assert done.returncode == 0, done.stderr
    cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
    assert len(cases["chain"]["samples"]["retrograde"]) == 2
    assert cases["record"]["medians"].keys() >= {"sin", "multiply", "add"}
    for rival in ("torch", "autograd"):
        assert rival in cases["chain"]["samples"] or any(rival in note for note in cases["chain"]["notes"])


def test_an_unknown_case_is_one_clear_line():
    done = run("eager", "speed")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "there are chain, mlp" in done.stderr


def test_a_ratio_is_the_median_over_neighbouring_rounds():
    result = Result(Timed("case", "title", {}, goals={"rival": 0.5}), {"retrograde": [1.0, 4.0, 9.0], "rival": [2.0, 10.0, 9.0]})
    assert report.ratio(result, "rival") == 0.5
    assert report.ratio(result, "retrograde") is None
    assert "0.5 met" in report.table(result)


@pytest.mark.parametrize("case", eager.CASES, ids=lambda case: case.name)
def test_our_side_of_every_case_runs(case):
    prepared = case.rivals["retrograde"]()
    if isinstance(prepared, tuple):
        prepared[0]()
    elif isinstance(case, Timed):
        prepared()
