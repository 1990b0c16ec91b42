"""Text to numbers and back: embeddings, label probabilities, scores; prompt and weights trained together."""

import numpy as np
import pytest
from tiny_models import Ruled, failing, last

import retrograde as rg
from retrograde import nn, text
from retrograde.errors import ArgumentError, DTypeError, ModelError
from retrograde.text import HashedWords, Parameter, TextualGradientDescent, Validation, Variable
from retrograde.text.models.request import Completion


def test_scores_become_tensors_and_their_gradient_numbers():
    score = Variable([1, 0, 2], role="score", requires_grad=True)
    x = text.to_tensor(score, rg.float64)
    (x * x).sum().backward()
    assert x.dtype == rg.float64 and score.grad[0].data == [2.0, 0.0, 4.0]
    with pytest.raises(DTypeError, match="'high'"):
        text.to_tensor(Variable(["high"], role="score"))


def test_a_loss_over_scores_asks_only_for_what_lowers_it():
    answer = Variable(["a", "b", "c", "d"], role="answer", requires_grad=True)
    found = text.exact_match(answer, ["a", "x", "y", "d"])
    scores = text.to_tensor(found.score)
    (scores * rg.tensor([-1.0, -1.0, 0.0, 2.0])).sum().backward()
    (said,) = answer.grad
    assert said.data[:3] == ["", 'it should be "x", not "b"', ""] and "a lower score is wanted" in said.data[3]


def test_hashed_words_count_words_and_weigh_rare_ones():
    words = HashedWords(64)
    a, b, c = words(["red apple", "Apple, red!", "blue sky"])
    np.testing.assert_array_equal(a, b)
    assert np.linalg.norm(a) == pytest.approx(1) and abs(a @ c) < 0.5
    fitted = HashedWords(64).fit(["the cat", "the dog", "the owl"])
    slopes = dict(fitted.explain("the cat", np.ones(64)))
    assert abs(slopes["cat"]) > abs(slopes["the"])
    with pytest.raises(ArgumentError, match="at least 1"):
        HashedWords(0)


def test_explained_words_are_the_derivative_of_the_loss_in_their_weight():
    words, slopes = HashedWords(32), np.random.default_rng(0).normal(size=32)
    total = sum(slope for _, slope in words.explain("a good good film", slopes))
    assert total == pytest.approx(words(["a good good film"])[0] @ slopes)


def test_embeddings_hand_back_which_samples_matter_and_which_words():
    x = Variable(["good film", "bad film", "film"], role="review", requires_grad=True)
    embedding = HashedWords()
    good, bad = embedding(["good"])[0], embedding(["bad"])[0]
    vectors = text.embed(x, embedding)
    assert vectors.shape == (3, 256) and vectors.dtype == rg.float32
    (vectors @ rg.tensor((bad - good).astype(np.float32)) * rg.tensor([1.0, 1.0, 0.0])).sum().backward()
    (said,) = x.grad
    assert "lower it: good" in said.data[0] and "-0.71" in said.data[0] and "raise it: bad" in said.data[1] and said.data[2] == ""
    single = Variable("good film", role="review", requires_grad=True)
    text.embed(single).sum().backward()
    assert isinstance(single.grad[0].data, str)


def test_any_callable_embeds():
    x = Variable(["ab", "abc"], role="word", requires_grad=True)
    lengths = text.embed(x, lambda texts: [[len(t)] for t in texts])
    lengths.sum().backward()
    assert lengths.tolist() == [[2.0], [3.0]] and "+2" in x.grad[0].data[0]
    with pytest.raises(ArgumentError, match="one vector for each text"):
        text.embed(x, lambda texts: [1.0])


LABELS = ("negative", "positive")


class Labelled(Ruled):
    """Tells probabilities of labels: better with a better prompt, and always too sure of "positive"."""

    def __init__(self):
        super().__init__(self._answer, "labelled")

    def _answer(self, request):
        known = {"great": 1, "awful": -1} if "carefully" in request.messages[0].content else {"great": 1}
        side = sum(known.get(word, 0) for word in last(request).split())
        logits = np.array([0.0, side + 1.5])
        logs = logits - np.logaddexp(*logits)
        return Completion(LABELS[int(logs.argmax())], logprobs=tuple(logs.tolist()))


ITEMS = [("great film", 1), ("awful film", 0), ("great food", 1), ("awful food", 0), ("awful day", 0), ("great day", 1)]


def parts(system, items=ITEMS, **options):
    conversation = [("system", system), ("user", "{review}")]
    logs = text.logprobs(Labelled(), conversation, LABELS, {"review": [review for review, _ in items]}, **options)
    return logs, rg.tensor(np.array([label for _, label in items]))


def test_a_numeric_loss_tells_the_prompt_which_items_lost_and_in_which_direction():
    system = Parameter("Read.", role="system prompt")
    logs, labels = parts(system)
    assert logs.shape == (6, 2) and np.allclose(np.exp(logs.numpy() if not logs.requires_grad else logs.detach().numpy()).sum(1), 1)
    nn.functional.cross_entropy(logs, labels).backward()
    said = system.grad[0].data
    assert 'the label "negative" should be likelier' in said and "awful film" in said
    assert said.index("awful film") < said.index("awful food")


def test_the_feedback_grows_with_the_derivative():
    system = Parameter("Read.", role="system prompt")
    logs, _ = parts(system, ITEMS[:2])
    (logs * rg.tensor([[0.0, -1e-6], [-1.0, 0.5]])).sum().backward()
    said = system.grad[0].data
    assert "great film" not in said and "falls by 1 " in said


def test_a_failing_call_or_a_model_without_probabilities_is_an_error():
    with pytest.raises(ModelError, match="cut"):
        text.logprobs(Ruled(lambda request: failing()), "{x}", LABELS, {"x": ["a"]})
    with pytest.raises(ArgumentError, match="does not tell"):
        text.logprobs(Ruled(lambda request: "positive"), "{x}", LABELS, {"x": ["a"]})
    with pytest.raises(ArgumentError, match="two labels"):
        text.logprobs(Labelled(), "{x}", ["one"], {"x": ["a"]})
    with pytest.raises(ArgumentError, match="number 1 is missing"):
        text.logprobs(Labelled(), "{x}", LABELS, {"x": ["a", None]})


def fitted(trains_text, trains_numbers):
    """The held-out loss after training the prompt, the calibration, or both."""
    system, head = Parameter("Read.", role="system prompt"), nn.Linear(2, 2)
    with rg.no_grad():
        head.weight[...] = rg.eye(2)
        head.bias[...] = rg.zeros(2)
    loss = lambda items: nn.functional.cross_entropy(head(parts(system, items)[0]), parts(system, items)[1])

    def scores(items):
        with rg.no_grad():
            return [-float(loss([item])) for item in items]

    writer = Ruled(lambda request: "<NEW>Read carefully.</NEW>" if '"negative" should be likelier' in last(request) else "<NEW>Read.</NEW>")
    words = TextualGradientDescent([system], writer, validate=Validation(ITEMS, scores), level=1)
    numbers = rg.optim.SGD(head.parameters(), lr=0.5)
    for _ in range(20):
        words.zero_grad()
        numbers.zero_grad()
        loss(ITEMS).backward()
        if trains_text:
            words.step()
        if trains_numbers:
            numbers.step()
            words.forget_scores()
    held_out = [("great book", 1), ("awful book", 0), ("awful song", 0), ("great song", 1)]
    return -sum(scores(held_out)) / len(held_out)


def test_prompt_and_weights_trained_together_beat_either_alone():
    joint, words, numbers, neither = (fitted(*which) for which in ((True, True), (True, False), (False, True), (False, False)))
    assert joint < min(words, numbers) and max(words, numbers) < neither
