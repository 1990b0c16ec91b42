"""Real models are measured on several threads, judged by goals between any two rivals, and told on a page."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gguf_files
import retrograde as rg
from benchmarks import __main__ as command
from benchmarks import charts, measure, model_file, models, models_page, report
from benchmarks.case import OURS, Bytes, Steps
from benchmarks.measure import Result, Settings
from benchmarks.workloads import autocast, gpt, image_networks, libraries, recommender
from benchmarks.workloads.image_networks import Task
from benchmarks.workloads.perceptron import Task as Perceptron
from retrograde.ops.networks._quantizing import packed, unpacked
from tests.small_steps import CASES, MEGABYTE, RIVALS

SETTINGS = Settings("tests.small_steps", 2)
CASE = {case.name: case for case in CASES}
PAGE = models_page.PAGE.read_text(encoding="utf-8")
MACHINES = json.loads(models_page.FIGURES.read_text(encoding="utf-8"))["machines"]


@pytest.fixture(autouse=True)
def short_measurements(monkeypatch):
    monkeypatch.setattr(measure, "BLOCK_SECONDS", 0.001)
    monkeypatch.setattr(measure, "PAUSE_SECONDS", 0.0)


@pytest.fixture
def one_thread():
    before = rg.get_num_threads()
    yield
    rg.set_num_threads(before)


def measured(*rivals):
    return measure.run(replace(CASE["steps"], rivals={name: RIVALS[name] for name in rivals}), SETTINGS)


def test_steps_have_time_and_cpu_time_of_each_number_of_threads():
    result = measured("retrograde", "same", "retrograde, small", "absent")
    assert {name: len(samples) for name, samples in result.samples.items()} == {
        f"{rival}, {threads}{kind}": 2 for rival in ("retrograde", "same", "retrograde, small")
        for threads in ("1 thread", "2 threads") for kind in ("", ", CPU")}
    assert result.notes == ["absent is left out: no module of that name"]


def test_what_computes_something_else_is_refused_with_the_threads_with_which_it_does():
    result = measured("retrograde", "same", "on two")
    assert {name for name in result.samples if name.startswith("on two")} == {"on two, 2 threads", "on two, 2 threads, CPU"}
    assert [note.partition(";")[0] for note in result.notes] == ["on two is left out: it computes something else"]


def result_of(case, **seconds):
    """A result in which each rival takes so long: (CPU time on one thread, time on two)."""
    result = Result(case)
    for rival, (one, two) in seconds.items():
        for name, value in zip([*case.names(rival, 1), *case.names(rival, 2)], (100.0, one, two, 100.0), strict=True):
            result.add(name, value)
    return result


PAIRS = {"torch": 2.0, "torch / f4": 1.5, "absent": 3.0}
SLOWER = {"retrograde": (1.0, 1.0), "torch": (2.0, 1.9), "f4": (2.0, 0.5)}


def test_goals_are_judged_by_cpu_time_on_one_thread_and_by_time_on_two():
    case = Steps("case", "title", dict.fromkeys(("retrograde", "f4", "torch", "absent"), lambda threads: None), goals=PAIRS)
    told = report.table(result_of(case, **SLOWER))
    assert "torch / retrograde, at least 2: 2.00 on 1 thread, met; 1.90 on 2 threads, missed" in told
    assert "torch / f4, at least 1.5: 1.00 on 1 thread, missed; 3.80 on 2 threads, met" in told
    assert "at least 3" not in told
    assert json.loads(report.as_json("models", [result_of(case, **SLOWER)]))["cases"]["case"]["ratios"] == {
        "torch, 1 thread": 2.0, "torch / f4, 1 thread": 1.0, "f4, 1 thread": 2.0, "torch, 2 threads": 1.9,
        "torch / f4, 2 threads": 3.8, "f4, 2 threads": 0.5}


def test_a_chart_shows_what_is_judged(tmp_path):
    case = Steps("case", "title", dict.fromkeys(("retrograde", "torch"), lambda threads: None))
    charts.write([result_of(case, retrograde=(1.0, 1.0), torch=(2.0, 1.9))], tmp_path)
    drawn = (tmp_path / "case.svg").read_text(encoding="utf-8")
    assert "torch, 1 thread, CPU" in drawn
    assert "torch, 2 threads" in drawn
    assert "torch, 2 threads, CPU" not in drawn


def test_what_a_call_makes_shares_its_time(monkeypatch):
    monkeypatch.setattr(measure, "Worker", worker_of(lambda request, argument: {"trail": [[1.0]], "cost": [8.0, 4.0]}[request]))
    result = measured("retrograde")
    assert result.samples["retrograde, 1 thread"] == [2.0, 2.0]
    assert result.samples["retrograde, 1 thread, CPU"] == [1.0, 1.0]


def worker_of(answer, started=None):
    """A class in the place of `Worker`, whose processes answer at once; `started` gets the interpreter of each."""
    class Answering:
        def __init__(self, command, python, *_):
            if started is not None:
                started.append((command[2], python))

        def ask(self, request, argument=None, patience=None):
            return answer(request, argument)

        def close(self):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    return Answering


def test_an_interpreter_can_be_named_for_a_package_that_a_rival_needs_beside_its_library(monkeypatch):
    started, case = [], replace(CASE["steps"], packages={"torch": "vision"}, rivals=dict.fromkeys(("torch", "torch.compile")))
    monkeypatch.setattr(measure, "Worker", worker_of(None, started))
    for pythons in ({"torch": "a", "vision": "b"}, {"torch": "a"}):
        for rival in case.rivals:
            Settings("suite", 1, pythons).worker(case, rival)
    assert started == [("torch", "b"), ("torch.compile", "a"), ("torch", "a"), ("torch.compile", "a")]


def test_bytes_and_differences_are_asked_once():
    result = measure.run(CASE["bytes"], SETTINGS)
    assert result.samples == {"retrograde": [100], "rival": [250]}
    assert report.ratio(result, "rival") == 2.5
    assert result.notes == ["absent is left out: no module of that name"]
    assert measure.run(CASE["difference"], SETTINGS).samples == {"rival": [0.5]}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are read as Linux tells them")
def test_growth_is_the_memory_that_a_call_takes_at_its_peak():
    (grown,) = measure.run(CASE["growth"], SETTINGS).samples["retrograde"]
    assert 31 * MEGABYTE <= grown < 36 * MEGABYTE  # Linux counts resident pages in batches: 64 pages may be missing per processor


def test_small_figures_are_judged_as_they_are_shown():
    case = Bytes("case", "title", {}, goals={"retrograde": 1e-4})
    told = {value: report.table(Result(case, {"retrograde": [value * 1e6]})) for value in (9.9e-5, 1.1e-4, 4e-3)}
    assert [": met" in text for text in told.values()] == [True, False, False]


# The suite


def test_goals_are_about_rivals_that_the_cases_have():
    assert len({case.name for case in models.CASES}) == len(models.CASES)
    for case in models.CASES:
        assert OURS in case.rivals
        assert {part for pair in case.goals for part in pair.split(" / ")} <= {*case.rivals}
        assert {*getattr(case, "apart", ()), *case.packages} <= {*case.rivals, "torch.compile"}, case.name


def test_one_number_of_threads_can_be_asked_for(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "argv", ["benchmarks", "models", "--only", "unet,logits", "--threads", "1"])
    monkeypatch.setattr(measure, "run", lambda case, settings: seen.append((case, settings)) or Result(case))
    monkeypatch.setattr(model_file, "found_in", lambda pythons: None)
    command.main()
    assert [(case.name, getattr(case, "threads", None), settings.rounds) for case, settings in seen] == [
        ("logits", None, models.ROUNDS), ("unet", (1,), models.ROUNDS)]


def test_the_file_of_a_model_is_found_in_an_interpreter_that_has_it(tmp_path, monkeypatch):
    folder = tmp_path / model_file.PACKAGE
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "m.gguf").write_bytes(b"")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert model_file.found_in([sys.executable]) == folder / "m.gguf"
    assert model_file.found_in([]) is None


def test_workers_are_told_of_the_file_and_of_a_folder_that_is_gone_afterwards(tmp_path):
    with model_file.told(tmp_path / "m.gguf"):
        assert model_file.path() == tmp_path / "m.gguf"
        folder = Path(model_file.os.environ[model_file.FOLDER])
        assert folder.is_dir()
    assert not folder.exists()
    with pytest.raises(ImportError, match="--file"):
        model_file.path()


def test_a_file_in_another_format_has_the_same_numbers_and_metadata(tmp_path):
    weights = np.random.default_rng(0).standard_normal((6, 64), np.float32)
    tensors = {"a.weight": (weights.shape, "Q4_1", packed(weights, "Q4_1")), "b": weights[0, :5]}
    facts = {"general.name": "a model", "list": ["one", "two"], "number": 3, "numbers": np.array([1.5, 2.5], np.float32)}
    with model_file.told(gguf_files.write(tmp_path / "m.gguf", facts, tensors)):
        found = rg.io.gguf.read(model_file.requantised("Q8_0"))
        blocks = np.array(found.tensors["a.weight"].array)
        assert found.metadata.keys() == facts.keys()
        np.testing.assert_array_equal(found.tensors["b"].array, weights[0, :5])
    assert found.tensors["a.weight"].format == "Q8_0"
    np.testing.assert_array_equal(blocks, packed(unpacked(packed(weights, "Q4_1"), "Q4_1"), "Q8_0"))


# What the cases run, in small


SMALL = {"resnet18": Task("resnet18", (2, 3, 32, 32), 4, options={"small": True, "width": 4}),
         "unet": Task("unet", (2, 2, 16, 16), 3, is_of_pixels=True, options={"in_channels": 2, "width": 2}),
         "vit_tiny_patch16_224": Task("vit_tiny_patch16_224", (2, 3, 32, 32), 4, optimizer="AdamW",
                                      options={"image_size": 32, "embed_dim": 12, "depth": 1})}


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "unet" else pytest.mark.long) for name in SMALL])
def test_steps_of_image_models_compute_what_eager_ones_do(name, monkeypatch):
    compiled = image_networks.retrograde(SMALL[name], 1)
    losses = [float(compiled()) for _ in range(3)]
    monkeypatch.setattr(libraries.modules("retrograde").library, "jit", lambda step: step)
    eager = image_networks.retrograde(SMALL[name], 1)
    np.testing.assert_allclose([float(eager()) for _ in range(3)], losses, rtol=1e-5)


@pytest.mark.parametrize("name", ["unet", pytest.param("resnet18", marks=pytest.mark.long)])
@pytest.mark.usefixtures("one_thread")
def test_pytorch_trains_the_same_image_models(name):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    if name != "unet":
        pytest.importorskip("torchvision", reason="an oracle that is no dependency")
    task, threads = replace(SMALL[name], options={"small": True} if name == "resnet18" else SMALL[name].options), torch.get_num_threads()
    ours, theirs = image_networks.retrograde(task, 1), image_networks.torch(task, 1)
    torch.set_num_threads(threads)
    np.testing.assert_allclose([float(theirs()) for _ in range(2)], [float(ours()) for _ in range(2)], rtol=1e-4)


def test_rivals_have_their_cases_where_retrograde_cannot_be_imported():
    script = ("import sys; sys.modules['retrograde'] = None\n"
              "from benchmarks.models import CASES\n"
              "print([*next(case.rivals for case in CASES if case.name == 'resnet18-32')])")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=models_page.DOCS.parent)
    assert "'torch'" in done.stdout


def test_without_a_compiler_of_cpp_or_a_setting_a_rival_says_so(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ImportError, match=r"torch\.compile needs a C\+\+ compiler"):
        image_networks.torch_compile(SMALL["unet"], 1)
    monkeypatch.setattr(image_networks, "F4_SETTING", ("set_nothing", "medium"))
    with pytest.raises(ImportError, match="has no set_nothing"):
        image_networks.retrograde_f4(SMALL["unet"], 1)


@pytest.mark.usefixtures("one_thread")
def test_a_recommender_has_the_losses_of_a_dense_gradient(monkeypatch):
    monkeypatch.setattr(recommender, "BATCHES", 2)
    sparse = recommender.retrograde("Adagrad", 100, 1)()
    parts = recommender._parts
    monkeypatch.setattr(recommender, "_parts", lambda lib, *rest: dense(parts(lib, *rest)))
    np.testing.assert_allclose(recommender.retrograde("Adagrad", 100, 1)(), sparse, rtol=1e-5)


def dense(parts):
    parts[0].sparse = False
    return parts


@pytest.mark.usefixtures("one_thread")
def test_a_step_in_half_precision_is_near_that_in_float32(monkeypatch):
    monkeypatch.setattr(autocast, "PERCEPTRON", Perceptron((8, 8, 8), "ReLU", 4, is_classifier=False))
    low, wide = [autocast.PERCEPTRONS[name](1) for name in ("retrograde", "retrograde, float32")]
    found, expected = float(low()), float(wide())
    assert found != expected
    assert found == pytest.approx(expected, rel=1e-2)


@pytest.mark.long
@pytest.mark.usefixtures("one_thread")
def test_a_deep_gpt_begins_with_the_loss_of_chance():
    assert float(gpt.deep(12)["retrograde"](1)()) == pytest.approx(np.log(gpt.VOCABULARY), rel=0.1)


# The page


def test_the_page_has_the_table_of_the_figures_that_were_measured():
    assert models_page.page(PAGE, MACHINES) == PAGE, "it is out of date; run `python -m benchmarks.models_page`"
    for found in MACHINES.values():
        assert [*found] == [case.name for case in models.CASES]
        for case in models.CASES:
            if case.name not in ("loading", "bfloat16-mlp", "bfloat16-gpt"):  # goals that depend on the file or the processor
                assert found[case.name]["goals"] == case.goals, case.name


def test_a_row_tells_with_which_threads_a_goal_is_reached(monkeypatch):
    case = Steps("case", "a step", dict.fromkeys(("retrograde", "f4", "torch", "other"), lambda threads: None), goals=PAIRS)
    monkeypatch.setattr(models, "CASES", [case])
    result = result_of(case, **SLOWER)
    result.leave_out("absent", "not installed")
    cases = json.loads(report.as_json("models", [result]))["cases"]
    found = {name: {"machine": "a processor, load average 9.0; other work is running", **facts} for name, facts in cases.items()}
    told = models_page.table(found)
    assert "Measured on a processor, busy with other work." in told
    assert "| a step | 1000 ms | torch | 2000 ms | 2.00 | 1.90 | ≥ 2 | with one thread |" in told
    assert "| 2000 ms | torch | 2000 ms | 1.00 | 3.80 | ≥ 1.5 | with two threads |" in told
    assert "\n|  | 1000 ms | other |  |  |  |  |  |" in told
    assert "* a step: absent is left out: not installed" in told


def test_files_that_are_measured_again_replace_the_cases_of_their_machine(tmp_path, monkeypatch):
    for name in ("FIGURES", "PAGE", "CHART"):
        path = getattr(models_page, name)
        (tmp_path / path.name).write_bytes(path.read_bytes())
        monkeypatch.setattr(models_page, name, tmp_path / path.name)
    first, found = next(iter(MACHINES.items()))
    facts = {name: fact for name, fact in found["logits"].items() if name != "machine"} | {"medians": {"torch": 0.5}}
    for machine in (first, "another"):
        file = tmp_path / f"{machine == first}.json"
        file.write_text(json.dumps({"machine": f"{machine}, load average 0.0", "cases": {"logits": facts}}))
    monkeypatch.setattr(sys, "argv", ["models_page", str(tmp_path / "True.json"), str(tmp_path / "False.json")])
    models_page.main()
    known = json.loads(models_page.FIGURES.read_text(encoding="utf-8"))["machines"]
    again = {"logits": {"machine": f"{first}, load average 0.0", **facts}}
    assert known == {**MACHINES, first: {**found, **again}, "another": {"logits": {"machine": "another, load average 0.0", **facts}}}
    changed = models_page.PAGE.read_text(encoding="utf-8")
    assert changed.count("| torch | 0.500 |  |  | ≤ 0.0001 | no |") == 2 and "Measured on another." in changed
    assert changed.partition(models_page.BEGIN)[0] == PAGE.partition(models_page.BEGIN)[0]
    assert models_page.CHART.read_bytes() == (models_page.DOCS / "benchmarks" / "models.svg").read_bytes()
