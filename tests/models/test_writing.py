import json_model
import numpy as np
import pytest
import reference

import retrograde as rg
from retrograde.models import Model, Sampling
from retrograde.models.reading import Reader
from retrograde.models.sampling import generator, log_softmax
from retrograde.models.writing import Text, Wish
from together import on_threads

PROMPTS = ["the cat", "in the", "a", "the dog is in the", "cat!", "what", "e", "in a the", "the b", "a dog in"]


@pytest.fixture(scope="module")
def model():
    return Model(reference.network_of("llama"), reference.tokenizer(), context=48)


@pytest.fixture(scope="module")
def quantised():
    return Model(rg.quantize(reference.network_of("gemma3"), "int8"), reference.tokenizer(), context=48)


def test_the_likeliest_tokens_are_those_of_the_whole_network_again_and_again(model):
    (written,) = model.complete(["the cat"], max_tokens=12, ignore_end=True)
    tokens = model.tokenizer.encode("the cat")
    for token, logprob in zip(written.tokens, written.logprobs, strict=True):
        logits = reference.logits_of(model.network, tokens)[-1]
        assert token == logits.argmax()
        assert logprob == pytest.approx(log_softmax(logits)[token], abs=1e-4)
        tokens.append(token)
    assert (written.finish_reason, written.prompt_tokens) == ("length", len(tokens) - 12)
    assert written.text == model.tokenizer.decode(written.tokens)


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_a_network_whose_logits_are_no_numbers_is_an_error(weight):
    damaged = Model(reference.network_of("llama"), reference.tokenizer(), context=48)
    with rg.no_grad():
        damaged.network.model.norm.weight[...] = weight
    for ask in (lambda: damaged.generate("the cat", max_tokens=3), lambda: damaged.generate("the cat", max_tokens=3, temperature=1.0),
                lambda: damaged.choose("the cat", [" is", " the"]), lambda: damaged.logprobs("the cat", [" is"])):
        with np.errstate(all="ignore"), pytest.raises(rg.errors.ModelError, match="weights are damaged"):
            ask()


@pytest.mark.parametrize("which", ["model", "quantised"])
def test_a_text_is_the_same_whatever_is_written_beside_it(which, request):
    model = request.getfixturevalue(which)
    options = {"max_tokens": 14, "temperature": 1.5, "top_p": 0.95}
    seeds = list(range(len(PROMPTS)))
    together = model.complete(PROMPTS, seed=seeds, **options)
    for prompt, seed, written in zip(PROMPTS, seeds, together, strict=True):
        assert model.complete([prompt], seed=seed, **options) == [written]
    assert model.complete(PROMPTS[::-1], seed=seeds[::-1], **options)[::-1] == together
    assert len({written.text for written in together}) > 5


WIDE = {"hidden_size": 320, "intermediate_size": 800, "head_dim": 64, "num_attention_heads": 5, "num_key_value_heads": 1}
#: No whole vectors anywhere.
ODD = {"hidden_size": 50, "intermediate_size": 33, "head_dim": 6, "num_attention_heads": 3, "num_key_value_heads": 1}


@pytest.mark.parametrize(("format", "activations", "sizes"), [
    (None, None, WIDE), ("int8", None, WIDE), ("q4", None, WIDE), ("BF16", None, WIDE), ("q4", "int8", WIDE), (None, None, ODD), ("F16", None, ODD)])
def test_logits_of_a_text_are_bitwise_the_same_in_batches_of_any_size(format, activations, sizes):
    network = reference.network_of("llama", vocab_size=1000, **sizes)
    reader = Reader(network if format is None else rg.quantize(network, format, activations=activations), 64)
    texts = np.random.default_rng(0).integers(0, 1000, (8, 9))
    lengths = [5, 8, 3, 8, 7, 2, 1, 6]

    def after(count):
        cache = reader.cache(count)
        for row in range(count):
            reader.read(cache, row, texts[row, : lengths[row]])
        return reader.advance(cache, [int(token) for token in texts[:count, 8]])

    found = after(8)
    np.testing.assert_array_equal(after(3), found[:3, :])
    np.testing.assert_array_equal(after(1), found[:1, :])


def test_a_text_is_the_same_on_any_number_of_threads(quantised):
    found = on_threads(lambda: quantised.complete(PROMPTS[:3], max_tokens=8, temperature=1.0, seed=3))
    assert found[0] == found[1] == found[2]


def test_another_seed_gives_another_text(model):
    texts = [model.generate("the", max_tokens=20, temperature=2.0, seed=seed) for seed in (0, 1, 0)]
    assert texts[0] == texts[2] != texts[1]


def test_pieces_of_a_stream_are_the_text(model):
    options = {"max_tokens": 20, "temperature": 1.0, "seed": 5, "ignore_end": True}
    pieces = list(model.generate("the", stream=True, **options))
    assert len(pieces) > 5
    assert "".join(pieces) == model.generate("the", **options)


def test_a_stop_ends_a_text_before_it_and_is_never_streamed(model):
    options = {"max_tokens": 30, "temperature": 1.0, "seed": 2, "ignore_end": True}
    whole = model.generate("the", **options)
    stop = whole[9:13]
    expected = whole[: whole.index(stop)]
    assert model.generate("the", stop=stop, **options) == expected
    assert model.generate("the", stop=["never met", stop], **options) == expected
    assert "".join(model.generate("the", stop=stop, stream=True, **options)) == expected
    assert model.complete(["the"], stop=stop, **options)[0].finish_reason == "stop"


@pytest.mark.parametrize(("written", "most"), [(["the", "<0xC3>", "</s>"], 9), (["the", "<0xC3>"], 2)])
def test_a_stop_is_seen_in_what_the_last_token_left_of_a_letter(written, most):
    """A token that ends a text, and the greatest length, settle what waited for the rest of the letter."""
    tokenizer = json_model.tokenizer()
    text = Text(None, Wish([1], most, Sampling(), ("e\ufffd",), frozenset({2}), 0), tokenizer)
    pieces = [text.take(np.eye(280, dtype=np.float32)[tokenizer.library.numbers[name]]) for name in written]
    assert ("".join(pieces), text.text, text.reason) == ("th", "th", "stop")


def test_the_token_that_ends_a_text_ends_it_unless_it_is_ignored(model):
    tokens = model.complete(["the"], max_tokens=10, ignore_end=True)[0].tokens
    end = tokens[4]
    ending = Model(model.network, reference.tokenizer(), context=48)
    ending.tokenizer.ends = (end,)
    (written,) = ending.complete(["the"], max_tokens=10)
    assert written.tokens == tokens[: tokens.index(end)]
    assert written.finish_reason == "stop"
    assert ending.complete(["the"], max_tokens=10, ignore_end=True)[0].tokens == tokens


def test_a_text_ends_where_the_context_does(model):
    (written,) = model.complete(["the"], max_tokens=100, ignore_end=True)
    # The last token is written and not read.
    assert len(written.tokens) + written.prompt_tokens == 49
    assert written.finish_reason == "length"
    with pytest.raises(rg.errors.ArgumentError, match="does not fit"):
        model.generate("a " * 60)


def test_nothing_is_written_where_nothing_is_wished(model):
    assert model.generate("the", max_tokens=0) == ""
    assert model.generate([]) == []
    assert [w.text for w in model.complete(["the", "a"], max_tokens=0)] == ["", ""]


def test_log_probabilities_of_labels_are_those_of_their_tokens(model):
    found = model.logprobs("the cat", [" in", " the dog", "."])
    for label, logprob in zip([" in", " the dog", "."], found, strict=True):
        tokens, count = model.tokenizer.encode("the cat" + label), len(model.tokenizer.encode("the cat"))
        table = log_softmax(reference.logits_of(model.network, tokens))
        assert logprob == pytest.approx(sum(table[i - 1, tokens[i]] for i in range(count, len(tokens))), abs=1e-3)
    assert model.choose("the cat", [" in", " the dog", "."]) == [" in", " the dog", "."][int(np.argmax(found))]


@pytest.mark.parametrize(("options", "message"), [
    ({"temperature": -1}, "temperature"), ({"top_k": 1.5}, "top_k"), ({"top_p": 0}, "top_p"), ({"min_p": 2}, "min_p"),
    ({"repetition_penalty": 0}, "repetition_penalty"), ({"max_tokens": -1}, "max_tokens"), ({"stop": [""]}, "stop"), ({"seed": -1}, "seed"),
    ({"seed": [1, 2]}, "2 seeds"), ({"tokens": 3}, "no option tokens")])
def test_options_that_make_no_sense_are_refused(model, options, message):
    with pytest.raises(rg.errors.ArgumentError, match=message):
        model.generate("the", **options)


def test_prompts_may_be_tokens_and_are_checked(model):
    tokens = model.tokenizer.encode("the cat")
    assert model.generate(tokens, max_tokens=5) == model.generate("the cat", max_tokens=5)
    with pytest.raises(rg.errors.ArgumentError, match="from 0 to 63"):
        model.generate([64])
    with pytest.raises(rg.errors.ArgumentError, match="no chat template"):
        model.chat([{"role": "user", "content": "hi"}])
    with pytest.raises(rg.errors.ArgumentError, match="context must be"):
        Model(model.network, model.tokenizer, context=65)


LOGITS = np.random.default_rng(0).standard_normal(50).astype(np.float32) * 2


def drawn(sampling, seen=(), count=3000):
    rng = generator(7)
    return np.bincount([sampling.chosen(LOGITS, seen, rng) for _ in range(count)], minlength=50) / count


def test_tokens_are_drawn_as_often_as_they_are_likely():
    np.testing.assert_allclose(drawn(Sampling(temperature=1.0)), np.exp(log_softmax(LOGITS)), atol=0.03)
    np.testing.assert_allclose(drawn(Sampling(temperature=3.0)), np.exp(log_softmax(LOGITS / 3)), atol=0.03)


def test_what_is_unlikely_is_left_out():
    order, chances = np.argsort(-LOGITS), np.exp(log_softmax(LOGITS))
    assert set(np.flatnonzero(drawn(Sampling(temperature=1.0, top_k=4)))) == {*order[:4]}
    count = int(np.searchsorted(np.cumsum(chances[order]), 0.7)) + 1
    assert set(np.flatnonzero(drawn(Sampling(temperature=1.0, top_p=0.7)))) == {*order[:count]}
    assert set(np.flatnonzero(drawn(Sampling(temperature=1.0, min_p=0.3)))) == {*np.flatnonzero(chances >= 0.3 * chances.max())}
    both = np.flatnonzero(drawn(Sampling(temperature=1.0, top_k=10, top_p=0.5)))
    inner = chances[order[:10]] / chances[order[:10]].sum()
    assert set(both) == {*order[: int(np.searchsorted(np.cumsum(inner), 0.5)) + 1]}


def test_tokens_that_were_there_are_less_likely():
    best = int(LOGITS.argmax())
    assert Sampling(repetition_penalty=100.0).chosen(LOGITS, [best, best], None) != best
    assert Sampling(repetition_penalty=1.0).chosen(LOGITS, [best], None) == best
    worst = int(LOGITS.argmin())
    assert Sampling(repetition_penalty=1e-9).chosen(LOGITS, [worst], None) != best or LOGITS[worst] < 0


def test_of_equal_tokens_as_many_are_left_as_were_asked_for():
    found = {Sampling(temperature=1.0, top_k=3).chosen(np.zeros(10, np.float32), (), generator(seed)) for seed in range(60)}
    assert found == {0, 1, 2}
