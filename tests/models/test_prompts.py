import json_model
import numpy as np
import older_networks
import pytest
import reference

import retrograde as rg
from retrograde import models

OPTIONS = {"max_tokens": 4, "ignore_end": True}


def encoder():
    return models.Encoder(older_networks.bert_of(), reference.tokenizer())


@pytest.fixture(scope="module")
def model():
    return json_model.model(context=48)


def test_tokens_of_a_prompt_may_be_an_array_or_a_tensor(model):
    tokens = [1, 4, 270]
    expected = model.generate(tokens, **OPTIONS)
    for same in (tuple(tokens), np.array(tokens), np.array(tokens, np.uint16), rg.tensor(tokens), [np.int32(token) for token in tokens]):
        assert model.generate(same, **OPTIONS) == expected
        assert model.generate([same, "the"], **OPTIONS) == [expected, model.generate("the", **OPTIONS)]
    assert "".join(model.generate(np.array(tokens), stream=True, **OPTIONS)) == expected


@pytest.mark.parametrize("prompt", [
    None, 5, b"the", {"the": 1}, {"the"}, (text for text in ["the"]), [1.0, 2.0], ["the", 3], [True, False], [[1.5]], np.array([[1, 2]]),
    np.array([0.5]), [np.array([[1]])], [{"role": "user", "content": "the"}], [None], [["the"]], [-1], [280]])
def test_what_is_no_prompt_is_refused(model, prompt):
    """Bytes, sets and keys of dictionaries too, which could be taken for tokens or texts."""
    for ask in (model.generate, model.complete, lambda prompt, **options: model.generate(prompt, stream=True, **options)):
        with pytest.raises(rg.errors.ArgumentError, match="prompt"):
            ask(prompt, **OPTIONS)


@pytest.mark.parametrize("labels", ["good", {"good", "bad"}, {"good": 1}, (text for text in ["a", "b"]), [1, 2], None, [], ["a", ""], 5])
def test_labels_are_texts_in_an_order(model, labels):
    """A text is no list of its letters, and a set has another order in each process."""
    asked, soft = models.TextModel(model), models.SoftPrompt(model, 1)
    message = [("user", rg.text.Variable("the", role="prompt"))]
    for ask in (lambda: model.logprobs("the", labels), lambda: model.choose("the", labels), lambda: soft(["the"], labels),
                lambda: asked.label_logprobs("the", labels), lambda: rg.text.logprobs(asked, message, labels)):
        with pytest.raises(rg.errors.ArgumentError, match="label"):
            ask()


def test_labels_may_be_an_array(model):
    assert model.logprobs("the", np.array(["a", "b"])) == model.logprobs("the", ["a", "b"])
    assert models.TextModel(model).label_logprobs("the", np.array(["a", "b"])) == models.TextModel(model).label_logprobs("the", ["a", "b"])


@pytest.mark.parametrize("options", [
    {"temperature": "hot"}, {"temperature": [0.5, 1.0]}, {"temperature": 1j}, {"top_p": "1"}, {"min_p": "0"}, {"repetition_penalty": "2"},
    {"stop": 5}, {"stop": {"a"}}, {"stop": b"a"}, {"stop": ["a", 3]}, {"soft_prompt": 5}, {"soft_prompt": np.zeros((2, 32))}])
def test_options_of_another_kind_are_refused(model, options):
    name = next(iter(options))
    with pytest.raises(rg.errors.ArgumentError, match=name):
        model.generate("the", **options)
    if name in ("temperature", "top_p", "stop"):
        with pytest.raises(rg.errors.ArgumentError, match=name):
            models.TextModel(model)("the", **options)


def test_numbers_of_numpy_are_numbers(model):
    options = {"top_p": 0.5, "max_tokens": 3}
    asked = models.TextModel(model)
    assert asked("the", temperature=np.float32(0.5), seed=np.int64(3), **options) == asked("the", temperature=0.5, seed=3, **options)
    assert model.generate("the", temperature=np.float64(0.5), **options) == model.generate("the", temperature=0.5, **options)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: rg.quantize(json_model.model(), "int8"), "give its network"), (lambda: rg.quantize(None, "int8"), "NoneType"),
    (lambda: models.LoRA(None), "NoneType"), (lambda: models.LoRA(reference.network_of(), targets=5), "targets"),
    (lambda: models.LoRA(reference.network_of(), targets="(("), "regular expression"),
    (lambda: models.attribution(reference.network_of(), "the", "a"), "Decoder"), (lambda: models.load(5), "path"),
    (lambda: models.load("HuggingFaceTB/SmolLM2-135M"), "not downloaded"),
    (lambda: models.Model(reference.network_of(), reference.tokenizer(), context=3.5), "context"),
    (lambda: models.SoftPrompt(5), "a SoftPrompt takes a Model, which rg.models.load gives, got int"),
    (lambda: models.SoftPrompt.load(5, "soft.safetensors"), "a SoftPrompt takes a Model"),
    (lambda: models.SoftPrompt(encoder()), "a SoftPrompt needs a network that writes, such as Decoder or GPT2, got Bert"),
    (lambda: models.TextModel(5), "a TextModel takes a Model, .*got int"), (lambda: models.TextModel(encoder()), "a TextModel needs .*got Bert"),
    (lambda: models.TextModel(older_networks.bert_of()), "a TextModel takes a Model, .*got Bert"),
    (lambda: models.attribution(encoder(), "the", "a"), "attribution needs a network that writes, .*got Bert"),
    (lambda: models.Tokenizer(5), "of the library tokenizers, or of Pieces, got 5"), (lambda: models.save_adapter(5, "folder"), "takes a LoRA, got int"),
    (lambda: models.load_adapter(reference.network_of(), 5), "the path of a folder, got 5"),
    (lambda: models.LoRA(reference.network_of(), foo=1), "LoRA has no option foo; it has rank, alpha, dropout, targets, is_rank_stabilised"),
    (lambda: models.Config("llama", foo=1), "Config has no option foo; it has architecture, vocab_size, .*start_token$")])
def test_what_is_no_model_is_refused(make, message):
    with pytest.raises(rg.errors.RetrogradeError, match=message):
        make()


@pytest.mark.parametrize("seed", [-1, 2**64, "x", 1.5, True, None])
def test_seeds_are_integers_of_64_bits(model, seed):
    for make in (lambda: models.SoftPrompt(model, 4, seed=seed), lambda: models.RandomWeights(seed), lambda: model.generate("the", seed=seed),
                 lambda: models.finetune(model, "none.jsonl", "none", seed=seed)):
        with pytest.raises(rg.errors.ArgumentError, match=r"a seed is an integer from 0 to 2\*\*64 - 1, got"):
            make()
    assert len(models.SoftPrompt(model, 4, seed=2**64 - 1).vectors) == 4
