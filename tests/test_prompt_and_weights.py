"""The example that trains a prompt and weights together, on a model that is a little right and much too sure."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from retrograde.text import LanguageModel
from retrograde.text.models import Completion

WORDS = {"number": ("How", "year"), "person": ("Who",), "place": ("Where", "city"), "reason": ("Why", "cause")}


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).parents[1] / "examples" / "prompt_and_weights.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Biased(LanguageModel):
    """Knows the kind of a question after the longest prompt only in part, after others hardly, and always prefers one label."""

    name, max_concurrency = "biased", 1

    def complete(self, request):
        said = request.messages[-1].content
        question, strength = said.rpartition("Question: ")[2], 2.0 if "Say whether" in said else 0.4
        logits = np.array([strength * any(word in question for word in WORDS[label]) for label in request.labels])
        logits[-1] += 1.5
        logprobs = logits - np.logaddexp.reduce(logits)
        return Completion(request.labels[int(logprobs.argmax())], logprobs=tuple(logprobs.tolist()))


def test_prompt_and_weights_together_beat_either_alone_on_questions_that_were_not_seen(example, capsys):
    loss = example.main(Biased(), steps=40)
    assert loss["both"] < min(loss["prompt"], loss["weights"]) - 0.05
    assert max(loss["prompt"], loss["weights"]) < loss["nothing"]
    assert capsys.readouterr().out.count("held out") == 4


def test_the_feedback_on_the_prompt_names_the_labels_that_should_be_likelier(example):
    classifier = example.Classifier(Biased())
    classifier.losses(example.TASK.demonstrations, "mean").backward()
    assert 'the label "person" should be likelier' in classifier.prompt.grad[0].data
    assert np.abs(classifier.calibration.weight.grad.numpy()).max() > 0
