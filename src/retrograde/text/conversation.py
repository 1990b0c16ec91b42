"""Conversations: messages made of variables, with places for inputs and room for demonstrations, as requests to a model."""

from dataclasses import dataclass, field
from typing import Any

from ..errors import ArgumentError, DTypeError, ShapeError
from .algebra import texts
from .data import as_text, filled, places
from .models.request import Message, Request

#: What stands between the pieces of a message.
_BETWEEN = "\n"


@dataclass
class Conversation:
    """The plan of a conversation: who says which variables. Everything that may change is in `variables`, each once.

    `turns` holds (role, numbers of variables) pairs, `inputs` the number of the variable for each place, `demonstrations` the
    number of the variable that holds them, or None.
    """

    variables: list = field(default_factory=list)
    turns: list = field(default_factory=list)
    inputs: dict = field(default_factory=dict)
    demonstrations: Any = None

    @classmethod
    def of(cls, messages, inputs=None, demonstrations=None):
        """The plan of `messages`: a text for the user, or a list of {"role", "content"} or (role, content)."""
        plan = cls()
        for role, content in map(_turn, messages if isinstance(messages, (list, tuple)) else [messages]):
            pieces = content if isinstance(content, (list, tuple)) else [content]
            plan.turns.append((role, [plan.number(piece, f"{role} message") for piece in pieces]))
        if not plan.turns:
            raise ArgumentError("a conversation needs at least one message, got none")
        plan.inputs = {name: plan.number(value, name) for name, value in (inputs or {}).items()}
        if demonstrations is not None:
            plan.demonstrations = plan.number(demonstrations, "demonstrations")
            plan.check_demonstrations()
        plan.check_places()
        return plan

    def number(self, value, role):
        """The number of a variable among `variables`; of anything else that of a new constant."""
        value = value if isinstance(value, texts.kind) else texts.kind(value, role)
        for i, known in enumerate(self.variables):
            if known is value:
                return i
        self.variables.append(value)
        return len(self.variables) - 1

    def check_places(self):
        """Raise an ArgumentError unless places and inputs belong together."""
        found = [name for _, numbers in self.turns for i in numbers for scalar in _as_list(self.variables[i].data)
                 for name in places(as_text(scalar))]
        unused = [name for name in self.inputs if name not in found]
        if unused:
            raise ArgumentError(f"no message has a place for {', '.join(unused)}; the places are {', '.join(found) or 'none'}")

    def check_demonstrations(self):
        """Raise unless the demonstrations are rows of one value for each input, and an answer."""
        rows = self.variables[self.demonstrations].data
        width = len(self.inputs) + 1
        if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != width for row in rows):
            raise ShapeError(f"demonstrations must be a list of rows of {width}: {', '.join([*self.inputs, 'answer'])}; got "
                             f"{rows!r:.200}")
        if self.turns[-1][0] != "user":
            raise ArgumentError("demonstrations stand before the last message, which must be the user's, got one of the "
                                f"{self.turns[-1][0]}")

    @property
    def size(self):
        """The number of samples, or None if no variable is a batch."""
        sizes = {len(v.data) for i, v in enumerate(self.variables) if isinstance(v.data, list) and i != self.demonstrations}
        if len(sizes) > 1:
            raise ShapeError(f"the batches of a conversation must have one length, got {sorted(sizes)}")
        return next(iter(sizes), None)

    def requests(self, data, **options):
        """One request for each sample, from the `data` of the variables; None for a sample that misses an input."""
        if self.size is None:
            return [Request.of(self.messages(data), **options)]
        samples = [[self._sampled(i, d, k) for i, d in enumerate(data)] for k in range(self.size)]
        return [None if self._is_missing(sample) else Request.of(self.messages(sample), **options) for sample in samples]

    def _sampled(self, i, data, k):
        return data[k] if isinstance(data, list) and i != self.demonstrations else data

    def _is_missing(self, sample):
        return any(sample[i] is None for i in self.inputs.values())

    def messages(self, data):
        """The messages of one sample."""
        values = {name: data[i] for name, i in self.inputs.items()}
        *before, last = self.turns
        said = [Message(role, self._content(numbers, data, values)) for role, numbers in before]
        for *given, answer in data[self.demonstrations] if self.demonstrations is not None else ():
            shown = dict(zip(self.inputs, given, strict=True))
            said += [Message(last[0], self._content(last[1], data, shown)), Message("assistant", as_text(answer))]
        return [*said, Message(last[0], self._content(last[1], data, values))]

    def _content(self, numbers, data, values):
        pieces = [as_text(data[i]) for i in numbers]
        return _BETWEEN.join([filled(piece, values) for piece in pieces] if values else pieces)


def transcript(request, limit):
    """A request as text; a long message is shortened in the middle, and says by how much."""
    return "\n".join(f"{message.role}: {shortened(message.content, limit)}" for message in request.messages)


def shortened(text, limit):
    """`text`, of which the middle is left out if it has more than `limit` characters.

    >>> shortened("abcdefghij", 4)
    'ab [6 characters left out] ij'
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} [{len(text) - 2 * half} characters left out] {text[-half:]}"


def _turn(message):
    if isinstance(message, (str, texts.kind)):
        return "user", message
    if isinstance(message, Message):
        return message.role, message.content
    if isinstance(message, dict) and message.keys() == {"role", "content"}:
        return message["role"], message["content"]
    if isinstance(message, (list, tuple)) and len(message) == 2 and isinstance(message[0], str):
        return message
    raise DTypeError('a message must be {"role": ..., "content": ...}, (role, content), or a text of the user, got '
                     f"{message!r:.100}")


def _as_list(data):
    return data if isinstance(data, list) else [data]
