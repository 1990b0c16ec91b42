"""The benchmarks run, refuse rivals that compute something else, note who is missing, and calculate what they print."""

import datetime
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import agreement, charts, eager, jit, measure, paired, process, report, tuning
from benchmarks.case import Compilation, Curve, Peak, Timed
from benchmarks.measure import Result, Settings
from benchmarks.workloads import endpoint, prompt_tasks, tuners
from retrograde.text import Predictor, ScriptedLM
from retrograde.text.evidence.intervals import wilson
from tests.small_suite import CASES, RIVALS

ROOT = Path(__file__).parents[1]


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


SETTINGS = Settings("tests.small_suite", 2)


@pytest.fixture(autouse=True)
def short_measurements(monkeypatch):
    monkeypatch.setattr(measure, "BLOCK_SECONDS", 0.01)
    monkeypatch.setattr(measure, "PAUSE_SECONDS", 0.0)


def measured(*rivals):
    return measure.run(replace(CASES[0], rivals={name: RIVALS[name] for name in rivals}), SETTINGS)


def test_a_suite_measures_and_writes_json(tmp_path):
    file = tmp_path / "figures.json"
    done = run("eager", "chain", "record", "--rounds", "2", "--json", str(file))
    assert done.returncode == 0, done.stderr
    cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
    assert len(cases["chain"]["samples"]["retrograde"]) == 2
    assert cases["record"]["medians"].keys() >= {"sin", "multiply", "add"}
    for rival in ("torch", "autograd"):
        assert rival in cases["chain"]["samples"] or any(rival in note for note in cases["chain"]["notes"])


def test_the_table_of_products_has_a_line_for_each_shape_that_is_asked_for():
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    command = [sys.executable, "-m", "benchmarks.matmul", "--filter", "16x16x16", "--rounds", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    peak, _, *lines = done.stdout.splitlines()
    assert "measured peak" in peak
    assert [line.split()[0] for line in lines] == ["16x16x16", "16x16x16"]


def test_two_trees_take_turns_and_each_case_has_a_ratio_with_an_interval():
    command = [sys.executable, "-m", "benchmarks.paired", str(ROOT / "src"), "--suites", "numpy", "--cases", "slopes", "--rounds", "2"]
    (line,) = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert re.fullmatch(r"numpy  slopes +retrograde: [0-9.]+ \([0-9.]+ to [0-9.]+\) of [0-9.e-]+, 2 pairs( SLOWER)?", line)
    assert paired._told([[2.0, 2.0 * ratio] for ratio in (1.1, 1.2, 1.3)]) == "1.200 (1.100 to 1.300) of 2, 3 pairs SLOWER"


@pytest.mark.parametrize(("suite", "known"), [("eager", "there are chain, mlp"), ("jit", "there are a-mlp, b-tiny-mlp")])
def test_an_unknown_case_is_one_clear_line(suite, known):
    done = run(suite, "--only", "speed")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert known in done.stderr


def test_cases_are_chosen_by_name_or_by_what_stands_before_the_dash():
    choose = lambda *words: [case.name for case in command._chosen(jit.CASES, words, "jit")]
    assert choose("a", "empty") == ["a-mlp", "empty"]
    assert choose("j-policy") == ["j-policy"]
    assert choose() == [case.name for case in jit.CASES]


def test_rivals_that_return_the_same_are_measured():
    result = measured("retrograde", "same")
    assert {name: len(samples) for name, samples in result.samples.items()} == {"retrograde": 2, "same": 2}
    assert not result.notes


def test_a_rival_that_computes_something_else_is_refused():
    result = measured("retrograde", "same", "other")
    assert result.samples.keys() == {"retrograde", "same"}
    assert "other is left out: it computes something else; over 20 steps its results are off by 1.0e-03" in result.notes[0]


def test_a_rival_that_is_missing_or_fails_is_left_out_with_its_reason():
    result = measured("retrograde", "absent", "failing")
    assert result.samples.keys() == {"retrograde"}
    assert result.notes == ["absent is left out: no module of that name",
                            "failing is left out: ValueError: a number is too small"]


def test_a_rival_that_does_not_answer_is_left_out(monkeypatch):
    monkeypatch.setattr(process, "PATIENCE_SECONDS", 0.1)
    assert measured("sleeping").notes == ["sleeping is left out: no answer within 0.1 seconds"]


def is_running(number):
    """Whether there is a process of that number, and not only what is left for its parent to read."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are found as Linux tells them")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["terminated", "killed"])
def test_a_runner_that_is_ended_by_a_signal_leaves_no_worker_at_work(number):
    code = "from benchmarks.process import Worker; Worker(['tests.small_suite', 'count', 'sleeping'])"
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as runner:
        while not (workers := Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split()):
            assert runner.poll() is None
            time.sleep(0.01)
        time.sleep(0.5)  # it sleeps by now, or loads what it needs
        runner.send_signal(number)
    deadline = time.monotonic() + 50  # the worker would sleep for 100 seconds
    while is_running(workers[0]):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(("trails", "off"), [
    ({"a": [[1.0, 2.0]], "b": [[1.0, 2.0001]]}, set()),
    ({"a": [[1.0, 2.0]], "b": [[1.0, 2.0002]], "c": [[1.0, 2.0]]}, set()),
    ({"a": [[1.0, 2.0]], "b": [[1.0, 2.0003]], "c": [[1.0, 2.0]]}, {"b"}),
    ({"a": [[1.0]], "b": [[2.0]]}, {"a", "b"}),
    ({"a": [[1.0]], "b": [[float("nan")]], "c": [[1.0]]}, {"b"}),
    ({"a": [[1.0], [0.0]], "b": [[1.0], [0.0]], "c": [[1.0]]}, {"c"}),
    ({"a": [[0.0]], "b": [[0.0]], "c": [[1e-9]]}, set()),
    ({"a": [], "b": []}, set()),
])
def test_who_is_off_by_more_than_a_ten_thousandth_dissents(trails, off):
    assert agreement.dissenters(trails).keys() == off


def test_the_interpreter_of_a_rival_is_its_own_or_that_of_its_library():
    settings = Settings("suite", 1, {"torch": "one", "torch.jit": "two", "jax": "three"})
    assert [settings.python(name) for name in ("torch", "torch.compile", "torch.jit", "jax, 300 times")] == ["one", "one", "two", "three"]
    assert settings.python("retrograde") == sys.executable


def test_a_ratio_is_the_median_over_neighbouring_rounds():
    case = Timed("case", "title", {}, goals={"rival": 2, "retrograde": 5000})
    result = Result(case, {"retrograde": [1.0, 4.0, 9.0], "rival": [2.0, 10.0, 9.0]})
    assert report.ratio(result, "rival") == 2
    assert report.ratio(result, "retrograde") is None
    assert "at least 2: met" in report.table(result)
    assert "at most 5000: met" in report.table(result)
    assert "at least 2.1: missed" in report.table(replace_case(result, goals={"rival": 2.1}))


def test_without_our_figure_no_goal_is_judged():
    assert "met" not in report.table(Result(Timed("case", "title", {}, goals={"rival": 2}), {"rival": [1.0]}))


@pytest.mark.parametrize(("seconds", "verdict"), [(0.9, "met"), (1.5, "missed")])
def test_a_curve_tells_whether_more_threads_are_ever_slower(seconds, verdict):
    case = Curve("curve", "title", {"retrograde": None, "missing": None}, sizes=(8, 16))
    result = Result(case)
    for size, second in ((8, 1.0), (16, seconds)):
        for threads, value in ((1, 1.0), (2, second)):
            for name in case.names("retrograde", size, threads):
                result.add(name, value)
    assert f"slower than 1: {verdict} (at worst {max(1.0, seconds):.2f})" in report.table(result)


def test_charts_of_equal_results_are_equal_files(tmp_path):
    bars = Result(Timed("bars", "title", {}), {"retrograde": [1.0, 2.0], "rival": [3.0, 4.0]})
    curve = Curve("curve", "title", {"retrograde": None, "rival": None}, sizes=(8, 16))
    lines = Result(curve, {name: [1.0] for size in (8, 16) for n in (1, 2) for name in curve.names("retrograde", size, n)})
    for folder in ("one", "two"):
        charts.write([bars, lines, Result(Timed("empty", "title", {}))], tmp_path / folder)
    assert {file.name for file in (tmp_path / "one").iterdir()} == {"bars.svg", "curve.svg"}
    for name in ("bars.svg", "curve.svg"):
        assert "retrograde" in (tmp_path / "one" / name).read_text(encoding="utf-8")
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("case", eager.CASES, ids=lambda case: case.name)
def test_our_side_of_every_case_runs(case):
    prepared = case.rivals["retrograde"]()
    if isinstance(case, Peak):
        prepared[0]()
    elif isinstance(case, Timed):
        prepared()


# The second step reads what the first has written, and the third runs on what is known by then.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("steps", [3, pytest.param(agreement.STEPS, marks=pytest.mark.long)])
@pytest.mark.parametrize("case", jit.CASES, ids=lambda case: case.name)
def test_our_side_of_every_compiled_case_runs_and_is_what_eager_computes(case, steps, monkeypatch):
    monkeypatch.setattr(agreement, "STEPS", steps)
    ours = {name: rival for name, rival in case.rivals.items() if name.startswith("retrograde")}
    if isinstance(case, Compilation):
        ours = dict([min(ours.items(), key=lambda pair: case.operations[pair[0]])])
    if isinstance(case, Curve):
        case = replace(case, sizes=case.sizes[:1])
    result = measure.run(replace(case, rivals=ours), Settings("benchmarks.jit", 1))
    assert not [note for note in result.notes if "left out" in note]
    assert result.samples


def replace_case(result, **changes):
    return replace(result, case=replace(result.case, **changes))


def test_tuned_prompts_are_scored_by_the_host_seed_by_seed_and_the_better_rival_is_named():
    result = measure.run(CASES[1], SETTINGS)
    assert result.samples == {"retrograde": [0.8, 0.9], "better": [0.9, 1.0], "worse": [0.2, 0.3]}
    assert "absent is left out: no module of that name" in result.notes
    assert any(note.startswith("worse: 50 calls") for note in result.notes)
    rows = {line.split("|")[1].strip(): line for line in report.table(result).splitlines() if line.startswith("|")}
    assert rows["retrograde"].split("|")[2].strip() == "0.850 [0.541, 0.965]"
    assert rows["worse"].split("|")[-2].strip() == "no; worse"
    assert result.prompts["better"][1] == {"seed": 1, "calls": 50, "hits": "1" * 10, "prompt": "x" * 10}


def rounds(*hits):
    return [{"hits": found} for found in hits]


def test_seeds_on_the_same_items_do_not_make_an_accuracy_surer():
    assert tuning.accuracy(rounds("1110" * 10)) == tuning.accuracy(rounds(*["1110" * 10] * 3)) == wilson(30, 40)
    assert tuning.accuracy(rounds("1" * 40, "0" * 40)).value == 0.5


def test_who_is_better_on_more_items_than_by_chance_is_called_better():
    ours, equal, better = rounds("10" * 20), rounds("10" * 19 + "01"), rounds("1" * 16 + "10" * 12)
    assert tuning.lead(ours, better).low > 0
    assert tuning.lead(better, ours).high < 0
    assert tuning.lead(ours, equal).low < 0 < tuning.lead(ours, equal).high
    found = {"plain prompt": better, "retrograde": ours, "retrograde, few-shot": ours, "dspy": equal, "gepa": ours}
    lines = tuning.page({"tune-a": {"prompts": found}, "other": {}}).splitlines()
    assert lines[2] == "| plain prompt | 70.0 [54.6, 81.9] |"
    assert [line.endswith("* |") for line in lines if "minus" in line] == [True, False, False] * 2


def test_the_page_has_the_tables_of_the_figures_that_were_measured():
    found = json.loads((ROOT / "docs" / "benchmarks" / "tuning.json").read_text(encoding="utf-8"))["cases"]
    assert set(found) == {f"tune-{name}" for name in prompt_tasks.NAMES}
    for case in found.values():
        assert all(len(taken["hits"]) == prompt_tasks.PARTS["test"] for rounds in case["prompts"].values() for taken in rounds)
    assert tuning.page(found) in (ROOT / "docs" / "text.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", prompt_tasks.NAMES)
def test_a_task_has_as_many_items_as_it_says_and_none_twice(name):
    task = prompt_tasks.prompt_task(name)
    assert {part: len(getattr(task, part)) for part in prompt_tasks.PARTS} == prompt_tasks.PARTS
    texts = [text.casefold() for part in prompt_tasks.PARTS for text, _ in getattr(task, part)]
    assert len(set(texts)) == len(texts)
    for part in prompt_tasks.PARTS if task.labels else ():
        assert {label: sum(found == label for _, found in getattr(task, part)) for label in task.labels} == dict.fromkeys(
            task.labels, prompt_tasks.PARTS[part] // len(task.labels))


def test_dates_are_written_in_iso_form_as_another_parser_reads_them():
    task = prompt_tasks.prompt_task("dates")
    for told, right in [*task.demonstrations, *task.validation, *task.test]:
        words = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", told).replace("the ", "").replace("of ", "").replace(",", "")
        forms = ("%B %d %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y", "%d.%m.%Y")
        read = {datetime.datetime.strptime(words, form).date() for form in forms if can_read(words, form)}
        assert read == {datetime.date.fromisoformat(right)}, told


def can_read(words, form):
    try:
        datetime.datetime.strptime(words, form)
    except ValueError:
        return False
    return True


def test_the_first_seed_can_be_chosen():
    result = measure.run(CASES[1], replace(SETTINGS, rounds=1, seed=1))
    assert result.samples == {"retrograde": [0.9], "better": [1.0], "worse": [0.3]}


def test_an_endpoint_answers_as_often_as_it_is_allowed_to():
    served = endpoint.serve(lambda body: (body["messages"][-1]["content"][::-1], [-0.5]))
    served.begin(2)
    assert endpoint.ask(served.url, [{"role": "user", "content": "ab"}]) == ("ba", [-0.5])
    endpoint.ask(served.url, [{"role": "user", "content": "ab"}], guided_choice=["a"])
    with pytest.raises(endpoint.SpentError, match="spent"):
        endpoint.ask(served.url, [{"role": "user", "content": "ab"}])
    assert served.calls == 2


def test_all_rivals_ask_in_the_form_in_which_retrograde_asks():
    exercise = tuners.Exercise({"instruction": "Sort.", "layout": "T: {text}\nL:", "labels": ["a", "b"]}, "", 9, 0)
    shown = tuners.messages_of("new", **{**exercise.start, "demonstrations": [["old", "a"]]})
    model = ScriptedLM(["b"])
    predictor = Predictor(model, "Sort.", "T: {text}\nL:", labels=["a", "b"], demonstrations=[["old", "a"]])
    assert predictor(["new"]) == ["b"]
    assert [(m.role, m.content) for m in model.requests[0].messages] == [(m["role"], m["content"]) for m in shown]
