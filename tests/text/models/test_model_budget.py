import asyncio
import pickle
import threading

import pytest

from retrograde.errors import AnswerError, ArgumentError, BudgetError, ModelError
from retrograde.text.models import (
    Budget,
    Budgeted,
    Cached,
    Completion,
    LanguageModel,
    Price,
    Request,
    ScriptedLM,
    acomplete_all,
    complete_all,
)
from retrograde.text.models.budget import charge_again


def run_async(model, prompts):
    return asyncio.run(acomplete_all(model, prompts))


ways = pytest.mark.parametrize("run", [complete_all, run_async], ids=["threads", "tasks"])


class Metered(LanguageModel):
    """Takes 30 tokens a call, and notes the most that was ever under way or done."""

    name, max_tokens, price = "metered", 20, Price(1e6, 1e6)

    def __init__(self):
        self.started, self.lock = 0, threading.Lock()

    async def acomplete(self, request):
        with self.lock:
            self.started += 1
        await asyncio.sleep(0.001)
        return Completion("x", 20, 10, cost=30.0)


@ways
@pytest.mark.parametrize(("limits", "allowed"), [({"calls": 7}, 7), ({"tokens": 240}, 7), ({"cost": 240.0}, 7), ({}, 40)])
def test_a_limit_is_met_and_not_passed_by_calls_at_once(run, limits, allowed):
    # A call may take 33 tokens of prompt and 20 of answer, and takes 30: what running calls leave over makes room for others.
    # After seven calls 210 are spent, and 53 more would pass 240.
    model = Budgeted(Metered(), **limits)
    results = run(model, [f"{i % 10}" for i in range(40)])
    assert sum(isinstance(result, Completion) for result in results) == model.model.started
    assert all(isinstance(result, (Completion, BudgetError)) for result in results)
    spent = model.budget.spent
    assert spent.calls == model.model.started and spent.tokens == 30 * spent.calls and spent.cost == 30.0 * spent.calls
    assert spent.calls == allowed


def test_a_refusal_says_what_was_spent_and_what_the_call_may_take():
    model = Budgeted(Metered(), tokens=60)
    model("x")
    with pytest.raises(BudgetError, match=r"limit of 60 on tokens would be passed: 30 are spent, and this call may take 53; raise"):
        model("x")
    assert model.model.started == 1


def test_one_budget_is_shared_by_several_models():
    budget = Budget(calls=3)
    one, two = Budgeted(Metered(), budget), Budgeted(Metered(), budget)
    one("a"), two("a"), one("a")
    with pytest.raises(BudgetError):
        two("a")


def test_a_call_that_failed_before_any_work_is_free_and_one_that_was_answered_badly_is_not():
    model = Budgeted(ScriptedLM([ModelError("refused"), AnswerError("garbage"), "fine"]), calls=2)
    with pytest.raises(ModelError, match="refused"):
        model("x")
    assert model.budget.spent.calls == 0
    with pytest.raises(AnswerError):
        model("x")
    assert model.budget.spent.calls == 1 and model("x") == "fine"


def test_answers_out_of_a_cache_inside_are_not_counted(tmp_path):
    model = Budgeted(Cached(ScriptedLM(["a"]), tmp_path), calls=5)
    model("x"), model("x")
    assert model.budget.spent.calls == 1


class Repeating(LanguageModel):
    """Asks its provider three times for one answer, and says so to the budgets around."""

    name, attempts = "repeating", 0

    def complete(self, request):
        self.attempts += 1
        for _ in range(2):
            for future in charge_again(5, 0.0):
                future.result()
            self.attempts += 1
        return Completion("x", 1, 1)


def test_an_attempt_that_may_be_charged_for_needs_room_too():
    model = Budgeted(Budgeted(Repeating(), calls=4), calls=100)
    assert model("x") == "x" and model.budget.spent.calls == model.model.budget.spent.calls == 3
    with pytest.raises(BudgetError):
        model("x")
    assert model.model.budget.spent.calls == 4 == model.model.model.attempts


def test_retries_that_wait_for_each_other_do_not_wait_forever():
    results = complete_all(Budgeted(Repeating(), calls=8), ["x"] * 16)
    assert all(isinstance(result, (Completion, BudgetError)) for result in results)


def test_a_cancelled_call_gives_back_its_place_in_the_queue():
    class Held(Metered):
        async def acomplete(self, request):
            self.started += 1
            if self.started == 2:
                both.set()
            await end.wait()
            return Completion("x", 20, 10)

    model, both, end = Budgeted(Held(), calls=2), asyncio.Event(), asyncio.Event()

    async def main():
        first = [asyncio.create_task(model.acomplete(Request.of("x"))) for _ in range(2)]
        await both.wait()
        late = asyncio.create_task(model.acomplete(Request.of("x")))
        while not model.budget._waiting:
            await asyncio.sleep(0)
        late.cancel()
        end.set()
        await asyncio.gather(*first)
        with pytest.raises(asyncio.CancelledError):
            await late

    asyncio.run(main())
    assert model.budget.spent.calls == 2 == model.model.started


def test_exact_sums_of_prices_are_not_refused_for_their_rounding():
    model = Budgeted(ScriptedLM([Completion("x", cost=0.1)] * 4), cost=0.3)
    model.model.price = Price(0.0, 0.0)
    assert [model("x") for _ in range(3)] == ["x"] * 3


def test_a_limit_on_cost_needs_a_price():
    class Free(LanguageModel):
        def complete(self, request):
            return Completion("x")

    with pytest.raises(ArgumentError, match="needs the price of model"):
        Budgeted(Free(), cost=1.0)
    with pytest.raises(ArgumentError, match="not both"):
        Budgeted(Metered(), Budget(calls=1), calls=1)
    with pytest.raises(ArgumentError, match="limit on calls must be 0 or more, got -1"):
        Budget(calls=-1)


def test_what_was_spent_survives_a_save_and_a_pickle():
    model = Budgeted(Metered(), tokens=100)
    model("x")
    again = Budget(tokens=100)
    again.load_state_dict(model.budget.state_dict())
    assert again.spent == model.budget.spent == pickle.loads(pickle.dumps(model.budget)).spent
    assert repr(again) == "Budget(tokens 30 of 100)"
