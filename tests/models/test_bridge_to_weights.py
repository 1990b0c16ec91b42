"""Gradients of an answer's log-probability in the vectors of a prompt, and soft prompts."""

import json_model
import numpy as np
import older_networks
import pytest
import reference

import retrograde as rg
from retrograde.models import Model, Pieces, SoftPrompt, TextModel, Tokenizer, attribution
from retrograde.models.attribution import effects, label_logprobs

PROMPT, LABELS = "the cat is", [" in", " the dog", "."]


@pytest.fixture(scope="module")
def model():
    return Model(reference.network_of("llama"), reference.tokenizer(), context=48)


def test_a_prompt_without_tokens_is_refused(model):
    with pytest.raises(rg.errors.ArgumentError, match="this one is empty"):
        effects(model, [], [[3]], np.ones(1), [])


@pytest.mark.parametrize("which", ["llama", "gemma3", "gpt2", "quantised"])
def test_effects_of_tokens_are_slopes_by_finite_differences(which):
    network = older_networks.gpt2_of() if which == "gpt2" else reference.network_of("gemma3" if which == "gemma3" else "llama")
    model = Model(rg.quantize(network, "int8") if which == "quantised" else network, reference.tokenizer(), context=48)
    found = attribution(model, PROMPT, " the dog")
    tokens = model.tokenizer.encode(PROMPT)
    ending = model.tokenizer.encode(PROMPT + " the dog")[len(tokens) :]
    assert found.logprob == pytest.approx(model.logprobs(PROMPT, [" the dog"])[0], abs=1e-3)
    assert len(found.tokens) == len(found.effects) == len(found.norms) == len(tokens)
    vectors = np.asarray(model.network.embedded(rg.tensor([tokens])).detach())[0]
    for place in range(len(tokens)):
        moved = []
        for sign in (1, -1):
            changed = vectors.copy()
            changed[place] *= 1 + sign * 2e-2
            with rg.no_grad():
                moved.append(float(label_logprobs(model.network, [(rg.tensor(changed), ending)])[0]))
        assert found.effects[place] == pytest.approx((moved[0] - moved[1]) / 4e-2, rel=5e-2, abs=2e-2)


def test_a_difference_of_two_answers_has_the_difference_of_their_effects(model):
    one, other = attribution(model, PROMPT, " in"), attribution(model, PROMPT, ".")
    both = attribution(model, PROMPT, " in", instead=".")
    np.testing.assert_allclose(both.effects, np.subtract(one.effects, other.effects), atol=1e-3)
    assert both.logprob == pytest.approx(one.logprob - other.logprob, abs=1e-4)


def test_the_table_has_a_row_for_each_token_and_words_add_up(model):
    found = attribution(model, PROMPT, " in")
    lines = str(found).splitlines()
    assert len(lines) == len(found.tokens) + 2
    assert f"{found.effects[1]:+.3f}" in lines[2]
    assert [word for word, _ in found.words] == ["the", "cat", "is"]
    assert sum(effect for _, effect in found.words) == pytest.approx(sum(found.effects[1:]), abs=1e-6)  # the first begins the text


def test_messages_are_looked_at_as_the_template_lays_them_out():
    model = json_model.model()
    found = attribution(model, [{"role": "user", "content": "the cat"}], "true")
    assert "".join(found.tokens).endswith("user:the cat;assistant:")


def test_a_network_keeps_its_gradients_and_its_parameters_stay_learned(model):
    attribution(model, PROMPT, " in")
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.network.parameters())
    with pytest.raises(rg.errors.ArgumentError, match="shares a token"):
        attribution(model, "the cat th", "e")
    with pytest.raises(rg.errors.ArgumentError, match="not empty"):
        attribution(model, PROMPT, "")
    assert all(parameter.requires_grad for parameter in model.network.parameters())


def test_log_probabilities_behind_a_soft_prompt_are_those_of_the_cached_loop(model):
    soft = SoftPrompt(model, 5, seed=3)
    found = soft([PROMPT, "a"], LABELS).detach().numpy()
    expected = [model.logprobs(prompt, LABELS, soft_prompt=soft) for prompt in (PROMPT, "a")]
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert np.abs(found[0] - model.logprobs(PROMPT, LABELS)).max() > 0.05


def test_a_soft_prompt_of_a_text_is_that_text(model):
    """Without a token that begins texts, vectors of tokens are the tokens."""
    plain = Model(model.network, reference.tokenizer(), context=48)
    plain.tokenizer.adds_start = False
    tokens = plain.tokenizer.encode("the cat")
    soft = SoftPrompt(plain, len(tokens), text="the cat")
    options = {"max_tokens": 10, "temperature": 1.0, "seed": 3, "ignore_end": True}
    assert plain.generate(plain.tokenizer.encode("in a"), soft_prompt=soft, **options) == plain.generate(
        [*tokens, *plain.tokenizer.encode("in a")], **options)
    together = plain.complete(["a", "in a"], soft_prompt=soft, seed=[1, 3], temperature=1.0, max_tokens=10, ignore_end=True)
    assert together[1].text == plain.generate("in a", soft_prompt=soft, **options)


@pytest.mark.parametrize("which", ["llama", "quantised"])
def test_training_a_soft_prompt_raises_the_log_probability_of_labels_and_changes_nothing_else(which):
    network = reference.network_of("llama")
    model = Model(rg.quantize(network, "int8") if which == "quantised" else network, reference.tokenizer(), context=48)
    before = {name: np.array(tensor.detach()) for name, tensor in model.network.state_dict().items()}
    soft, prompts, labels = SoftPrompt(model, 4), ["the cat", "a dog in", "what"], [" in", "."]
    optimizer, wanted = rg.optim.Adam(soft.parameters(), 5e-2), rg.tensor([0, 1, 0])
    assert [name for name, _ in soft.named_parameters()] == ["vectors"]
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        loss = rg.nn.functional.cross_entropy(soft(prompts, labels), wanted)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < 0.3 * losses[0]
    assert [model.choose(prompt, labels, soft) for prompt in prompts] == [" in", ".", " in"]
    for name, tensor in model.network.state_dict().items():
        np.testing.assert_array_equal(np.array(tensor.detach()), before[name])


@pytest.mark.parametrize("which", ["llama", "quantised"])
def test_a_step_of_a_soft_prompt_can_be_compiled(which):
    network, found = reference.network_of("llama"), []
    model = Model(rg.quantize(network, "int8") if which == "quantised" else network, reference.tokenizer(), context=48)
    for compiled in (lambda step: step, rg.jit):
        soft = SoftPrompt(model, 3, seed=1)
        optimizer = rg.optim.Adam(soft.parameters(), 5e-2)

        @compiled
        def step(soft=soft, optimizer=optimizer):
            optimizer.zero_grad()
            loss = rg.nn.functional.cross_entropy(soft(["the cat", "a dog in"], [" in", "."]), rg.tensor([0, 1]))
            loss.backward()
            optimizer.step()
            return loss.detach()

        found.append([*[float(step()) for _ in range(5)], *np.ravel(soft.vectors.detach())])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3, atol=1e-3)


def test_gradients_in_a_soft_prompt_are_those_of_finite_differences(model):
    soft = SoftPrompt(model, 3, seed=1)
    loss = lambda: (soft([PROMPT, "a"], LABELS) * rg.tensor([[1.0, -2.0, 0.5], [0.3, 1.0, -1.0]])).sum()
    loss().backward()
    change, slopes = np.random.default_rng(0).standard_normal(soft.vectors.shape).astype(np.float32) * 1e-2, []
    with rg.no_grad():
        for sign in (1, -1):
            soft.vectors += sign * change
            slopes.append(float(loss()))
            soft.vectors -= sign * change
    assert float((soft.vectors.grad * change).sum()) == pytest.approx((slopes[0] - slopes[1]) / 2, rel=2e-2)


def test_a_soft_prompt_is_kept_beside_the_text_and_serves_text_variables(model, tmp_path):
    soft = SoftPrompt(model, 4, seed=5)
    soft.save(tmp_path / "prompt.safetensors")
    again = SoftPrompt.load(model, tmp_path / "prompt.safetensors")
    np.testing.assert_array_equal(again.vectors.detach(), soft.vectors.detach())
    asked = TextModel(model, soft_prompt=again)
    found = rg.text.logprobs(asked, ["a cat"], ["good", "bad"])
    np.testing.assert_allclose(found.detach(), model.logprobs("a cat", [" good", " bad"], soft), rtol=1e-5)
    assert asked("a", max_tokens=5) == model.generate("a", soft_prompt=soft, max_tokens=5, stop="\n\n").lstrip(" ")
    rg.save({"vectors": np.zeros((3, 7), np.float32)}, tmp_path / "other.safetensors")
    with pytest.raises(rg.errors.CheckpointError, match=r"\(count, 32\)"):
        SoftPrompt.load(model, tmp_path / "other.safetensors")


def test_one_backward_gives_words_to_a_prompt_and_numbers_to_the_soft_prompt_before_it(model):
    soft, same = SoftPrompt(model, 4, seed=5), SoftPrompt(model, 4, seed=5)
    asked = TextModel(model, soft_prompt=soft)
    prompt = rg.text.Variable("the dog", role="prompt", requires_grad=True)
    words = rg.text.Variable(["a cat", "in a"], role="words")
    found = rg.text.logprobs(asked, [("user", [prompt, "{words}"])], ["good", "bad"], {"words": words})
    rg.nn.functional.cross_entropy(found, rg.tensor([0, 1])).backward()
    assert "good" in prompt.grad[0].data or "bad" in prompt.grad[0].data
    expected = rg.nn.functional.cross_entropy(same([f"the dog\n{text}" for text in words.data], [" good", " bad"]), rg.tensor([0, 1]))
    expected.backward()
    np.testing.assert_allclose(soft.vectors.grad, same.vectors.grad, rtol=1e-3, atol=1e-5)


def test_kept_answers_are_those_of_the_vectors_of_their_time(model, tmp_path):
    soft = SoftPrompt(model, 4, seed=5)
    cached = rg.text.Cached(TextModel(model, soft_prompt=soft), tmp_path)
    before, again = [cached.label_logprobs("a cat", ["good", "bad"]) for _ in range(2)]
    with rg.no_grad():
        soft.vectors += 0.1
    assert before == again != cached.label_logprobs("a cat", ["good", "bad"])


def test_soft_prompts_that_cannot_be_are_refused(model):
    for options in ({"count": 0}, {"count": 48}, {"text": ""}):
        with pytest.raises(rg.errors.ArgumentError):
            SoftPrompt(model, **options)
    soft = SoftPrompt(model, 40)
    for prompts in ("a", [], ["a cat in the dog"]):
        with pytest.raises(rg.errors.ArgumentError):
            soft(prompts, LABELS)
    with pytest.raises(rg.errors.ArgumentError, match="does not fit"):
        model.generate("a cat in the dog", soft_prompt=soft)


def test_a_label_that_is_one_token_with_the_whole_prompt_is_told_as_such():
    """Of a model that puts no token before texts: nothing of the prompt is left to be read."""
    tokenizer = Tokenizer(Pieces(["<unk>", "a", "x", "ax"], np.zeros(4), [2, 1, 1, 1], adds_space=False, unknown=0))
    model = Model(reference.network_of(), tokenizer)
    for ask in (lambda: model.logprobs("a", ["x"]), lambda: attribution(model, "a", "x")):
        with pytest.raises(rg.errors.ArgumentError, match=r"label .*shares a token with the end of the prompt; put the space"):
            ask()
    with pytest.raises(rg.errors.ArgumentError, match="this one is empty"):
        model.logprobs("", ["x"])
    # Behind a soft prompt something was read.
    soft = SoftPrompt(model, 3)
    with rg.no_grad():
        np.testing.assert_allclose(model.logprobs("", ["x", "ax"], soft), soft([""], ["x", "ax"])[0], rtol=1e-4)
        (written,) = model.complete([""], soft_prompt=soft, max_tokens=4, ignore_end=True)
        assert len(written.tokens) == 4
        assert written.tokens[0] == int(model.network.logits(soft.vectors[None])[0, -1].argmax())
    asked = TextModel(model, soft_prompt=soft)
    np.testing.assert_allclose(asked.label_logprobs("", ["x", "ax"]), model.logprobs("", ["x", "ax"], soft), rtol=1e-4)


@pytest.mark.parametrize("is_asked", [False, True])
@pytest.mark.parametrize("content", ["the user", "a", "ü é", " the cat "])
def test_words_of_messages_are_told_and_those_of_the_template_are_not(content, is_asked):
    model = json_model.model()
    model.template = ("<s>{% for m in messages %}{{ m.role }} says a:\n{{ m.content | trim }}</s>{% endfor %}assistant user: the")
    messages = [{"role": "user", "content": "in"}, {"role": "user", "content": content}]
    found = attribution(TextModel(model) if is_asked else model, messages, "true")
    assert [found.tokens[0], found.tokens.count("<s>"), found.tokens.count("</s>")] == ["<s>", 1, 2]
    if "ü" not in content:  # letters of several tokens
        assert [word for word, _ in found.words] == ["in", *content.split()]
        assert "".join(found.tokens) == model.chat_text(messages)
    places = [i for i, token in enumerate(found.tokens) if token == "</s>"]
    inner = [*found.is_word[places[0] + 1 : places[1]]]
    assert sum(inner) == len(model.tokenizer.encode(content.strip(), is_start=False))
    assert not any(found.is_word[places[1] :])
    assert str(found).splitlines()[1].startswith("'<s>'")


def test_a_template_that_changes_messages_leaves_all_words_told():
    model = json_model.model()
    model.template = "{% for m in messages %}{{ m.content | upper }};{% endfor %}"
    found = attribution(model, [{"role": "user", "content": "the cat"}], "true")
    assert [word for word, _ in found.words] == ["THE", "CAT;"]
