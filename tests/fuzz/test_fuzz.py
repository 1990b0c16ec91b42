"""The fuzzer in the default suite: 300 seeds, every difference that was found, and that it finds planted ones."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
from tests.fuzz import scripts
from tests.fuzz.analytic import is_analytic
from tests.fuzz.checks import _movement, check, evaluate, quiet
from tests.fuzz.drawing import drawn
from tests.fuzz.forms import FORMS
from tests.fuzz.program import Program, arrays
from tests.fuzz.runner import Summary
from tests.fuzz.shrink import shrunk, snippet
from tests.fuzz.worker import checked

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

FOLDER = Path(__file__).parent / "regressions"
#: Seeds below that fail today, by defects that are known.
OPEN = {"programs": frozenset(), "stateful": frozenset()}


def blocks(kind, first, end, size=10, marks=()):
    return [pytest.param(kind, range(i, i + size), id=f"{kind}-{i}", marks=marks) for i in range(first, end, size)]


#: Short ones, of which `tests.mutants` takes those that come to a place.
MORE = [*blocks("programs", 240, 480, 4, pytest.mark.long), *blocks("stateful", 60, 360, 3, pytest.mark.long)]


@pytest.mark.parametrize(("kind", "seeds"), [*blocks("programs", 0, 240), *blocks("stateful", 0, 60), *MORE])
def test_random_programs_are_the_same_in_every_form(kind, seeds):
    found = [(seed, *pair) for seed in seeds if seed not in OPEN[kind] for pair in checked(kind, seed)]
    assert not [(seed, form, outcome) for seed, form, outcome in found if outcome.is_defect]


@pytest.mark.skipif(sys.platform != "linux" or os.environ.get("RETROGRADE_COMPILER") == "reference", reason="programs are exported for Linux")
@pytest.mark.parametrize("form", ["export", "export of grad"])
def test_random_programs_are_the_same_to_the_bit_in_a_file(form):
    found = [(seed, outcome) for seed in range(16) for _, outcome in checked("programs", seed, form)]
    assert not [(seed, outcome) for seed, outcome in found if outcome.is_defect]
    assert sum(outcome.kind == "agrees" for _, outcome in found) >= 4


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem) for p in sorted(FOLDER.glob("*.py"))])
def test_a_difference_that_was_found_is_mended(path):
    run(path)


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem, marks=pytest.mark.xfail(strict=False, reason="known, to be mended"))
                                  for p in sorted((FOLDER / "open").glob("*.py"))])
def test_a_difference_that_is_known(path):
    run(path)


def run(path):
    with quiet():
        exec(compile(path.read_text(), path.name, "exec"), {"__name__": "regression"})


def test_a_seed_gives_the_same_program_again():
    assert drawn(11) == drawn(11)
    assert scripts.drawn(11) == scripts.drawn(11)


def test_every_registered_op_is_drawn(monkeypatch):
    names = ("sin", "cholesky", "scatter_reduce", "concatenate")
    monkeypatch.setattr("tests.fuzz.swept.NAMES", names)
    texts = "".join(drawn(seed).text for seed in range(60))
    assert [name for name in names if f"rg.{name}(" not in texts] == []


def planted(*statements):
    return Program((("x0", "np.array([0.5, 1.5, -0.25])"), ("x1", "np.array([2.0, 3.0, 4.0])")), ("v0 = x0 * x1", *statements), ("v9",), 0)


def test_a_planted_difference_is_found_made_smaller_and_written_down(monkeypatch):
    # Only what a compiled function computes differs.
    monkeypatch.setattr(rg, "wrong", lambda x: x * (1.001 if _is_traced(x) else 1), raising=False)
    program = planted("v1 = rg.sin(v0)", "v2 = v1 + v0", "v3 = rg.wrong(v2)", "v4 = rg.cos(v3)", "v9 = v4 * 2")
    outcome = check(program, "jit")
    assert outcome.kind == "different"
    smaller = shrunk(program, "jit", outcome)
    assert [s for s in smaller.statements if "wrong" in s]
    assert len(smaller.statements) <= 3
    with pytest.raises(AssertionError):
        exec(snippet(smaller, "jit", outcome), {})


@pytest.mark.parametrize("form", ["complex step", "differences", "torch"])
def test_a_slope_that_is_a_little_off_is_found_by_each_oracle(monkeypatch, form):
    if form == "torch":
        pytest.importorskip("torch")
    monkeypatch.setattr(rg, "tanh", lambda x, tanh=rg.tanh: tanh(x) + 1e-3 * (x - x.detach()))
    program = planted("v1 = rg.tanh(v0)", "v9 = v1 * v0")
    assert check(program, form).kind == "different"
    assert check(planted("v9 = rg.sin(v0)"), form).kind == "agrees"


def test_what_is_analytic_is_found_by_trying():
    assert is_analytic("v0 = rg.sin(x0) * rg.cumsum(x0, axis=0)")
    for name in ("abs", "relu6", "conj", "real", "floor", "erf"):
        assert not is_analytic(f"v0 = rg.{name}(x0)")


def test_refusals_are_counted_by_cause():
    summary = Summary()
    for seed in (3, 4):
        summary.note("programs", seed, 0.1, [["jit", "refused", f"TraceError: take(float64[{seed}, 2]) has no number {seed}"]], ["take"])
    assert list(summary.refusals.values()) == [2]
    assert "refused 2 times, jit, as 3" in str(summary)


def _is_traced(x):
    try:
        float(np.asarray(x.detach()).sum())
    except rg.errors.TraceError:
        return True
    return False


def test_what_moves_with_the_last_place_of_its_arguments_is_unstable_and_a_tie_is_not():
    # The sum of thirds is 1 or just below it, by the order of adding.
    loud = Program((("x0", "np.array([0.1, 0.7, 0.2])"),), ("v9 = (rg.sin(x0) ** 2 + rg.cos(x0) ** 2 - 1) * 1e16",), ("v9",), 0)
    assert check(loud, "jit").kind in ("unstable", "agrees")
    tie = Program((("x0", "np.array([0.5, 0.5, 0.1])"),), ("v9 = rg.where(x0 * x0 >= rg.max(x0 * x0), x0, 7)",), ("v9",), 0)
    assert check(tie, "jit of grad").kind == "agrees"


def test_rounding_that_differs_between_what_is_all_but_equal_makes_a_program_unstable():
    # The spread of sines that differ in their last digits: nothing but rounding.
    spread = Program((("x0", "np.array([0.5, 0.75])"),), ("v0 = x0 * 1e-15 + 1", "v1 = rg.sin(v0)", "v9 = rg.std(v1) * 1e16"), ("v9",), 0)
    assert max(_movement(spread, FORMS["jit"], arrays(spread), evaluate(spread, FORMS["jit"].wanted, arrays(spread)))) > 1


def test_a_sum_that_another_order_rounds_otherwise_makes_a_program_unstable_and_an_exact_one_does_not():
    for numbers, statement, is_moved in (
        ("[0.6, 1.8, 3.0, -1.8, -3.0, -0.6]", "v9 = rg.mean(x0) >= 0", True), ("[0.5, 1.5, 3.0, -1.5, -3.0, -0.5]", "v9 = rg.mean(x0) >= 0", False),
        ("[0.1] * 9", "v9 = x0.mean() == x0[0]", True), ("[0.5] * 9", "v9 = x0.mean() == x0[0]", False),
    ):
        program = Program((("x0", f"np.array({numbers})"),), (statement,), ("v9",), 0)
        found = [evaluate(program, FORMS["jit"].wanted, arrays(program), phase)[0] for phase in (0, 1, 2)]
        assert (len(set(map(bool, found))) > 1) is is_moved


def test_a_position_that_is_out_of_range_a_step_away_is_no_difference():
    corner = Program((("x0", "np.array([[[0.6], [1.0]], [[0.6], [1.0]]])"),), ("v9 = x0[rg.argmax(x0)]",), ("v9",), 0)
    assert check(corner, "differences").kind == "refused"
    assert check(replace(corner, statements=("v9 = x0[rg.argmax(x0) + 2]",)), "jit").detail.startswith("OutOfRangeError")


def test_the_slope_of_a_root_of_what_is_always_zero_is_no_difference_and_other_slopes_that_are_nan_are():
    root = Program((("x0", "np.array([0.5])"),), ("v9 = rg.cbrt(rg.var(x0))",), ("v9",), 0)
    assert check(root, "differences").kind == "unstable"
    assert check(replace(root, statements=("v9 = rg.where(x0 > 0, x0, rg.log(x0 * 0))",)), "differences").kind == "different"


def test_a_function_whose_result_is_one_unit_of_float32_off_in_eager_code_makes_a_program_unstable():
    # NumPy's tanh of 9.9446 is just below 1 in float32, to which the right number is rounded.
    numbers = ("x0", "np.array([9.944611], 'float32')"), ("x1", "np.array([1 - 2e-9])")
    program = Program(numbers, ("v9 = rg.tanh(x0) <= x1",), ("v9",), 0)
    assert max(_movement(program, FORMS["jit"], arrays(program), evaluate(program, FORMS["jit"].wanted, arrays(program)))) > 0


def test_the_sign_of_an_eigenvector_that_rounding_decides_makes_a_program_unstable():
    matrix = "np.array([[0.923, 0.191, -0.086], [-0.348, 1.492, 0.416], [-0.302, 0.056, 1.485]])"
    program = Program((("x0", "np.array([1.11])"),), (f"v9 = rg.ops.get('eig_pair').call({matrix} + 0.05 * rg.tanh(x0))[1]",), ("v9",), 0)
    assert max(_movement(program, FORMS["jit"], arrays(program), evaluate(program, FORMS["jit"].wanted, arrays(program)))) > 1


def test_an_error_in_what_no_slope_needs_is_no_difference():
    text = "v9 = x0[None][rg.argmax(x0)] > 0"
    program = Program((("x0", "np.array([0.2, 0.9])"), ("x1", "np.array(0.5)")), (text,), ("v9", "x1"), 0)
    assert check(program, "jit of grad").kind == "refused"
    assert check(program, "jit").kind == "refused"


def test_an_error_of_ours_in_every_form_counts_as_agreement_and_others_do_not():
    assert check(planted("v9 = rg.linalg.cholesky(v0)"), "jit").kind == "refused"
    assert check(planted("v9 = v0.nothing"), "jit").kind == "crashed"
    assert check(planted("v9 = vanished"), "jit").kind == "invalid"


@pytest.mark.parametrize("code", ["usual", "quick", "reference"])
def test_a_worker_compiles_in_each_way(code):
    words = [sys.executable, "-m", "tests.fuzz.worker", "programs", "3", "2", code, "jit"]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "RETROGRADE_CACHE_DIR": "", "PYTHONPATH": str(Path(rg.__file__).parents[1])}
    lines = subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [json.loads(line)["found"] for line in lines if '"found"' in line]
    assert [outcome for outcomes in found for _, outcome, _ in outcomes] == ["agrees", "agrees"]
