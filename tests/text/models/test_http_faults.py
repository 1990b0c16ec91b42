"""Many calls against a server that fails in every way: none is lost, none is doubled, and no limit is passed."""

import asyncio
import logging

import pytest

from benchmarks.workloads.fault_server import drawn, serving
from retrograde.errors import AnswerError, BudgetError, ModelError
from retrograde.text.models import Budgeted, Cached, Completion, HTTPModel, Retry, acomplete_all, complete_all

pytest.importorskip("httpx", reason="the extra `text` brings httpx")
KEY = "sk-very-secret-0123456789"
SHARES = {"429": 0.05, "429 seconds": 0.05, "429 date": 0.02, "500": 0.05, "503": 0.02, "cut": 0.03, "cut body": 0.03,
          "slow": 0.002, "malformed": 0.03, "schema": 0.02, "empty": 0.02, "400": 0.02}
#: After these the provider may have done the work.
BILLED = {"500", "cut", "cut body", "slow", "malformed", "schema", "empty"}
PROMPTS = [f"question {i}" for i in range(1000)]


def model_of(server):
    return HTTPModel("small", base_url=server.url, api_key=KEY, timeout=8.0, retry=Retry(12, 0.001, 0.01), max_tokens=20)


def run_async(model, prompts):
    return asyncio.run(acomplete_all(model, prompts))


ways = pytest.mark.parametrize("run", [complete_all, run_async], ids=["threads", "tasks"])


@pytest.mark.parametrize(("run", "count"), [(complete_all, 1000), (run_async, 300)], ids=["threads", "tasks"])
def test_of_a_thousand_calls_none_is_lost_or_doubled(run, count, caplog):
    caplog.set_level(logging.INFO)
    plan = drawn(1, SHARES)
    with serving(plan) as server, model_of(server) as model:
        results = run(model, PROMPTS[:count])
    assert set(server.faults) == set(SHARES)
    for prompt, result in zip(PROMPTS[:count], results, strict=True):
        faults = [plan(prompt, attempt) for attempt in range(server.attempts[prompt])]
        # Every attempt but the last met a transient fault; the last one an answer, or a fault that lasts.
        assert not {None, "schema", "400"} & set(faults[:-1]) and faults[-1] in {None, "schema", "400"}
        assert len(server.calls[prompt]) == 1
        if faults[-1] is None:
            assert result.text == f"answer to {prompt}" and server.answers[prompt] == 1
        else:
            assert type(result) is {"schema": AnswerError, "400": ModelError}[faults[-1]] and not server.answers[prompt]
    said = caplog.text + "".join(map(repr, results))
    assert KEY not in said and "sk-" not in said


@ways
@pytest.mark.parametrize("limits", [{"calls": 150}, {"tokens": 6000}], ids=str)
def test_a_budget_is_never_passed_by_what_the_server_may_charge_for(run, limits, tmp_path):
    with serving(drawn(2, SHARES | {"slow": 0.0})) as server, model_of(server) as model:
        outer = Cached(Budgeted(model, **limits), tmp_path)
        results = run(outer, PROMPTS[:400])
        charged = sum(server.answers.values()) + sum(server.faults[fault] for fault in BILLED)
    spent = outer.model.budget.spent
    assert any(isinstance(result, BudgetError) for result in results)
    assert sum(isinstance(result, Completion) for result in results) == sum(server.answers.values()) > 20
    assert charged <= spent.calls <= limits.get("calls", 10**9)
    assert server.tokens <= spent.tokens <= limits.get("tokens", 10**9)


def test_a_second_run_pays_only_for_what_is_missing(tmp_path):
    with serving(drawn(3, {"500": 0.1, "cut": 0.1, "400": 0.05})) as server, model_of(server) as model:
        first = complete_all(Cached(Budgeted(model, calls=100), tmp_path), PROMPTS[:200])
        before = sum(server.answers.values())
        second = complete_all(Cached(model, tmp_path), PROMPTS[:200])
    reached = sum(isinstance(result, Completion) for result in first)
    assert 50 < reached == before
    assert set(server.answers.values()) == {1}
    assert [a for a, b in zip(second, first, strict=True) if isinstance(b, Completion)] == [
        Completion(b.text, 10, 5, is_cached=True) for b in first if isinstance(b, Completion)]
