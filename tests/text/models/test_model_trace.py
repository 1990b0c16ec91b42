import asyncio
import json

import pytest

from retrograde.errors import ModelError
from retrograde.text.models import Cached, Completion, LanguageModel, Request, ScriptedLM, Wrapper, calls_for, complete_all, tracing


def test_a_trace_holds_prompt_answer_tokens_seconds_and_node():
    with tracing() as trace, calls_for("critic of the answer"):
        ScriptedLM([Completion("b c", 5, 2, cost=0.5)])("a", seed=1)
    call, = trace
    assert (call.model, call.request, call.completion.text, call.node) == ("scripted", Request.of("a", seed=1), "b c", "critic of the answer")
    assert (trace.tokens, trace.cost, len(trace)) == (7, 0.5, 1) and call.seconds >= 0


def test_a_failed_call_is_traced_with_its_error():
    with tracing() as trace, pytest.raises(ModelError):
        ScriptedLM([])("a")
    assert trace.calls[0].completion is None and trace.calls[0].error.startswith("ModelError: the script has 0 answers")


def test_a_model_around_a_model_is_one_call():
    with tracing() as trace:
        Wrapper(Wrapper(ScriptedLM(["b"])))("a")
        asyncio.run(Wrapper(ScriptedLM(["b"])).acomplete(Request.of("a")))
    assert len(trace) == 2


def test_nothing_is_traced_outside_the_block_and_the_inner_block_has_its_own():
    with tracing() as outer:
        with tracing() as inner:
            ScriptedLM(["b"])("a")
        ScriptedLM(["c"])("a")
    ScriptedLM(["d"])("a")
    assert [call.completion.text for trace in (inner, outer) for call in trace] == ["b", "c"]


def test_threads_of_a_batch_report_to_the_trace_with_their_node():
    with tracing() as trace, calls_for("n"):
        complete_all(ScriptedLM(lambda request: request.prompt), ["a", "b"])
    assert [(call.request.prompt, call.node) for call in trace] == [("a", "n"), ("b", "n")]


def test_answers_out_of_a_cache_are_marked_and_free(tmp_path):
    model = Cached(ScriptedLM([Completion("b", 5, 2, cost=0.5)]), tmp_path)
    with tracing() as trace:
        model("a"), model("a")
    assert [call.completion.is_cached for call in trace] == [False, True]
    assert (trace.tokens, trace.cost) == (7, 0.5)
    assert repr(trace) == "Trace(2 calls, 1 cached, 0 failed, 7 tokens, cost 0.5)"


def test_a_trace_is_saved_as_lines_of_json(tmp_path):
    with tracing() as trace:
        complete_all(ScriptedLM(lambda request: request.prompt), ["ä", "\ud800"])
    trace.save(tmp_path / "t.jsonl")
    lines = (tmp_path / "t.jsonl").read_text("utf-8", "surrogatepass").splitlines()
    assert [json.loads(line)["request"]["messages"][0]["content"] for line in lines] == ["ä", "\ud800"]


class Streaming(LanguageModel):
    """Streams its prompt word by word; a word "stop" is a fault."""

    name = "streaming"

    def complete(self, request):
        return Completion(request.prompt)

    def stream(self, request):
        for word in request.prompt.split():
            if word == "stop":
                raise ModelError("stopped")
            yield self.complete(Request.of(word)).text

    async def astream(self, request):
        for piece in self.stream(request):
            yield piece


async def streamed(model, prompt):
    return [piece async for piece in model.astream(Request.of(prompt))]


def test_a_stream_is_one_call_with_all_of_its_text():
    with tracing() as trace, calls_for("reader"):
        assert list(Streaming().stream(Request.of("a b"))) == ["a", "b"]
        assert asyncio.run(streamed(Streaming(), "c d")) == ["c", "d"]
    assert [(call.completion.text, call.node) for call in trace] == [("ab", "reader"), ("cd", "reader")]


def test_a_stream_that_fails_or_is_left_is_traced_too_and_calls_in_between_as_ever():
    with tracing() as trace:
        with pytest.raises(ModelError):
            list(Streaming().stream(Request.of("a stop")))
        pieces = Streaming().stream(Request.of("a b c"))
        assert next(pieces) == "a"
        ScriptedLM(["between"])("x")
        pieces.close()
    assert [call.error or call.completion.text for call in trace] == ["ModelError: stopped", "between", "a"]
