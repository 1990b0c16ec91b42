"""The local model itself; skipped where the extra `local` is not installed."""

import asyncio
import json
import math
import os
import pickle
import subprocess
import sys

import pytest

from retrograde.errors import ArgumentError, ModelError
from retrograde.text.models import Cached, LocalModel, Message, Request, complete_all, label_logprobs_all
from retrograde.text.models.weights import PACKAGE, default_weights

pytest.importorskip("xllamacpp", reason="the extra `local` brings the runtime")
pytest.importorskip(PACKAGE, reason="the extra `local` brings the weights")

RULE = "Say whether the review is positive or negative.\n\nReview: I loved it\nSentiment: positive\n\nReview: Awful\nSentiment: negative"
REVIEWS = ["A lovely film", "Dull and far too long", "I would see it again", "The worst script in years"]
PROMPTS = [f"{RULE}\n\nReview: {review}\nSentiment:" for review in REVIEWS]
LABELS = ["positive", "negative"]


@pytest.fixture(scope="module")
def model():
    with LocalModel(threads=1) as model:  # the same answers, and quick on a busy machine too
        yield model


def test_it_tells_sentiment(model):
    assert [answer.text for answer in complete_all(model, [Request.of(p, labels=LABELS) for p in PROMPTS])] == [
        "positive", "negative", "positive", "negative"]


def test_probabilities_of_labels_agree_with_those_of_forced_writing(model):
    tokens = model._tokens(PROMPTS[0])
    for label in (" positive", " negative"):
        text, _, _, probabilities = model.engine.answered(tokens, max_tokens=9, temperature=0.0, logprobs=1, grammar=f'root ::= "{label}"')
        written = [entry for entry in probabilities["content"] if entry["token"]]  # the last one, without text, ends the answer
        assert text == label and [entry["token"] for entry in written] == [label]
        assert model.label_logprobs(PROMPTS[0], [label]) == pytest.approx([written[0]["logprob"]], abs=1e-5)


def test_probabilities_of_tokens_far_down_the_list_are_exact(model):
    tokens = model._tokens("The sky")
    content = model.engine.answered(tokens, max_tokens=1, temperature=0.0, logprobs=2000)[3]["content"][0]["top_logprobs"]
    wanted = {entry["id"]: entry["logprob"] for entry in content[::400]}
    assert len(wanted) == 5 and model.engine.next_logprobs(tokens, list(wanted)) == pytest.approx(wanted, abs=1e-5)


def test_a_label_of_several_tokens_is_the_product_of_its_parts(model):
    whole, first = model.label_logprobs("The capital of France", [" is the city", " is"])
    assert whole == pytest.approx(first + model.label_logprobs("The capital of France is", [" the city"])[0], abs=1e-4)


def test_scores_do_not_depend_on_what_was_read_before(model):
    together = label_logprobs_all(model, PROMPTS, LABELS)
    model("Something else entirely", max_tokens=2)
    alone = [model.label_logprobs(prompt, LABELS) for prompt in reversed(PROMPTS)]
    model.engine.answered(model._tokens("Once"), max_tokens=1, temperature=0.0)
    assert together == alone[::-1] == [model.label_logprobs(prompt, LABELS) for prompt in PROMPTS]


def test_a_space_at_the_end_of_the_prompt_changes_nothing(model):
    plain, spaced = (model.label_logprobs(PROMPTS[0] + end, LABELS) for end in ("", " "))
    assert plain == spaced == model.label_logprobs(PROMPTS[0], [f" {label}" for label in LABELS])
    assert sum(map(math.exp, plain)) > 0.5


def test_the_answer_is_the_same_every_time_for_a_seed(model):
    ask = {"temperature": 1.0, "max_tokens": 8}
    first = model("Once upon a time", seed=3, **ask)
    assert first == model("Once upon a time", seed=3, **ask)
    assert len({first, model("Once upon a time", seed=4, **ask), model("Once upon a time", seed=3, sample=7, **ask)}) == 3
    assert model("Once upon a time", max_tokens=5) == model("Once upon a time", max_tokens=5, temperature=0.0, seed=9)


def test_a_grammar_and_a_schema_bind_the_answer(model):
    assert model("Is the sky blue?", grammar='root ::= "yes" | "no"') in {"yes", "no"}
    schema = {"type": "object", "properties": {"blue": {"type": "boolean"}}, "required": ["blue"], "additionalProperties": False}
    assert set(json.loads(model("Is the sky blue? As JSON:", json_schema=schema))) == {"blue"}


def test_an_answer_ends_at_a_blank_line_unless_the_request_says_where(model):
    text = model(PROMPTS[1], max_tokens=12)
    assert text == "negative"
    assert "\n\nReview" in model(PROMPTS[1], stop="Sentiment", max_tokens=12)
    cut = model.complete(Request.of("One two three", max_tokens=2))
    assert cut.finish_reason == "length" and cut.completion_tokens == 2 and cut.prompt_tokens == 1 + model.count_tokens("One two three")


def test_a_stream_gives_the_same_text(model):
    request = Request.of("The capital of France is", max_tokens=6)
    assert "".join(model.stream(request)) == model.complete(request).text
    stream = model.stream(request)
    next(stream)
    stream.close()
    assert asyncio.run(model.acomplete(request)).text == model.complete(request).text


def test_names_of_special_tokens_in_the_data_are_plain_text(model):
    assert model.count_tokens("<bos>") > 1 and model.count_tokens("<start_of_turn>") > 1


def test_messages_become_text_for_a_model_that_continues_text(model):
    turns = [Message("user", f"{RULE}\n\nReview: {REVIEWS[0]}\nSentiment: ")]
    assert model.label_logprobs(turns, LABELS) == model.label_logprobs(PROMPTS[0], LABELS)


def test_it_is_cached_by_its_weights_and_comes_back_from_a_pickle(model, tmp_path):
    cached = Cached(model, tmp_path)
    scores = [cached.label_logprobs(PROMPTS[0], LABELS) for _ in range(2)]
    assert scores[0] == scores[1] and cached.hits == 1
    again = pickle.loads(pickle.dumps(model))
    assert again.identity == model.identity and str(default_weights()) not in model.identity
    assert again.label_logprobs(PROMPTS[0], LABELS) == scores[0]


def test_a_template_lays_out_messages_where_the_model_has_one():
    model = LocalModel(is_chat=True, threads=1)
    text = model._prompt(Request.of([("system", "Be brief."), "Hi"]))
    assert text.index("Be brief.") < text.index("Hi") and "assistant" in text
    assert len(model.label_logprobs("Is it good?", ["yes", "no"])) == 2


def test_what_cannot_work_is_a_clear_error(model):
    with pytest.raises(ModelError, match=r"\d+ tokens\) exceeds the available context size"):
        LocalModel(context=256, threads=1)("word " * 300)
    with pytest.raises(ModelError, match="failed to parse grammar"):
        list(model.stream(Request.of("x", grammar="root ::= (")))
    with pytest.raises(ModelError, match="failed to parse grammar"):
        model("x", grammar="root ::= (")
    with pytest.raises(ModelError, match=r"no weights at nowhere\.gguf"):
        LocalModel("nowhere.gguf")("x")
    with pytest.raises(ArgumentError, match="context must be at least 16"):
        LocalModel(context=1)
    assert "GOMP_SPINCOUNT" not in os.environ


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_loads_weights_of_its_own(model):
    # In a fresh interpreter, where nothing but the model has threads.
    script = """if True:
        import multiprocessing
        from retrograde.text.models import LocalModel
        model = LocalModel(threads=1)
        ask = lambda: model.label_logprobs("The sky is", ["blue", "red"])
        def work(results):
            results.put(ask())
        context = multiprocessing.get_context("fork")
        results, here = context.Queue(), ask()
        worker = context.Process(target=work, args=(results,))
        worker.start()
        assert results.get(timeout=600) == here
        worker.join()
        print("the same", worker.exitcode)
    """
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "the same 0\n", done.stderr
