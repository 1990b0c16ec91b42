"""What a language model is asked, and what it answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from numbers import Integral, Real

import numpy as np

from ...errors import ArgumentError, DTypeError

#: The ends of an answer that was cut off.
CUT = ("length", "content_filter")
#: Who may speak in a conversation.
ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation: `role` is "system", "user" or "assistant".

    >>> Message("user", "Is 91 prime?")
    Message(role='user', content='Is 91 prime?')
    """

    role: str
    content: str

    def __post_init__(self):
        if self.role not in ROLES:
            raise ArgumentError(f"the role of a message must be one of {', '.join(ROLES)}, got {self.role!r}")
        if not isinstance(self.content, str):
            raise DTypeError(f"the content of a message must be a string, got {type(self.content).__name__}")


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that decides an answer, apart from the model. It can be compared and hashed.

    An option that is None is left to the model. `labels` restricts the answer to one of them, and asks for the
    log-probability of each; `grammar` (GBNF) and `json_schema` (JSON text) restrict its form; `sample` numbers several
    draws for one prompt, which a cache then keeps apart.
    """

    messages: tuple[Message, ...]
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    grammar: str | None = None
    json_schema: str | None = None
    labels: tuple[str, ...] = ()
    sample: int = 0

    def __post_init__(self):
        if not self.messages:
            raise ArgumentError("a request needs at least one message, got none")
        if self.max_tokens is not None and (not isinstance(self.max_tokens, Integral) or self.max_tokens < 1):
            raise ArgumentError(f"max_tokens must be an integer of at least 1, got {self.max_tokens!r}")
        if self.temperature is not None and (not isinstance(self.temperature, Real) or not 0 <= self.temperature < inf):
            raise ArgumentError(f"temperature must be 0 or more, and finite, got {self.temperature!r}")
        if self.top_p is not None and (not isinstance(self.top_p, Real) or not 0 <= self.top_p <= 1):
            raise ArgumentError(f"top_p must be from 0 to 1, got {self.top_p!r}")
        if not all(self.stop):
            raise ArgumentError(f"stop must be texts that are not empty, got {list(self.stop)}")
        if len(set(self.labels)) < len(self.labels) or not all(self.labels):
            raise ArgumentError(f"labels must differ from each other and from the empty string, got {list(self.labels)}")
        if sum(map(bool, (self.grammar, self.json_schema, self.labels))) > 1:
            raise ArgumentError("a request takes one of grammar, json_schema and labels, got more than one")

    @classmethod
    def of(cls, prompt, **options):
        """A request from a string, a Message, or a list of Messages, (role, content) pairs or {"role", "content"} dicts.

        `stop` may be one string, `labels` a list, a tuple or an array of strings, `json_schema` a dict.

        >>> Request.of("Is 91 prime?", stop="\\n", temperature=0).stop
        ('\\n',)
        """
        if isinstance(prompt, cls) and not options:
            return prompt
        unknown = options.keys() - cls.__match_args__[1:]
        if unknown:
            raise ArgumentError(f"a call has no option {', '.join(sorted(unknown))}; there are {', '.join(cls.__match_args__[1:])}")
        options = {name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()}
        if isinstance(options.get("stop"), str):
            options["stop"] = (options["stop"],)
        for name in ("stop", "labels"):
            if name in options:
                options[name] = () if options[name] is None else in_order(name, options[name])
        if isinstance(options.get("json_schema"), Mapping):
            options["json_schema"] = json.dumps(options["json_schema"], ensure_ascii=False)
        if isinstance(prompt, cls):
            return replace(prompt, **options)
        return cls(_messages(prompt), **options)

    @property
    def prompt(self):
        """The contents of the messages, one after another."""
        return "\n\n".join(message.content for message in self.messages)


def in_order(name, texts):
    """Texts of a list, a tuple or an array as a tuple; an ArgumentError that calls them `name` for all else.

    A string would be taken for its letters, and a set has another order in each process.
    """
    found = texts.tolist() if isinstance(texts, np.ndarray) else texts
    if not isinstance(found, (list, tuple)) or not all([isinstance(text, str) for text in found]):
        raise ArgumentError(f"{name} must be texts in a list or a tuple, got {texts!r:.80}")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer, and what it took: tokens, seconds, money (in the currency of the model's prices).

    `finish_reason` is "stop" or, where `max_tokens` cut the answer off, "length", and where a filter of the server did,
    "content_filter". `logprobs` is filled for a request with
    labels: the natural logarithm of each label's probability. A completion out of a cache costs nothing.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = field(default=0.0, compare=False)
    cost: float = 0.0
    is_cached: bool = False
    finish_reason: str = "stop"
    logprobs: tuple[float, ...] = ()

    @property
    def tokens(self):
        """Tokens read and written, together."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def is_whole(self):
        """Whether the model came to the end of an answer: it was neither cut off, by a bound or a filter, nor empty."""
        return self.finish_reason not in CUT and bool(self.text.strip())


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, read (`prompt`) and written (`completion`).

    >>> Price(prompt=0.5, completion=1.5).of(1000, 200)
    0.0008
    """

    prompt: float
    completion: float

    def of(self, prompt_tokens, completion_tokens):
        """The cost of one call."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


def _messages(prompt):
    if isinstance(prompt, (str, Message)):
        prompt = [prompt]
    if not isinstance(prompt, Sequence):
        raise DTypeError(f"a prompt must be a string or a list of messages, got {type(prompt).__name__}")
    return tuple(_message(item) for item in prompt)


def _message(item):
    if isinstance(item, Message):
        return item
    if isinstance(item, str):
        return Message("user", item)
    if isinstance(item, Mapping):
        if set(item) != {"role", "content"}:
            raise ArgumentError(f"a message must have the keys role and content, got {sorted(item)}")
        return Message(item["role"], item["content"])
    role, content = item
    return Message(role, content)
