"""The ledger: limits and usage that outlive processes, and are shared by them."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

from benchmarks.workloads.fault_server import drawn, serving
from retrograde import atomic
from retrograde.errors import ArgumentError, BudgetError, ModelError
from retrograde.text.models import (
    Budget,
    Budgeted,
    Cached,
    Completion,
    HTTPModel,
    LanguageModel,
    Ledger,
    Retry,
    ScriptedLM,
    Usage,
    complete_all,
    tracing,
)
from tests.text.kills import killed

pytest.importorskip("httpx", reason="the extra `text` brings httpx")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_amount_is_written_down_before_the_call_and_settled_after_it(tmp_path):
    path, seen = tmp_path / "ledger.jsonl", []
    model = ScriptedLM(lambda request: seen.append(lines(path)) or Completion("a", 3, 2, cost=0.5))
    Budgeted(model, Budget(calls=5, ledger=path))("q")
    reserved, settled = lines(path)
    assert seen == [[reserved]] and reserved["reserve"][0] == 1 and settled == {"id": reserved["id"], "scope": "", "settle": [1, 5, 0.5]}


def test_a_second_budget_goes_on_from_what_the_first_one_spent(tmp_path):
    path = tmp_path / "ledger.jsonl"
    for asked, answered, spent in ((2, 2, 2), (4, 1, 3), (4, 0, 3)):
        model = Budgeted(ScriptedLM(lambda request: "a"), Budget(calls=3, ledger=path))
        answers = complete_all(model, ["q"] * asked)
        assert sum(isinstance(answer, Completion) for answer in answers) == answered
        assert model.budget.spent.calls == spent
    assert Budget(calls=3, ledger=path, scope="other").spent == Usage()


def test_what_a_killed_process_had_set_aside_counts_as_spent(tmp_path):
    path = tmp_path / "ledger.jsonl"
    code = f"""if True:
        from retrograde.text.models import Ledger, Usage
        import os, signal
        ledger = Ledger({str(path)!r})
        with ledger.held():
            ledger.reserve(Usage(1, 100, 0.25))
        os.kill(os.getpid(), signal.SIGKILL)"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert Budget(calls=2, ledger=path).spent == Usage(1, 100, 0.25)
    with pytest.raises(BudgetError, match="1 are spent"):
        Budgeted(ScriptedLM(["a"]), Budget(calls=1, ledger=path))("q")


def test_a_line_that_a_killed_process_did_not_end_is_passed_over(tmp_path):
    path = tmp_path / "ledger.jsonl"
    Budgeted(ScriptedLM(["a"]), Budget(ledger=path))("q")
    with path.open("a") as file:
        file.write('{"id":"0","scope":"","reserve":[1,')
    budget = Budget(ledger=path)
    assert budget.spent.calls == 1
    Budgeted(ScriptedLM(["a"]), budget)("q")
    assert budget.spent.calls == Budget(ledger=path).spent.calls == 2


def test_a_ledger_that_has_become_shorter_is_an_error(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    with ledger.held():
        ledger.reserve(Usage(1))
    ledger.path.write_text("")
    with pytest.raises(ArgumentError, match="has become shorter"), ledger.held():
        pass


def _spend(path, url, prompts):
    with HTTPModel("small", base_url=url, max_concurrency=4, retry=Retry(3, 0.001, 0.01)) as model:
        complete_all(Budgeted(model, Budget(calls=30, ledger=path)), prompts)


def test_processes_share_the_limits_of_one_ledger(tmp_path):
    with serving(drawn(3, {"500": 0.1, "429": 0.1})) as server:
        context = multiprocessing.get_context("spawn")
        workers = [context.Process(target=_spend, args=(tmp_path / "ledger.jsonl", server.url, [f"{k} {i}" for i in range(30)])) for k in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        charged = sum(server.answers.values()) + server.faults["500"]
    assert Budget(ledger=tmp_path / "ledger.jsonl").spent.calls == charged == 30


def _ask(folder, url, prompts, start):
    with HTTPModel("small", base_url=url, max_concurrency=4) as model:
        start.wait()  # both begin at once: one that is late finds the answers of the other
        complete_all(Cached(model, folder), prompts)


def test_two_processes_that_ask_the_same_pay_once(tmp_path):
    prompts = [f"q {i}" for i in range(20)]
    with serving(delay=0.05) as server:
        context = multiprocessing.get_context("spawn")
        start = context.Barrier(2)
        workers = [context.Process(target=_ask, args=(tmp_path, server.url, prompts, start)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert dict(server.answers) == dict.fromkeys(prompts, 1)


KILLED = """if True:
    import os, signal, sys
    from retrograde.text.models import Budget, Budgeted, Cached, HTTPModel, Ledger
    url, folder, step, when = sys.argv[1:]
    plain = getattr(Ledger, step)

    def kill(self, name, amount):
        if when == "after":
            plain(self, name, amount)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(Ledger, step, kill)
    with HTTPModel("small", base_url=url) as model:
        Cached(Budgeted(model, Budget(calls=2, ledger=folder + "/ledger.jsonl")), folder + "/cache")("q")
"""


@pytest.mark.parametrize(("step", "when", "asked"), [("take", "before", 2), ("take", "after", 2), ("settle", "before", 1), ("settle", "after", 1)])
def test_an_answer_is_kept_before_its_call_is_settled_so_that_nothing_settled_is_asked_twice(tmp_path, step, when, asked):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with serving() as server:
        command = [sys.executable, "-c", KILLED, server.url, str(tmp_path), step, when]
        assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
        budget = Budget(calls=2, ledger=tmp_path / "ledger.jsonl")
        assert budget.spent.calls == 1 and (step == "take" and when == "before") == (budget.spent.tokens != 15)
        with HTTPModel("small", base_url=server.url) as model:
            assert Cached(Budgeted(model, budget), tmp_path / "cache")("q") == "answer to q"
        assert server.attempts["q"] == asked == budget.spent.calls


def test_an_answer_is_on_the_disk_before_its_call_is_settled(tmp_path, monkeypatch):
    events, flush, settle = [], atomic.flush, Ledger.settle
    monkeypatch.setattr(atomic, "flush", lambda path: events.append("on the disk") or flush(path))
    monkeypatch.setattr(Ledger, "settle", lambda self, *amount: events.append("settled") or settle(self, *amount))
    Cached(Budgeted(ScriptedLM(["a"]), Budget(ledger=tmp_path / "ledger.jsonl")), tmp_path / "cache")("q")
    assert events == ["on the disk", "settled"]


def test_an_answer_that_could_not_be_kept_is_counted_and_not_settled(tmp_path, monkeypatch):
    path = tmp_path / "ledger.jsonl"
    model = Cached(Budgeted(ScriptedLM([Completion("a", 3, 2)]), Budget(calls=5, ledger=path)), tmp_path / "cache")
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        model("q")
    assert [line.keys() - {"id", "scope", "by", "at"} for line in lines(path)] == [{"reserve"}, {"take"}]
    assert model.model.budget.spent == Usage(1, 5) == Budget(calls=5, ledger=path).spent


def test_a_model_of_several_calls_under_a_cache_does_not_wait_for_itself(tmp_path):
    class Both(LanguageModel):
        name = "both"

        def complete(self, request):
            return Completion(" ".join(answer.text for answer in complete_all(inner, ["1", "2", "3"])))

    # Each call may take 1,057 tokens and takes 5, so that there is room for one at a time.
    inner = Budgeted(ScriptedLM(lambda request: Completion("a", 3, 2)), Budget(tokens=1080, ledger=tmp_path / "ledger.jsonl"))
    assert Cached(Both(), tmp_path / "cache")("q") == "a a a"
    assert sum("settle" in line for line in lines(tmp_path / "ledger.jsonl")) == 3


def test_after_ten_kills_no_limit_was_passed_and_nothing_settled_was_asked_twice():
    found = killed(10)
    assert found["kills"] >= 10 and 0 < found["settled"] <= found["billed"] <= found["settled"] + found["open"]


@pytest.mark.parametrize("line", [
    '{"id": "x", "scope": "", "settle": [-50, -50, 0]}', '{"id": "x", "scope": "", "settle": [1, 1, -1e9]}',
    '{"id": "x", "scope": "", "take": [NaN, 0, 0]}', '{"id": "x", "scope": "", "settle": [true, 0.5, 0]}',
    '{"id": "x", "scope": "", "settle": ["1", 1, 0]}', '{"id": ["x"], "scope": "", "take": [0, 0, 0]}', "[" * 5000, "1" * 5000,
    '"settle"', "null", '{"scope": ""}', "\\ud800", '{"id": "x", "scope": "", "settle": [1, 1, NaN]}',
])
def test_a_damaged_or_hostile_line_lowers_nothing(tmp_path, line):
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    with ledger.held():
        ledger._write({"id": "x", "scope": "", "reserve": [1, 100, 0.5], "by": ["another machine", 1, 1], "at": 0.0})
    with path.open("a") as file:
        file.write(line + "\n")
    assert Budget(ledger=path).spent == Usage(1, 100, 0.5)


def test_the_trace_counts_every_attempt_that_was_charged_for():
    with serving(lambda prompt, attempt: "500" if attempt < 2 else None) as server, tracing() as trace:
        model = Budgeted(HTTPModel("small", base_url=server.url, retry=Retry(3, 0.001)), calls=20)
        complete_all(model, ["a", "b"])
        model.close()
    assert trace.usage.calls == model.budget.spent.calls == 6 == sum(server.attempts.values())
    assert trace.tokens == model.budget.spent.tokens


@pytest.mark.parametrize(("faults", "attempts"), [(["schema"], 1), (["500", "schema"], 2), (["500"] * 9, 4), (["400"], 0), (["429"] * 9, 0)])
def test_the_trace_and_the_budget_agree_on_calls_that_failed(faults, attempts):
    # What was answered, if badly, may be charged for; what was refused is not.
    with serving(lambda prompt, attempt: faults[attempt] if attempt < len(faults) else None) as server, tracing() as trace:
        model = Budgeted(HTTPModel("small", base_url=server.url, retry=Retry(3, 0.001)), calls=20)
        with pytest.raises(ModelError):
            model("a")
        model.close()
    assert trace.usage.calls == model.budget.spent.calls == attempts
    assert trace.tokens == model.budget.spent.tokens and (trace.tokens > 0) == (attempts > 0)


def test_a_stream_is_in_the_trace_with_the_most_that_it_can_have_taken():
    with serving() as server, tracing() as trace:
        model = HTTPModel("small", base_url=server.url, max_tokens=20)
        assert "".join(model.stream("q")) == "answer to q"
        model.close()
    assert trace.usage.calls == 1 and trace.tokens > 20
