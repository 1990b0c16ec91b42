"""`text.LocalModel` on each of its engines, with one small random file; llama.cpp where the extra `local` is installed."""

import gc
import json
import pickle
import threading
from importlib.util import find_spec

import json_model
import numpy as np
import pytest
import reference
import written_models
from test_model_files import folder_of
from waiting import wait_until

import retrograde as rg
from retrograde import text
from retrograde.errors import ArgumentError, ModelError, UnsupportedError
from retrograde.models import TextModel, attribution
from retrograde.text.models.batch import label_logprobs_all

TEMPLATE = "{{ bos_token }}" + json_model.TEMPLATE
LABELS, PROMPTS = ["true", "false", "al"], ["the cat is", "the cat in", "a dog, then a cat and another dog", "the cat is"]
SCHEMA = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": False}
pytest.importorskip("jinja2", reason="comes with the extra `models`")
pytest.importorskip("llguidance", reason="comes with the extra `models`")
is_there = [name for name, library in (("llama.cpp", "xllamacpp"), ("retrograde", "retrograde")) if find_spec(library)]
both = pytest.mark.parametrize("engine", is_there)


@pytest.fixture(scope="module")
def network():
    return reference.network_of("llama", vocab_size=280, max_position_embeddings=256)


@pytest.fixture(scope="module")
def path(tmp_path_factory, network):
    folder = tmp_path_factory.mktemp("weights")
    return written_models.llama(folder / "tiny.gguf", network, vocabulary=written_models.all_bytes(280), template=TEMPLATE)


@pytest.fixture(scope="module")
def asked(path):
    """A function of the engine and of whether messages are laid out, so that weights are loaded once."""
    models = {(engine, is_chat): text.LocalModel(path, engine=engine, context=192, threads=1 if engine == "llama.cpp" else None,
                                                 is_chat=is_chat)
              for engine in is_there for is_chat in (None, False)}
    return lambda engine, is_chat=False: models[engine, None if is_chat else False]


@pytest.mark.skipif(len(is_there) < 2, reason="the extra `local` brings the other engine")
@pytest.mark.parametrize("is_chat", [False, True])
def test_engines_give_the_same_answers(asked, is_chat):
    theirs, ours = asked("llama.cpp", is_chat), asked("retrograde", is_chat)
    assert theirs.has_chat is ours.has_chat is is_chat and ours.identity == f"{theirs.identity} retrograde"
    for prompt in PROMPTS:
        request = text.Request.of([("system", "be in the house"), prompt], labels=LABELS)
        found, expected = ours.complete(request), theirs.complete(request)
        np.testing.assert_allclose(found.logprobs, expected.logprobs, atol=1e-4)
        assert (found.text, found.prompt_tokens, found.completion_tokens) == (expected.text, expected.prompt_tokens, expected.completion_tokens)
        request = text.Request.of(prompt, max_tokens=12, grammar="root ::= [a-z ]+")
        found, expected = ours.complete(request), theirs.complete(request)
        assert found.text == expected.text != ""
    for content in ("the </s> cat <s>", " a\n\nb", "é\n", ""):
        assert ours.count_tokens(content) == theirs.count_tokens(content)
        for model in (ours, theirs):
            assert list(model.engine.tokens(content, False)).count(2) == 0
        assert [*ours.engine.tokens(content, False)] == [*theirs.engine.tokens(content, False)]


@both
def test_an_answer_is_the_same_every_time_and_streams(asked, engine):
    model, options = asked(engine), {"temperature": 1.0, "max_tokens": 12, "stop": "zz"}
    first = model("the cat", seed=3, **options)
    assert first == model("the cat", seed=3, **options)
    assert len({first, model("the cat", seed=4, **options), model("the cat", seed=3, sample=7, **options)}) == 3
    # The last letter may be a part of one, of which streams and whole answers tell differently.
    request = text.Request.of("the cat", seed=3, grammar="root ::= [a-z]+", temperature=1.0, max_tokens=12)
    assert "".join(model.stream(request)) == model.complete(request).text != ""
    cut = model.complete(text.Request.of("oh", max_tokens=5, stop="zz"))
    assert (cut.finish_reason, cut.completion_tokens, cut.prompt_tokens) == ("length", 5, model.count_tokens("oh") + 1)


@both
def test_a_schema_and_a_grammar_bind_the_answer(asked, engine):
    model = asked(engine)
    for seed in range(3):
        assert json.loads(model("the cat?", json_schema=SCHEMA, temperature=1.0, seed=seed))["a"] in (True, False)
    assert model("the cat?", grammar='root ::= "yes" | "no"') in {"yes", "no"}
    for strange in ("root ::= (", "root"):
        with pytest.raises(rg.errors.RetrogradeError):
            model("x", grammar=strange)


@both
@pytest.mark.parametrize(("prompt", "options"), [
    ("the \ud800", {}), ("the", {"labels": ["\ud800", "a"]}), ("the", {"json_schema": "{"}), ("the", {"json_schema": "3"}), ("the", {"stop": [""]}),
    ("the", {"top_p": 2.0}), ("the", {"top_p": -1.0}), ("the", {"labels": ["a", "a"]}), ("the", {"labels": ["", "a"]}), ("the " * 300, {}),
    ("the " * 300, {"labels": ["a", "in"]}), ("the", {"labels": ["a", "in " * 300]})])
def test_what_cannot_be_asked_is_an_error_of_ours_and_leaves_the_model_as_it_was(asked, engine, prompt, options):
    model = asked(engine)
    before = model.label_logprobs("the", LABELS)
    with pytest.raises((ArgumentError, ModelError)):
        model(prompt, **options)
    assert model.label_logprobs("the", LABELS) == pytest.approx(before, abs=0 if engine == "retrograde" else 1e-5)


@both
def test_an_answer_that_has_begun_is_gone_on_with(asked, engine):
    model, messages = asked(engine, True), [("user", "the cat"), ("assistant", "al the")]
    found = model(messages, max_tokens=6, grammar="root ::= [a-z ]+")
    assert model._prompt(text.Request.of(messages)).endswith("user:the cat;assistant:al the")
    assert found != model(messages[:1], max_tokens=6, grammar="root ::= [a-z ]+")


@both
def test_odd_labels_have_the_log_probabilities_of_their_tokens(asked, engine):
    model = asked(engine)
    for labels in (["\n", "\n\n"], [" a", "a"], ["al", "all", "a"], ["é😀", "</s>"]):
        prompt, wholes = model.scored(text.Request.of("the cat:", labels=labels))
        expected = []
        for whole in wholes:
            with rg.no_grad():
                logits = asked("retrograde").engine._model.network(rg.tensor([whole]))[0].numpy()
            logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            expected.append(sum(logs[place - 1, whole[place]] for place in range(len(prompt), len(whole))))
        np.testing.assert_allclose(model.label_logprobs("the cat:", labels), expected, atol=1e-3)


@both
def test_answers_are_kept_bounded_and_come_back_from_a_pickle(asked, engine, tmp_path):
    model = asked(engine)
    cached = text.Cached(text.Budgeted(model, calls=1), tmp_path)
    scores = [cached.label_logprobs("the cat", LABELS) for _ in range(2)]
    assert scores[0] == scores[1] and cached.hits == 1
    with pytest.raises(rg.errors.BudgetError):
        cached("another")
    again = pickle.loads(pickle.dumps(model))
    assert again.identity == model.identity and again.label_logprobs("the cat", LABELS) == scores[0]
    again.close()
    again.close()
    assert again.label_logprobs("the cat", LABELS) == scores[0]


@both
def test_scores_do_not_depend_on_what_was_read_before(asked, path, engine):
    model = asked(engine)
    long = [f"the dog and the cat in the house and in the other house {end}" for end in ("is", "was", "is", "a", "is a cat")]
    together = label_logprobs_all(model, long, LABELS)
    model("a cat", max_tokens=3)
    if engine == "retrograde":  # the other one's last bits are not the same with heads of eight numbers
        assert together == [model.label_logprobs(prompt, LABELS) for prompt in long] == label_logprobs_all(model, long[::-1], LABELS)[::-1]
    for prompt, expected in zip(long, together, strict=True):
        with text.LocalModel(path, engine=engine, context=96, is_chat=False) as fresh:  # another context, and so another engine
            assert fresh.label_logprobs(prompt, LABELS) == pytest.approx(expected, abs=0 if engine == "retrograde" else 1e-5)


def test_prompts_that_begin_alike_are_read_once_unless_the_model_was_taken_out(path, monkeypatch):
    model = text.LocalModel(path, engine="retrograde", context=160, is_chat=False)
    long, read = "the dog and the cat in the house and in the other house", []
    before = model.label_logprobs(f"{long} is", LABELS)
    step = type(model.engine._model.reader)._in_pieces
    monkeypatch.setattr(type(model.engine._model.reader), "_in_pieces", lambda *args: read.append(len(args[4])) or step(*args))
    assert model.label_logprobs(f"{long} is", LABELS) == before
    assert read[0] == 1
    read.clear()
    model(f"{long} was", max_tokens=1)
    assert read[0] < 6
    with rg.no_grad():
        model.engine.model.network.model.norm.weight *= 2.0
    read.clear()
    assert model.label_logprobs(f"{long} is", LABELS) != before
    assert read[0] > 40


def test_texts_of_threads_are_written_together_and_each_is_what_it_would_be_alone(asked):
    model = asked("retrograde")
    requests = [text.Request.of(f"the cat {i}", temperature=1.0, seed=i, max_tokens=3 + i, stop="zz") for i in range(12)]
    requests += [text.Request.of(f"the cat {i}", labels=LABELS) for i in range(3)]
    alone = [model.complete(request) for request in requests]
    sizes, advance = [], rg.models.writing.Batch.advance

    def advanced(batch):
        if not sizes:  # a busy machine starts threads late: eight, of which three may wait to choose a label
            wait_until(lambda: len(batch.active) + len(model.engine._together._waiting) >= 5)
        sizes.append(len(batch.active))
        return advance(batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rg.models.writing.Batch, "advance", advanced)
        with rg.autocast("bfloat16"):  # whoever takes a step takes it for all
            together = text.complete_all(model, requests)
    assert [(answer.text, answer.logprobs) for answer in together] == [(answer.text, answer.logprobs) for answer in alone]
    assert 4 < max(sizes) <= 8


def test_streams_that_are_left_and_errors_leave_room_for_others(asked):
    model = asked("retrograde")
    request = text.Request.of("oh", max_tokens=100, stop="zz")
    expected = model.complete(request)
    streams = [model.stream(request) for _ in range(9)]
    for stream in streams:
        next(stream)
    del streams[:8], stream
    gc.collect()
    assert text.complete_all(model, [request] * 3) == [expected] * 3
    assert not model.engine._together._waiting
    found = text.complete_all(model, [request, text.Request.of("word " * 300), text.Request.of("x", grammar="root ::= ("), request])
    assert found[0] == found[3] == expected
    assert "exceeds the context" in str(found[1]) and "grammar" in str(found[2])


def test_an_interrupt_in_a_step_ends_all_texts_and_no_other_ones(asked, monkeypatch):
    model, request = asked("retrograde"), text.Request.of("oh", max_tokens=25, stop="zz")
    expected, found = model.complete(request), []
    advance, calls = rg.models.writing.Batch.advance, []

    def interrupted(batch):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return advance(batch)

    def ask():
        try:
            found.append(model.complete(request))
        except (ModelError, KeyboardInterrupt) as error:
            found.append(error)

    monkeypatch.setattr(rg.models.writing.Batch, "advance", interrupted)
    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 3 and sum(isinstance(answer, KeyboardInterrupt) for answer in found) == 1
    assert all(answer == expected or "interrupted" in str(answer) or isinstance(answer, KeyboardInterrupt) for answer in found)
    assert model.complete(request) == expected


def test_the_graph_reaches_the_words_of_a_prompt(asked, path):
    model = asked("retrograde")
    found = attribution(model, "the cat is", "true", instead="false")
    plain = rg.models.load(path, context=192)
    expected = attribution(plain, "the cat is", " true", instead=" false")
    assert found.words == expected.words and found.logprob == pytest.approx(expected.logprob, abs=1e-6)
    prompt = text.Variable("a cat", role="prompt", requires_grad=True)
    word = text.Variable(["the dog", "in a house"], role="word")
    logprobs = text.logprobs(model, [("user", [prompt, "{word}"])], ["true", "false"], {"word": word}, words=2)
    rg.nn.functional.cross_entropy(logprobs, rg.tensor([0, 1])).backward()
    said = prompt.grad[0].data
    slopes = (np.asarray(rg.softmax(logprobs.detach(), 1)) - np.eye(2)) / 2
    for text_of, slope in zip(word.data, slopes, strict=True):
        effects = sorted(model.attribution(text.Request.of(f"a cat\n{text_of}", labels=["true", "false"]), slope).words, key=lambda pair: -abs(pair[1]))
        assert all(f"{name} ({effect:+.2g})" in said for name, effect in effects[:2])
    assert text.Cached(model, path.parent).has_gradients
    with pytest.raises(ArgumentError, match="how many words"):
        text.logprobs(model, "a", ["true", "false"], words=-1)


def test_rounded_activations_are_asked_for_and_kept_apart_from_floats(network, tmp_path):
    path = written_models.llama(tmp_path / "m.gguf", network, "Q8_0", vocabulary=written_models.all_bytes(280))
    usual, rounding = [text.LocalModel(path, engine="retrograde", context=160, is_chat=False, activations=activations) for activations in (None, "int8")]
    assert rounding.engine is not usual.engine and rounding.identity == f"{usual.identity} activations=int8"
    same = TextModel(rg.models.load(path, context=160, activations="int8"))
    long = "the dog and the cat in the house and in the other house"
    prompts = [*PROMPTS, f"{long} is", f"{long} was"]  # the last one is read on from where the two part
    scores = [rounding.label_logprobs(prompt, LABELS) for prompt in prompts]
    assert scores == [same.label_logprobs(prompt, LABELS) for prompt in prompts]
    for found, prompt in zip(scores, prompts, strict=True):
        expected = usual.label_logprobs(prompt, LABELS)
        assert found != expected
        np.testing.assert_allclose(found, expected, atol=0.3)
    options = {"max_tokens": 8, "grammar": "root ::= [a-z ]+"}
    assert rounding("the cat", **options) == same("the cat", **options)
    assert pickle.loads(pickle.dumps(rounding)).label_logprobs(PROMPTS[0], LABELS) == scores[0]


def test_words_are_those_of_the_loss_by_finite_differences(asked):
    model = asked("retrograde")
    request = text.Request.of("the cat is", labels=["true", "false"])
    found, engine = model.attribution(request, np.array([0.7, -0.2])), model.engine
    network, (prompt, wholes) = engine._model.network, model.scored(request)
    vectors = np.asarray(network.embedded(rg.tensor([prompt])).detach())[0]
    for place in range(len(prompt)):
        moved = []
        for sign in (1, -1):
            changed = vectors.copy()
            changed[place] *= 1 + sign * 2e-2
            with rg.no_grad():
                logprobs = rg.models.attribution.__globals__["label_logprobs"](
                    network, [(rg.tensor(changed), whole[len(prompt):]) for whole in wholes])
                moved.append(float(0.7 * logprobs[0] - 0.2 * logprobs[1]))
        assert found.effects[place] == pytest.approx((moved[0] - moved[1]) / 4e-2, rel=5e-2, abs=2e-2)


@pytest.mark.skipif("llama.cpp" not in is_there, reason="the extra `local` brings the runtime")
def test_an_engine_without_gradients_says_which_has_them(asked):
    model = asked("llama.cpp")
    with pytest.raises(UnsupportedError, match='engine="retrograde"'):
        attribution(model, "the cat is", "true")
    with pytest.raises(UnsupportedError, match='engine="retrograde"'):
        text.logprobs(model, "the cat is", ["true", "false"], words=3)
    with pytest.raises(ModelError, match="reads folders"):
        text.LocalModel(".")("x")


def test_a_folder_is_run_and_a_model_that_is_loaded_is_the_same(path, network, tmp_path):
    library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
    folder_of(tmp_path, network, vocab_size=280, max_position_embeddings=256)
    tokenizer = library.Tokenizer(library.models.BPE({name: i for i, name in enumerate(["<unk>", "<s>", *"the</s"])}, [], unk_token="<unk>"))
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    model = text.LocalModel(tmp_path, engine="retrograde")
    assert not model.has_chat and model.engine.tokens("he<s>", False) == [3, 4, 5, 7, 0] and model.engine.tokens("he<s>", True) == [3, 4, 1]
    same = TextModel(rg.models.load(tmp_path))
    assert model.label_logprobs("the", ["t", "he"]) == same.label_logprobs("the", ["t", "he"])
    identity = model.identity
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    again = text.LocalModel(tmp_path, engine="retrograde")
    assert again.has_chat and again.identity != identity


@pytest.mark.parametrize(("path_of", "options", "error", "message"), [
    (str, {"engine": "torch"}, ArgumentError, r"one of llama\.cpp, retrograde, got 'torch'"), (str, {"engine": None}, ArgumentError, "got None"),
    (str, {"context": 8}, ArgumentError, "at least 16"), (str, {"threads": 2}, ArgumentError, "set_num_threads"),
    (lambda path: rg.models.load(path), {}, ArgumentError, "TextModel takes a model"), (lambda path: 3, {}, ArgumentError, "got 3"),
    (lambda path: "nowhere.gguf", {}, ModelError, r"no weights at nowhere\.gguf"), (str, {"context": 10**6}, ArgumentError, "made for"),
    (lambda path: path.parent, {}, ModelError, r"cannot run .*config\.json"),
    (str, {"activations": "int4"}, ArgumentError, 'must be "int8", or None for floats as they are, got \'int4\''),
    (str, {"activations": "int8"}, ArgumentError, "for layers with quantised weights, of which this model has none"),
    (str, {"activations": "int8", "engine": "llama.cpp"}, ArgumentError, "rounds activations to 8 bits in any case")])
def test_what_cannot_work_is_an_error_of_ours(path, path_of, options, error, message):
    with pytest.raises(error, match=message):
        text.LocalModel(path_of(path), **{"engine": "retrograde", **options})("x")


@both
def test_a_file_that_the_engine_cannot_run_is_an_error_of_the_model(engine, tmp_path, path):
    for name, content in (("empty", b""), ("other", b"root:x:0:0" * 50), ("cut", path.read_bytes()[:20000])):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError, match="cannot run"):
            text.LocalModel(tmp_path / name, engine=engine)("x")
        found = text.complete_all(text.LocalModel(tmp_path / name, engine=engine), ["x"])
        assert isinstance(found[0], ModelError)


def test_a_missing_library_names_the_extra(path, monkeypatch):
    load = rg.extras.importlib.import_module

    def missing(name):
        if name.startswith("retrograde"):
            return load(name)
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(rg.extras.importlib, "import_module", missing)
    for options in ({}, {"json_schema": SCHEMA, "is_chat": False}):
        model = text.LocalModel(path, engine="retrograde", context=128, is_chat=options.pop("is_chat", None))
        with pytest.raises(rg.errors.MissingExtraError, match=r"pip install 'retrograde\[models\]'"):
            model("x", **options)


def test_engines_of_others_are_found_by_name(path):
    class Echo:
        max_concurrency, has_gradients = 2, False
        opened = classmethod(lambda cls, path, context, threads, activations: cls())
        has_template = classmethod(lambda cls, path: False)
        tokens = lambda self, content, is_chat: content.split()
        complete = lambda self, tokens, **options: (" ".join(tokens), "stop", len(tokens))

    rg.extras.engines["echo"] = lambda: Echo
    try:
        model = text.LocalModel(path, engine="echo")
        assert (model("a cat"), model.max_concurrency) == ("a cat", 2)
    finally:
        del rg.extras.engines["echo"]
