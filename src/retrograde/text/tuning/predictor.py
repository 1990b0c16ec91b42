"""A program of one prompt: an instruction, demonstrations, and the inputs in a layout; what `text.tune` tunes and returns."""

from typing import Any

import numpy as np

from ...errors import ArgumentError, CheckpointError, DTypeError, UnsupportedError
from ..chat import chat, completions
from ..conversation import Conversation
from ..data import as_text, places
from ..files import load, save
from ..models.base import check_model
from ..models.request import in_order
from ..module import Module
from ..variable import Parameter


class Predictor(Module):
    """Answers by `model` after a prompt: an instruction, demonstrations, and the inputs in a layout.

    instruction     what the model is told first, as the system message; "" for none
    layout          the user's message, with a {place} for each input
    demonstrations  rows of one value for each input, in the order of the layout's places, and the answer
    labels          where there are some, the answer is the one that the model finds likeliest
    options         of the calls, such as temperature

    >>> model = rg.text.ScriptedLM({"Elba": "place"})
    >>> rg.text.Predictor(model, "Which kind is it?", "Name: {name}", labels=["person", "place"])("Elba")
    'place'
    """

    def __init__(self, model, instruction, layout, *, inputs=None, demonstrations=(), labels=(), **options):
        super().__init__()
        check_model(model)
        self.inputs = tuple(inputs or dict.fromkeys([*places(layout), *places(instruction)]))
        absent = [name for name in self.inputs if name not in places(layout) and name not in places(instruction)]
        extra = [name for name in [*places(layout), *places(instruction)] if name not in self.inputs]
        if not self.inputs or absent or extra:
            wrong = f"no place for {', '.join(absent)}" if absent else f"a place for {', '.join(extra)}" if extra else "no place"
            raise ArgumentError("the prompt must have a place in braces for each input "
                                f"({', '.join(self.inputs) or 'at least one'}), and has {wrong}; write {{{{name}}}} for a name in "
                                "braces that is no place")
        self.model: Any = model
        self.labels, self.options = list(in_order("labels", labels)), options
        self.instruction = Parameter(instruction, role="instruction")
        self.layout = Parameter(layout, role="layout")
        self.demonstrations = Parameter([list(row) for row in demonstrations], role="demonstrations")

    def __call__(self, *values, **named):
        """The answer to one item, given by position or by name, as a string; for a list of items, a list of answers.

        An item of a list is a text, a tuple with one for each input, or a dictionary.
        """
        if len(values) == 1 and isinstance(values[0], list) and not named:
            items = [self._values(item) for item in values[0]]
            return self.forward(items).data if items else []
        if (values and named) or (named and set(named) != set(self.inputs)):
            raise ArgumentError(f"give the inputs {', '.join(self.inputs)}, all by position or all by name, got "
                                f"{', '.join(named)}{' beside values by position' if values else ''}")
        item = tuple(named[name] for name in self.inputs) if named else values
        return self.forward([self._values(item)]).data[0]

    def forward(self, items, model=None):
        """The answers to items, tuples that begin with a value for each input; by another model than the usual one, if given."""
        columns = {name: [item[i] for item in items] for i, name in enumerate(self.inputs)}
        labels = {"labels": self.labels} if self.labels else {}
        return chat(model or self.model, self.messages(), columns, demonstrations=self.demonstrations, **labels, **self.options)

    def messages(self):
        """The conversation before the inputs are put in."""
        system = [("system", self.instruction)] if self.instruction.data else []
        return [*system, ("user", self.layout)]

    def certainty(self, items):
        """For each item the quadratic score of the labels' probabilities: 1 if all is on the right label, 0 if all is on another.

        It is one minus half the squared distance of the probabilities from 1 for the right label and 0 for the others (Brier 1950,
        Monthly Weather Review 78), best in the mean where they are true. On few items most candidates are right about equally many;
        how sure they are of it parts them. None for an item whose call failed.
        """
        columns = {name: [item[i] for item in items] for i, name in enumerate(self.inputs)}
        plan = Conversation.of(self.messages(), columns, self.demonstrations)
        requests = plan.requests([variable.data for variable in plan.variables], labels=self.labels, **self.options)
        found = completions(self.model, requests, "answer")
        return [None if answer is None else self._certainty(answer.logprobs, self.labels.index(item[-1]))
                for answer, item in zip(found, items, strict=True)]

    def save(self, path):
        """Write the prompt as JSON: instruction, layout, demonstrations and labels."""
        save({**self.state_dict(), "labels": self.labels}, path)

    @classmethod
    def load(cls, path, model, **options):
        """The program whose prompt `save` wrote, by a model."""
        found = load(path)
        if not isinstance(found, dict) or not {"instruction", "layout", "demonstrations"} <= found.keys():
            raise CheckpointError(f"{path} holds no prompt; it must have an instruction, a layout and demonstrations")
        return cls(model, found["instruction"], found["layout"], demonstrations=found["demonstrations"],
                   labels=found.get("labels", ()), **options)

    def _certainty(self, logprobs, right):
        if len(logprobs) != len(self.labels):
            raise UnsupportedError(f"{self.model.name} tells no probabilities of labels, though its tells_logprobs says so")
        logs = np.array(logprobs, float)
        chances = np.exp(logs - np.logaddexp.reduce(logs))
        chances[right] -= 1
        return float(1 - (chances**2).sum() / 2)

    def _values(self, item):
        if isinstance(item, dict):
            if set(item) < set(self.inputs):
                raise ArgumentError(f"an item needs {', '.join(self.inputs)}, got {', '.join(item)}")
            return tuple(as_text(item[name]) for name in self.inputs)
        item = (item,) if isinstance(item, (str, int, float)) else item
        if not isinstance(item, (tuple, list)) or len(item) != len(self.inputs):
            raise DTypeError(f"an item needs a value for each of {', '.join(self.inputs)}, got {item!r:.80}")
        return tuple(map(as_text, item))
