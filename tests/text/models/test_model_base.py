import asyncio
import pickle

import pytest

from retrograde.errors import DTypeError, ModelError, UnsupportedError
from retrograde.text.models import Completion, LanguageModel, Price, Request, ScriptedLM, Wrapper, tracing


class Sync(LanguageModel):
    name = "sync"

    def complete(self, request):
        return Completion(request.prompt.upper())


class Async(LanguageModel):
    name = "async"

    async def acomplete(self, request):
        await asyncio.sleep(0)
        return Completion(request.prompt.upper())


@pytest.mark.parametrize("model", [Sync(), Async(), Wrapper(Sync()), Wrapper(Wrapper(Async()))], ids=repr)
def test_one_of_the_two_ways_to_complete_gives_the_other(model):
    async def both():
        return (await model.acomplete(Request.of("a"))).text, model("b"), [piece async for piece in model.astream(Request.of("c"))]

    assert model("a") == "A" and list(model.stream(Request.of("b"))) == ["B"]
    assert asyncio.run(both()) == ("A", "B", ["C"])


@pytest.mark.parametrize("model", [Sync(), Async(), Wrapper(Sync()), ScriptedLM(lambda request: request.prompt.upper())], ids=repr)
def test_a_prompt_will_do_in_place_of_a_request(model):
    async def both():
        return (await model.acomplete("a")).text, [piece async for piece in model.astream([("user", "b")])]

    with tracing() as trace:
        assert model.complete("a").text == "A" and list(model.stream("b")) == ["B"] and asyncio.run(both()) == ("A", ["B"])
    assert [call.request for call in trace] == [Request.of(prompt) for prompt in "abab"]


def test_a_model_must_complete_in_some_way():
    with pytest.raises(DTypeError, match="must define complete"):
        type("Nothing", (LanguageModel,), {})


def test_probabilities_of_labels_are_asked_for_or_refused():
    assert ScriptedLM(["no"]).label_logprobs("x", ["yes", "no"]) == [-30.0, 0.0]
    with pytest.raises(UnsupportedError, match="sync does not tell"):
        Sync().label_logprobs("x", ["yes", "no"])


def test_the_bound_on_tokens_holds_for_a_tokeniser_of_bytes():
    prompt, answer = Sync().token_bound(Request.of("é" * 10, max_tokens=7))
    assert prompt >= 20 and answer == 7
    assert Sync().token_bound(Request.of("x"))[1] == LanguageModel.max_tokens


def test_prices_are_per_million_tokens():
    assert Price(2.0, 10.0).of(1_000_000, 500_000) == 7.0
    assert Sync().cost_of(10**9, 10**9) == 0.0


def test_a_scripted_model_gives_lists_dicts_functions_and_errors():
    assert [ScriptedLM(["a", Completion("b")])(p) for p in "x"] == ["a"]
    assert ScriptedLM({"sky": "blue", "": "none"})("the sky") == "blue"
    assert ScriptedLM(lambda request: request.prompt * 2)("ab") == "abab"
    with pytest.raises(ModelError, match="this is call 2: 'y'"):
        [model := ScriptedLM(["a"]), model("x"), model("y")]
    with pytest.raises(ModelError, match="has no answer to 'y'"):
        ScriptedLM({"sky": "blue"})("y")
    with pytest.raises(TimeoutError):
        ScriptedLM([TimeoutError()])("x")
    with pytest.raises(DTypeError, match="must be a list, a dict or a function, got str"):
        ScriptedLM("text")


def test_a_scripted_model_keeps_what_it_was_asked_and_is_pickled():
    model = ScriptedLM(["a", "b"])
    model("x", seed=3)
    again = pickle.loads(pickle.dumps(model))
    assert again.requests == [Request.of("x", seed=3)] and again("y") == "b"
