import copy
import pickle

import numpy as np
import pytest
import reference

import retrograde as rg
from retrograde.models import Model, TextModel


@pytest.fixture(scope="module")
def asked():
    return TextModel(Model(reference.network_of("llama"), reference.tokenizer(), context=64), "tiny")


def test_a_prompt_is_continued_as_the_model_does(asked):
    expected = asked.model.generate("the cat", max_tokens=9, stop="\n\n", temperature=0.0)
    assert asked("the cat", max_tokens=9) == expected.lstrip(" ")
    request = rg.text.models.request.Request.of("the cat", max_tokens=9)
    assert "".join(asked.stream(request)) == expected.lstrip(" ")
    found = asked.complete(request)
    assert (found.prompt_tokens, found.completion_tokens) == (len(asked.model.tokenizer.encode("the cat")), 9)


def test_samples_differ_and_come_again(asked):
    found = [asked("the cat", max_tokens=9, temperature=2.0, sample=sample) for sample in (0, 1, 0)]
    assert found[0] == found[2] != found[1]


def test_labels_have_log_probabilities_and_a_loss_of_them_gives_feedback(asked):
    prompt = rg.text.Variable("a cat", role="prompt", requires_grad=True)
    found = rg.text.logprobs(asked, [{"role": "user", "content": [prompt]}], ["good", "bad"])
    np.testing.assert_allclose(found.detach(), asked.model.logprobs("a cat", [" good", " bad"]), rtol=1e-5)
    (found[1] - found[0]).backward()
    assert "good" in prompt.grad[0].data or "bad" in prompt.grad[0].data


def test_a_grammar_binds_the_answer_and_one_that_is_none_is_an_error(asked):
    pytest.importorskip("llguidance", reason="comes with the extra `models`")
    assert asked("the", grammar='root ::= "th" [ai]') in ("tha", "thi")
    for strange in ("root ::= (", "start: nowhere", "root ::= foo"):
        with pytest.raises(rg.errors.ArgumentError, match="grammar"):
            asked("the", grammar=strange)


def test_another_soft_prompt_is_another_engine(asked):
    model = TextModel(asked.model)
    before, model.soft_prompt = model.label_logprobs("the", ["a", "in"]), rg.models.SoftPrompt(asked.model, 3)
    assert model.label_logprobs("the", ["a", "in"]) == pytest.approx(asked.model.logprobs("the", [" a", " in"], model.soft_prompt)) != before


def test_a_model_that_was_asked_comes_back_from_a_pickle(asked):
    model = TextModel(asked.model, "tiny", rg.models.SoftPrompt(asked.model, 3))
    before = model.label_logprobs("the", ["a", "in"]), model("the cat", max_tokens=4)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert (again.label_logprobs("the", ["a", "in"]), again("the cat", max_tokens=4)) == before
        assert again.identity == model.identity
