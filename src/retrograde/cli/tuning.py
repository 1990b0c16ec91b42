"""What `retrograde tune` tunes: a classifier made of a language model and a prompt, and the search for the prompt."""

import numpy as np

from .. import text
from ..core.mode import no_grad

#: Items that all candidates of a step are scored on first.
_FIRST = 8


class Classifier(text.Module):
    """Labels texts by what `model` finds most likely after a prompt: an instruction, demonstrations, and the text in a layout."""

    def __init__(self, model, task):
        super().__init__()
        self.model, self.labels = model, task.labels
        self.instruction = text.Parameter(task.instruction, role="instruction")
        self.layout = text.Parameter(task.layout, role="layout")
        self.demonstrations = text.Parameter([], role="demonstrations")

    def forward(self, texts, model=None):
        """The label of each text; by another model than the usual one, if it is given."""
        return text.chat(model or self.model, self._messages(), {"text": texts}, demonstrations=self.demonstrations,
                         labels=self.labels)

    def _messages(self):
        return [("system", self.instruction), ("user", self.layout)]

    def certainty(self, items):
        """For each (text, label) the mean of whether the label is found and of its probability among the labels.

        On few items most candidates are right about equally many; how sure they are of it parts them.
        """
        with no_grad():
            logs = text.logprobs(self.model, self._messages(), self.labels, {"text": [sample for sample, _ in items]},
                                 demonstrations=self.demonstrations).numpy().astype(np.float64)
        chances = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
        rows, columns = np.arange(len(items)), [self.labels.index(label) for _, label in items]
        return ((chances.argmax(axis=1) == columns) / 2 + chances[rows, columns] / 2).tolist()

    def scores(self, items, model=None):
        """For each (text, label) 1 if the label is found, and else 0."""
        return text.exact_match(self([sample for sample, _ in items], model), [label for _, label in items]).scores


def search(classifier, task, options):
    """The optimizer: wordings, layouts and demonstrations, drawn together or changed one by one, compared on validation."""
    spaces = [
        (classifier.instruction, text.Options([task.instruction, *task.instructions])),
        (classifier.layout, text.Options([task.layout, *task.layouts])),
        (classifier.demonstrations, text.Demonstrations(task.demonstrations, max(options.demonstrations, len(task.labels)))),
    ]
    groups = [{"params": [parameter], "space": space} for parameter, space in spaces]
    return text.DiscreteSearch(groups, validate=text.Validation(task.validation, classifier.certainty), seed=options.seed,
                               width=options.width, first=_FIRST)
