import asyncio
import threading
import time

import pytest

from retrograde.errors import ArgumentError, ModelError
from retrograde.text.models import (
    Completion,
    LanguageModel,
    Request,
    ScriptedLM,
    Wrapper,
    acomplete_all,
    complete_all,
    label_logprobs_all,
    tracing,
)


class Counting(LanguageModel):
    """The first two wait for each other; earlier items take longer, so that most end in the opposite order."""

    name = "counting"

    def __init__(self):
        self.running = self.most = self.asked = 0
        self.lock, self.meeting = threading.Lock(), threading.Barrier(2)

    def complete(self, request):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.asked += 1
            meets = self.asked <= 2
        if meets:
            self.meeting.wait(60)
        time.sleep(0.001 * (20 - int(request.prompt)))
        with self.lock:
            self.running -= 1
        return Completion(request.prompt)


def run_async(model, prompts, **options):
    return asyncio.run(acomplete_all(model, prompts, **options))


async def _inside(model, prompts, **options):
    return complete_all(model, prompts, **options)


ways = pytest.mark.parametrize("run", [complete_all, run_async, lambda *a, **o: asyncio.run(_inside(*a, **o))],
                               ids=["threads", "tasks", "threads in a loop"])


@ways
def test_answers_come_in_the_order_of_the_requests_and_calls_are_bounded(run):
    model, prompts = Counting(), [str(i) for i in range(20)]
    assert [answer.text for answer in run(model, prompts, limit=5)] == prompts
    assert 1 < model.most <= 5


@ways
def test_one_failing_item_is_its_own_error_and_loses_no_other(run):
    def answer(request):
        if request.prompt == "2":
            raise ValueError("no twos")
        return ModelError("no fours") if request.prompt == "4" else request.prompt

    results = run(ScriptedLM(answer), [str(i) for i in range(6)])
    assert [r.text if isinstance(r, Completion) else str(r) for r in results] == ["0", "1", "ValueError: no twos", "3", "no fours", "5"]
    assert all(isinstance(results[i], ModelError) for i in (2, 4)) and isinstance(results[2].__cause__, ValueError)


@ways
def test_a_script_in_order_is_asked_in_order(run):
    texts = [str(i) for i in range(30)]
    assert [answer.text for answer in run(ScriptedLM(texts), ["x"] * 30)] == texts


@ways
def test_nothing_gives_nothing(run):
    assert run(ScriptedLM([]), []) == []


@ways
def test_the_trace_of_a_batch_is_in_the_order_of_its_items(run):
    prompts = [str(i) for i in range(20)]
    with tracing() as trace:
        run(Counting(), prompts)
    assert [call.request.prompt for call in trace] == prompts


def test_prompts_that_begin_alike_are_asked_one_after_another_where_that_helps():
    model = ScriptedLM(lambda request: request.prompt)
    model.keeps_prefixes, model.max_concurrency = True, 1
    prompts = ["b 1", "a 1", "b 2", "a 2"]
    assert [answer.text for answer in complete_all(Wrapper(model), prompts)] == prompts
    assert [request.prompt for request in model.requests] == sorted(prompts)


def test_labels_of_many_prompts_are_scored_together():
    model = ScriptedLM(lambda request: "yes" if "1" in request.prompt else ModelError("lost"))
    assert label_logprobs_all(model, ["1"], ["yes", "no"]) == [[0.0, -30.0]]
    assert str(label_logprobs_all(model, ["1", "2"], ["yes", "no"])[1]) == "lost"


def test_a_limit_below_one_is_refused():
    with pytest.raises(ArgumentError, match="at least 1, got 0"):
        complete_all(ScriptedLM([]), [Request.of("x")], limit=0)


def test_an_interrupt_is_not_taken_for_an_answer():
    def answer(request):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        complete_all(ScriptedLM(answer), ["x", "y"])


def test_a_cancelled_batch_cancels_its_calls():
    class Slow(LanguageModel):
        name, begun, ended = "slow", 0, 0

        async def acomplete(self, request):
            Slow.begun += 1
            if Slow.begun == 2:
                both.set()
            try:
                await asyncio.Event().wait()
            finally:
                Slow.ended += 1
                if Slow.ended == 2:
                    none.set()

    both, none = asyncio.Event(), asyncio.Event()

    async def main():
        task = asyncio.create_task(acomplete_all(Slow(), ["a", "b", "c"], limit=2))
        await both.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(none.wait(), 60)

    asyncio.run(main())
    assert Slow.begun == Slow.ended == 2
