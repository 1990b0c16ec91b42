import json_model
import numpy as np
import pytest

import retrograde as rg
from retrograde.models.generation_settings import settings_of
from retrograde.models.sampling import Sampling


@pytest.fixture(scope="module")
def network():
    return json_model.model().network


def test_settings_of_drawing_count_where_tokens_are_drawn():
    facts = {"temperature": 0.5, "top_k": 4, "top_p": 0.9, "min_p": None, "repetition_penalty": 1.2, "max_length": 9, "eos_token_id": [1, 2]}
    assert settings_of({**facts, "do_sample": True}) == {"temperature": 0.5, "top_k": 4, "top_p": 0.9, "repetition_penalty": 1.2}
    assert settings_of({**facts, "do_sample": False}) == settings_of(facts) == {"repetition_penalty": 1.2}
    assert settings_of({"do_sample": True}) == {"temperature": 1.0} and settings_of({}) == {}


def test_a_text_is_written_by_the_settings_unless_a_call_says_otherwise(network):
    drawn = rg.models.Model(network, json_model.tokenizer(), settings=settings_of({"do_sample": True, "temperature": 2.0}), context=64)
    plain = rg.models.Model(network, json_model.tokenizer(), context=64)
    options = {"max_tokens": 8, "seed": 3, "ignore_end": True}
    assert drawn.generate("the", **options) == plain.generate("the", temperature=2.0, **options) != plain.generate("the", **options)
    assert drawn.generate("the", temperature=0.0, **options) == plain.generate("the", **options)


def test_repetition_is_punished_where_the_likeliest_token_is_taken_too(network):
    settings = settings_of({"repetition_penalty": 1.8})
    model = rg.models.Model(network, json_model.tokenizer(), settings=settings, context=64)
    written = model.complete([[1, 4]], max_tokens=6, ignore_end=True)[0]
    tokens = [1, 4]
    for token in written.tokens:  # each by the whole network, without a cache
        with rg.no_grad():
            logits = network(rg.tensor([tokens])).numpy()[0, -1]
        assert token == Sampling(repetition_penalty=1.8).chosen(logits, tokens, np.random.default_rng(0))
        tokens.append(token)


@pytest.mark.parametrize(("name", "value"), [
    ("num_beams", 4), ("no_repeat_ngram_size", 3), ("suppress_tokens", [3]), ("begin_suppress_tokens", [3, 4]), ("forced_bos_token_id", 0),
    ("bad_words_ids", [[3]]), ("min_new_tokens", 5), ("stop_strings", ["the"]), ("guidance_scale", 1.5)])
def test_what_a_file_asks_for_and_is_not_here_is_refused_where_a_text_is_written(network, name, value):
    model = rg.models.Model(network, json_model.tokenizer(), settings=settings_of({name: value}), context=64)
    with pytest.raises(rg.errors.ArgumentError, match=f"asks for {name}"):
        model.generate("the", max_tokens=2)
    assert model.logprobs("the", ["a"]) and rg.models.TextModel(model)("the", max_tokens=2) is not None
    del model.settings[name]
    assert model.generate("the", max_tokens=2) is not None


@pytest.mark.parametrize("setting", [
    {"temperature": True}, {"top_k": True}, {"top_p": True}, {"min_p": False}, {"temperature": 10**400}, {"repetition_penalty": 10**400},
    {"repetition_penalty": 1e-320}])
def test_settings_of_draws_are_numbers_that_logits_can_be_divided_by(setting):
    with pytest.raises(rg.errors.ArgumentError, match=f"{next(iter(setting))} must be"):
        Sampling(**setting)


def test_values_that_ask_for_nothing_are_none():
    nothing = {"num_beams": 1, "no_repeat_ngram_size": 0, "min_length": 0, "suppress_tokens": [], "bad_words_ids": None, "guidance_scale": 1.0,
               "typical_p": 0.5, "epsilon_cutoff": 1e-3, "length_penalty": 1.0, "early_stopping": False}
    assert settings_of(nothing) == {}
    assert settings_of({"do_sample": True, "typical_p": 0.5}) == {"temperature": 1.0, "typical_p": 0.5}
