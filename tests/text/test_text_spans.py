"""Spans of OpenTelemetry: one for each run, step and call, with their parents, and what they say."""

import asyncio
import json
import sys

import pytest

from retrograde import text

sdk = pytest.importorskip("opentelemetry.sdk.trace")
export = pytest.importorskip("opentelemetry.sdk.trace.export")
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
SECRET = "what nobody else should read"


@pytest.fixture
def exporter():
    return memory.InMemorySpanExporter()


@pytest.fixture
def tracer(exporter):
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    return provider.get_tracer("test")


def search():
    class Greeter(text.Module):
        def __init__(self):
            super().__init__()
            self.style = text.Parameter("Be brief.", role="style")
            self.model = text.ScriptedLM(lambda request: "kind" if "kind" in request.prompt else "no")

        def scores(self, items):
            answers = text.chat(self.model, [("system", self.style), ("user", "{q}")], {"q": items})
            return text.exact_match(answers, "kind").scores

    greeter = Greeter()
    group = {"params": [greeter.style], "space": text.Options(["Be brief.", "Be kind."])}
    return greeter, text.DiscreteSearch([group], validate=text.Validation([f"q{i}" for i in range(8)], greeter.scores))


def test_calls_are_children_of_steps_and_steps_of_the_run_in_whatever_thread(tracer, exporter):
    greeter, optimizer = search()
    with text.spans(tracer):
        run = text.train(greeter, optimizer, steps=1)
    found = {span.context.span_id: span for span in exporter.get_finished_spans()}
    calls = [span for span in found.values() if span.name == "chat scripted"]
    (step,), (whole,) = ([span for span in found.values() if span.name == name] for name in ("step 1", "DiscreteSearch"))
    assert len(calls) == run.usage.calls == 16
    parents = [found[call.parent.span_id].name for call in calls]
    assert parents.count("step 1") == 8 and parents.count("DiscreteSearch") == 8  # the first look belongs to no step
    assert step.parent.span_id == whole.context.span_id and whole.parent is None
    assert step.attributes["retrograde.outcome"] == "accepted" and step.attributes["retrograde.won"] == 8
    assert whole.attributes["retrograde.calls"] == 16 and whole.attributes["retrograde.validation after"] == 1.0


def test_a_call_says_model_tokens_options_and_what_it_was_made_for(tracer, exporter):
    model = text.Budgeted(text.ScriptedLM([text.models.Completion("yes", 7, 2, cost=0.5)]), calls=3)
    with text.spans(tracer):
        text.chat(model, "Is 89 prime?", temperature=0.5, max_tokens=9, stop="x", role="verdict")
    (span,) = exporter.get_finished_spans()  # of the model and the budget around it, one
    said = dict(span.attributes)
    assert said.items() >= {"gen_ai.operation.name": "chat", "gen_ai.request.model": "scripted", "gen_ai.usage.input_tokens": 7,
                            "gen_ai.usage.output_tokens": 2, "gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": 9,
                            "gen_ai.request.stop_sequences": ("x",), "retrograde.node": "verdict", "retrograde.cost": 0.5}.items()


def test_prompts_and_answers_are_in_spans_only_if_asked_for(tracer, exporter):
    model = text.ScriptedLM(lambda request: f"said {SECRET}")
    with text.spans(tracer):
        model(SECRET)
    with text.spans(tracer, content=True):
        model(SECRET)
    without, with_content = exporter.get_finished_spans()
    assert SECRET not in without.to_json()
    assert json.loads(with_content.attributes["gen_ai.input.messages"])[0]["parts"][0]["content"] == SECRET
    assert json.loads(with_content.attributes["gen_ai.output.messages"])[0]["parts"][0]["content"] == f"said {SECRET}"


def test_an_error_ends_its_span_and_says_which(tracer, exporter):
    with text.spans(tracer), pytest.raises(text.ModelError):
        text.ScriptedLM([text.AnswerError("out of order")])("q")
    (span,) = exporter.get_finished_spans()
    assert span.attributes["error.type"] == "AnswerError" and "out of order" in span.status.description
    assert not span.status.is_ok


def test_a_run_that_is_interrupted_ends_its_spans(tracer, exporter):
    greeter, optimizer = search()

    def interrupt(run):
        raise KeyboardInterrupt

    with text.spans(tracer), pytest.raises(KeyboardInterrupt):
        text.train(greeter, optimizer, steps=2, on_step=interrupt)
    names = {span.name for span in exporter.get_finished_spans()}
    assert {"step 1", "DiscreteSearch"} <= names


def test_streams_and_tasks_have_a_span_each_and_nothing_is_told_outside_of_the_block(tracer, exporter):
    model = text.ScriptedLM(lambda request: request.prompt)
    with text.spans(tracer):
        assert "".join(model.stream("a")) == "a"
        asyncio.run(text.acomplete_all(model, ["b", "c"]))
    model("d")
    assert len(exporter.get_finished_spans()) == 3


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    with pytest.raises(text.MissingExtraError, match=r"needs opentelemetry; install it with: pip install 'retrograde\[otel\]'"):
        text.spans()


def test_a_listener_of_ones_own_is_told_of_each_thing():
    class Log(text.Listener):
        def __init__(self):
            self.said = []

        def begin(self, kind, name):
            self.said.append(f"{kind} {name}")
            return name

        def end(self, span, facts, error=None):
            self.said.append(f"end of {span}")

    greeter, optimizer = search()
    with text.listening(Log()) as log:
        text.train(greeter, optimizer, steps=1)
    assert log.said[0] == "run DiscreteSearch" and log.said[-1] == "end of DiscreteSearch"
    assert log.said.index("step step 1") < log.said.index("end of step 1") and log.said.count("call scripted") == 16
