import asyncio
import multiprocessing
import pickle
import threading
import time

import pytest

from retrograde.errors import ModelError
from retrograde.text.models import Cached, Completion, LanguageModel, Request, ScriptedLM, acomplete_all, complete_all


def echo(**options):
    return ScriptedLM(lambda request: Completion(f"{request.prompt}!", 3, 2, 0.1, 0.5), **options)


def test_an_answer_is_paid_for_once_and_then_free(tmp_path):
    model = Cached(echo(), tmp_path)
    first, second = (model.complete(Request.of("ä\ud800")) for _ in range(2))
    assert (first.is_cached, second.is_cached, first.cost, second.cost) == (False, True, 0.5, 0.0)
    assert first.text == second.text == "ä\ud800!" and second.tokens == 5
    assert (model.hits, model.misses, len(model.model.requests)) == (1, 1, 1)
    assert Cached(echo(), tmp_path)("ä\ud800") and len(list(tmp_path.glob("??/*"))) == 1


def test_other_models_options_and_samples_are_kept_apart(tmp_path):
    model = Cached(echo(), tmp_path)
    for options in ({}, {"temperature": 0.0}, {"seed": 0}, {"sample": 1}, {"labels": ["x!"]}):
        assert not model.complete(Request.of("x", **options)).is_cached
    assert not Cached(echo(name="other"), tmp_path).complete(Request.of("x")).is_cached


def test_label_probabilities_come_out_of_the_cache_unchanged(tmp_path):
    model = Cached(ScriptedLM([Completion("a", logprobs=(-0.1, -1 / 3))]), tmp_path)
    assert model.label_logprobs("x", ["a", "b"]) == model.label_logprobs("x", ["a", "b"]) == [-0.1, -1 / 3]


def test_switched_off_it_reads_and_writes_nothing(tmp_path):
    Cached(echo(), tmp_path)("x")
    model = Cached(ScriptedLM(["new", "newer"]), tmp_path, is_enabled=False)
    assert (model("x"), model("x")) == ("new", "newer") and len(list(tmp_path.glob("??/*"))) == 1


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b'{"completion": 3, "digest": ""}', b"\xff\xfe", "cut", "swap"])
def test_a_damaged_entry_is_ignored_and_written_again(tmp_path, damage):
    model = Cached(ScriptedLM(["one", "two"]), tmp_path)
    model("x")
    path = model.path_of(Request.of("x"))
    whole = path.read_bytes()
    changed = {"cut": whole[:-20], "swap": whole.replace(b'"one"', b'"eno"')}
    path.write_bytes(changed[damage] if isinstance(damage, str) else damage)
    assert model("x") == "two" and model("x") == "two"


@pytest.mark.parametrize("answer", [Completion("half an ans", finish_reason="length"), Completion("half", finish_reason="content_filter"), Completion(" \n")])
def test_an_answer_that_is_not_whole_is_not_kept_and_not_taken(tmp_path, answer):
    model = Cached(ScriptedLM([answer, answer, "whole"]), tmp_path)
    assert model("x") == model("x") == answer.text and not list(tmp_path.glob("??/*.json"))
    request = Request.of("x")
    model._write(model.path_of(request).stem, request, answer)  # as an earlier release left it
    assert model("x") == "whole" == model("x")


def test_an_entry_of_another_request_is_not_taken(tmp_path):
    model = Cached(echo(), tmp_path)
    model("x")
    path = model.path_of(Request.of("y"))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(model.path_of(Request.of("x")).read_bytes())
    assert model("y") == "y!"


def test_equal_requests_at_once_are_asked_once(tmp_path):
    for run in (complete_all, lambda *a: asyncio.run(acomplete_all(*a))):
        model = Cached(echo(seconds=0.02), tmp_path / str(run))
        results = run(model, ["x", "y"] * 8)
        assert [r.text for r in results] == ["x!", "y!"] * 8 and len(model.model.requests) == 2
        assert sum(r.cost for r in results) == 1.0


def test_an_answer_that_an_equal_request_has_just_left_is_found(tmp_path):
    class Late(Cached):
        is_late = True

        def _join(self, key):
            if self.is_late:
                self.is_late = False
                self.complete(Request.of("x"))  # begins and ends between two steps of the other
            return super()._join(key)

    model = Late(echo(), tmp_path)
    assert model("x") == "x!" and (len(model.model.requests), model.hits, model.misses) == (1, 1, 1)


def test_an_error_is_not_kept_and_those_who_waited_try_themselves(tmp_path):
    lock, count = threading.Lock(), [0]

    def answer(request):
        with lock:
            count[0] += 1
            number = count[0]
        time.sleep(0.01)
        return ModelError("first fails") if number == 1 else "fine"

    results = complete_all(Cached(ScriptedLM(answer), tmp_path), ["x"] * 5)
    assert sorted(str(getattr(r, "text", r)) for r in results) == ["fine"] * 4 + ["first fails"] and count[0] == 2


def test_who_waits_for_a_cancelled_call_asks_itself(tmp_path):
    class Slow(LanguageModel):
        name, calls = "slow", 0

        async def acomplete(self, request):
            Slow.calls += 1
            if Slow.calls == 1:
                asked.set()
                await asyncio.Event().wait()
            return Completion("fine")

    asked = asyncio.Event()

    async def main():
        model = Cached(Slow(), tmp_path)
        first, second = (asyncio.create_task(model.acomplete(Request.of("x"))) for _ in range(2))
        await asked.wait()
        await asyncio.sleep(0)  # the second waits for the first by now
        first.cancel()
        return (await second).text

    assert asyncio.run(main()) == "fine" and Slow.calls == 2


def _fill(folder, start):
    start.wait()
    model = Cached(echo(), folder)
    for i in range(150):
        assert model(str(i % 50)) == f"{i % 50}!"


def test_processes_share_a_folder(tmp_path):
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    workers = [context.Process(target=_fill, args=(tmp_path, start)) for _ in range(2)]
    for worker in workers:
        worker.start()
    start.set()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(list(tmp_path.glob("??/*.json"))) == 50 and not list(tmp_path.glob("??/*.part"))
    model = Cached(ScriptedLM([]), tmp_path)
    assert [model(str(i)) for i in range(50)] == [f"{i}!" for i in range(50)]


def test_it_is_cleared_and_pickled(tmp_path):
    model = Cached(ScriptedLM(["a", "b", "c"]), tmp_path)
    model("x")
    model.clear()
    assert pickle.loads(pickle.dumps(model))("x") == "b"
