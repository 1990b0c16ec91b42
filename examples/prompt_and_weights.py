"""Prompt and weights in one graph: label probabilities of a local language model, a calibration layer, one `backward()`.

The wording of a prompt decides what the model knows of a task, and a linear layer can correct how sure it is of each label.
Both are trained: the layer by an optimizer of numbers on some questions, the prompt by an optimizer of text that compares
wordings on others; and both are tested on a third set. Needs `pip install 'retrograde[local]'`; runs offline.
"""

import tempfile

import numpy as np

import retrograde as rg
from retrograde import data, nn, text

TASK = data.text_task("question")
TRAIN, VALIDATION, HELD_OUT = TASK.demonstrations, TASK.validation[:16], TASK.test[:24]
PROMPTS = [
    "{question}",
    "Question: {question}\nType of answer:",
    "Question: {question}\nThe answer is a",
    "Say whether each question asks for a number, a person, a place or a reason.\n\nQuestion: {question}\nIt asks for a",
]


class Classifier(text.Module):
    """Log-probabilities of the labels after a prompt, corrected by a linear layer that begins as the identity."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.prompt = text.Parameter(PROMPTS[0], role="prompt")
        size = len(TASK.labels)
        self.calibration = nn.Linear(size, size)
        with rg.no_grad():
            self.calibration.weight[...] = rg.eye(size)
            self.calibration.bias[...] = rg.zeros(size)

    def forward(self, questions):
        """Logits, shape (questions, labels)."""
        return self.calibration(text.logprobs(self.model, self.prompt, TASK.labels, {"question": questions}))

    def loss(self, items, reduction="mean"):
        """The cross entropy of (question, label) pairs."""
        classes = rg.tensor(np.array([TASK.labels.index(label) for _, label in items]))
        return nn.functional.cross_entropy(self([question for question, _ in items]), classes, reduction=reduction)

    def scores(self, items):
        """Minus the loss of each item: what the text optimizer compares prompts by."""
        with rg.no_grad():
            return (-self.loss(items, "none")).numpy().tolist()


def trained(model, trains_prompt, trains_weights, steps=60, lr=0.03):
    """A classifier after training what is to be trained."""
    classifier = Classifier(model)
    group = {"params": classifier.text_parameters(), "space": text.Options(PROMPTS)}
    words = text.DiscreteSearch([group], validate=text.Validation(VALIDATION, classifier.scores), width=3, first=6)
    numbers = rg.optim.Adam(classifier.parameters(), lr=lr)
    for step in range(steps):
        words.zero_grad()
        numbers.zero_grad()
        classifier.loss(TRAIN).backward()
        if trains_prompt and step % 20 == 0:
            words.forget_scores()  # they were those of other weights
            words.step()
        if trains_weights:
            numbers.step()
    return classifier


def main():
    """Train nothing, the prompt, the weights, and both; then say how well each does on questions it has not seen."""
    with tempfile.TemporaryDirectory() as folder:
        model = text.Cached(text.LocalModel(), folder)
        for name, which in (("nothing", (0, 0)), ("prompt", (1, 0)), ("weights", (0, 1)), ("both", (1, 1))):
            classifier = trained(model, *which)
            losses = [-np.mean(classifier.scores(items)) for items in (VALIDATION, HELD_OUT)]
            print(f"trained {name:8} loss: validation {losses[0]:.3f}, held out {losses[1]:.3f}; prompt {classifier.prompt.data!r}")


if __name__ == "__main__":
    main()
