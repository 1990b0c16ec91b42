"""Prompt and weights in one graph: label probabilities of a local language model, a calibration layer, one `backward()`.

The wording of a prompt decides what the model knows of a task; a linear layer can correct how sure it is of each label. Both are
trained: the layer by an optimizer of numbers on some questions, the prompt by an optimizer of text that compares wordings on
others; and what came out is tested on a third set. Needs `pip install 'retrograde[local]'`; runs offline, in a minute or two.
"""

import tempfile

import numpy as np

import retrograde as rg
from retrograde import data, nn, text

TASK = data.text_task("question")
PROMPTS = [
    "{question}",
    "Question: {question}\nType of answer:",
    "Question: {question}\nThe answer is a",
    "Say whether each question asks for a number, a person, a place or a reason.\n\nQuestion: {question}\nIt asks for a",
]
#: What is trained, by name: (the prompt, the weights).
VARIANTS = {"nothing": (False, False), "prompt": (True, False), "weights": (False, True), "both": (True, True)}


class Classifier(text.Module):
    """Log-probabilities of the labels after a prompt, corrected by a linear layer that begins as the identity."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.prompt = text.Parameter(PROMPTS[0], role="prompt")
        size = len(TASK.labels)
        self.calibration = nn.Linear(size, size)
        self.calibration.load_state_dict({"weight": rg.eye(size), "bias": rg.zeros(size)})

    def forward(self, questions):
        """Logits, shape (questions, labels)."""
        return self.calibration(text.logprobs(self.model, self.prompt, TASK.labels, {"question": questions}))

    def losses(self, items, reduction="none"):
        """The cross entropy of each (question, label) pair."""
        classes = rg.tensor(np.array([TASK.labels.index(label) for _, label in items]))
        return nn.functional.cross_entropy(self([question for question, _ in items]), classes, reduction=reduction)

    def scores(self, items):
        """Minus the loss of each item: what the text optimizer compares prompts by."""
        with rg.no_grad():
            return (-self.losses(items)).numpy().tolist()


def trained(model, trains_prompt, trains_weights, steps, lr=0.03):
    """A classifier after training what is to be trained."""
    classifier = Classifier(model)
    group = {"params": classifier.text_parameters(), "space": text.Options(PROMPTS)}
    # So few candidates are all scored on all items.
    words = text.DiscreteSearch([group], validate=text.Validation(TASK.validation, classifier.scores),
                                width=len(PROMPTS) - 1, first=len(TASK.validation))
    numbers = rg.optim.Adam(classifier.parameters(), lr=lr)
    for step in range(steps):
        words.zero_grad()
        numbers.zero_grad()
        # One walk: derivatives for the layer, and for the prompt words about which labels should have been likelier.
        classifier.losses(TASK.demonstrations, "mean").backward()
        if trains_prompt and step % 20 == 0:
            words.forget_scores()  # they were those of other weights
            words.step()
        if trains_weights:
            numbers.step()
    return classifier


def main(model, steps=60):
    """Train nothing, the prompt, the weights, and both; print and return the loss of each on questions it has not seen."""
    found = {}
    for name, which in VARIANTS.items():
        classifier = trained(model, *which, steps)
        found[name] = -float(np.mean(classifier.scores(TASK.test)))
        with rg.no_grad():
            answers = classifier([question for question, _ in TASK.test]).numpy().argmax(axis=1)
        right = np.mean([TASK.labels[i] == label for i, (_, label) in zip(answers, TASK.test, strict=True)])
        print(f"trained {name:8} held out: loss {found[name]:.3f}, accuracy {right:.1%}; prompt {classifier.prompt.data!r}")
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(text.Cached(text.LocalModel(), folder))
