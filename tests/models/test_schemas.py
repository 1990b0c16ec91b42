import json

import json_model
import numpy as np
import pytest

import retrograde as rg
from retrograde.models import Model
from retrograde.models.tokens import Tokenizer

pytest.importorskip("llguidance", reason="comes with the extra `models`")

PERSON = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 6}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
                                           "tall": {"type": "boolean"}}, "required": ["name", "age", "tall"], "additionalProperties": False}
LIST = {"type": "array", "items": {"enum": ["red", "green", 3, None]}, "minItems": 1, "maxItems": 3}
NESTED = {"type": "object", "properties": {"points": {"type": "array", "maxItems": 2, "items": {
    "type": "object", "properties": {"x": {"type": "integer", "minimum": -9, "maximum": 9}}, "required": ["x"], "additionalProperties": False}}},
          "required": ["points"], "additionalProperties": False}


def fits_person(found):
    return (set(found) == {"name", "age", "tall"} and isinstance(found["name"], str) and len(found["name"]) <= 6
            and type(found["age"]) is int and 0 <= found["age"] <= 150 and isinstance(found["tall"], bool))


def fits_list(found):
    return isinstance(found, list) and 1 <= len(found) <= 3 and all(part in ["red", "green", 3, None] for part in found)


def fits_nested(found):
    return set(found) == {"points"} and len(found["points"]) <= 2 and all(
        set(point) == {"x"} and type(point["x"]) is int and -9 <= point["x"] <= 9 for point in found["points"])


@pytest.fixture(scope="module")
def model():
    return json_model.model()


@pytest.mark.parametrize(("schema", "fits"), [(PERSON, fits_person), (LIST, fits_list), (NESTED, fits_nested)])
def test_every_text_is_json_that_fits_at_any_temperature(model, schema, fits):
    temperatures = [0.0, 1e-300, 0.7, 1.0, 10.0, 1e300]
    for temperature in temperatures:
        texts = model.generate(["the cat", "a"], schema=schema, temperature=temperature, seed=[3, 4], max_tokens=200)
        assert all(fits(json.loads(text)) for text in texts), texts
    assert fits(json.loads(model.generate("a", schema=json.dumps(schema), top_k=3, top_p=0.5, temperature=2.0, max_tokens=200)))


def test_without_a_schema_the_same_model_writes_no_json(model):
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(model.generate("the cat", max_tokens=30, ignore_end=True))


def test_a_text_that_is_cut_off_is_an_error_and_complete_says_so(model):
    options = {"schema": PERSON, "max_tokens": 5}
    with pytest.raises(rg.errors.AnswerError, match="not whole after 5 tokens"):
        model.generate("a", **options)
    with pytest.raises(rg.errors.AnswerError, match="not whole"):
        list(model.generate("a", stream=True, **options))
    assert model.complete(["a"], **options)[0].finish_reason == "length"


def test_a_text_that_the_context_cuts_off_says_so():
    small = json_model.model(context=16)
    with pytest.raises(rg.errors.AnswerError, match="the context of 16 tokens, for which the model was loaded, is full: see `context` of load"):
        small.generate("a", schema=PERSON, max_tokens=100)
    # The last token is written and not read.
    (written,) = small.complete(["a"], schema=PERSON, max_tokens=100)
    assert written.prompt_tokens + len(written.tokens) == 17


def test_texts_by_a_schema_are_the_same_whatever_is_written_beside_them(model):
    options = {"schema": NESTED, "temperature": 3.0, "max_tokens": 200}
    together = model.complete(["the cat", "a", "in"], seed=[0, 1, 2], **options)
    assert model.complete(["a"], seed=1, **options) == [together[1]]
    assert "".join(model.generate("a", seed=1, stream=True, **options)) == together[1].text


def test_log_probabilities_are_those_of_the_model_without_the_schema(model):
    (written,) = model.complete(["a"], schema=LIST, max_tokens=100, alternatives=2)
    assert written.finish_reason == "stop"
    tokens = model.tokenizer.encode("a")
    logits = model.network(rg.tensor([[*tokens, *written.tokens]]))[0].detach().numpy()
    expected = [float(rg.log_softmax(rg.tensor(row), 0)[token]) for row, token in zip(logits[len(tokens) - 1 :], written.tokens, strict=False)]
    np.testing.assert_allclose(written.logprobs, expected, atol=1e-3)
    assert [len(found) for found in written.alternatives] == [2] * len(written.tokens)
    assert written.alternatives[0][0][0] == logits[len(tokens) - 1].argmax()


@pytest.mark.parametrize(("options", "message"), [
    ({"schema": {"type": "odd"}}, "Invalid type"), ({"schema": {"not": {"type": "string"}}}, "Unimplemented"), ({"schema": 3}, "dictionary"),
    ({"schema": "{"}, "object of JSON Schema"), ({"schema": {"a": {1}}}, "written as JSON"), ({"schema": LIST, "stop": "]"}, "cut it off"),
    ({"schema": {"type": "integer", "minimum": 3, "maximum": 1}}, "greater"), ({"schema": True}, "^a schema is a dictionary, or its text in JSON, got True$"),
    ({"grammar": "root ::= foo"}, "no grammar in GBNF, nor in Lark: Rule 'foo' not found"), ({"grammar": ""}, "no grammar in GBNF"),
    ({"grammar": "root ::= ("}, "no grammar in GBNF")])
def test_schemas_that_cannot_be_kept_are_refused(model, options, message):
    with pytest.raises(rg.errors.ArgumentError, match=message):
        model.generate("a", **options)


def test_tokens_of_pairs_of_bytes_write_json_too():
    library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
    pairs = library.Tokenizer(library.models.BPE())
    pairs.pre_tokenizer, pairs.decoder = library.pre_tokenizers.ByteLevel(add_prefix_space=False), library.decoders.ByteLevel()
    pairs.train_from_iterator(['{"name": "the cat", "age": 3}'] * 5, library.trainers.BpeTrainer(
        vocab_size=280, special_tokens=["<end>"], show_progress=False, initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet()))
    model = Model(json_model.model().network, Tokenizer(pairs, ends=(0,)), context=256)
    for seed in range(3):
        assert fits_person(json.loads(model.generate("the", schema=PERSON, temperature=2.0, seed=seed, max_tokens=200)))


def test_a_tokenizer_that_puts_a_space_before_texts_writes_json_without_one():
    tokenizer = json_model.tokenizer()
    tokenizer.library.adds_space = True
    model = Model(json_model.model().network, tokenizer, context=256)
    assert fits_list(json.loads(model.generate("the", schema=LIST, temperature=2.0, max_tokens=100)))


def test_text_variables_ask_for_json_too(model):
    asked = rg.models.TextModel(Model(model.network, model.tokenizer, context=256))
    assert fits_list(json.loads(asked("a", json_schema=LIST, temperature=1.0)))
