"""Engines: what runs the weights of a language model in this process. A name finds one, and loads it no earlier."""

from pathlib import Path
from typing import Any, Protocol

from ...errors import ArgumentError, MissingExtraError, ModelError, RetrogradeError
from ...extras import engines


class Engine(Protocol):
    """Weights with their tokenizer, loaded: tokens in, text and log-probabilities out. It may be asked from several threads.

    The options of `complete` and `stream` are max_tokens, temperature, top_p, seed, stop, grammar and json_schema; all are given.
    """

    #: How many calls are worth asking at once.
    max_concurrency: int
    #: Whether `label_gradient` and `attribution` are there.
    has_gradients: bool

    @classmethod
    def opened(cls, path, context, threads, activations) -> "Engine":
        """The engine with the weights at `path`; all else may be None, which is what the engine usually does."""
        ...

    @classmethod
    def has_template(cls, path) -> bool:
        """Whether the weights at `path` come with a template for messages."""
        ...

    def chat_prompt(self, messages) -> str:
        """The messages as the text that the model was tuned to."""
        ...

    def tokens(self, text, is_chat) -> Any:
        """The tokens of a prompt. Names of special tokens in it are such tokens only if it `is_chat`, laid out by a template."""
        ...

    def count_tokens(self, text) -> int:
        """How many tokens a text has that is no prompt."""
        ...

    def complete(self, tokens, **options) -> tuple[str, str, int]:
        """(text, finish reason, number of tokens) of what follows `tokens`."""
        ...

    def stream(self, tokens, **options) -> Any:
        """The text of what follows, piece by piece."""
        ...

    def scores(self, prompt, wholes) -> list:
        """The log-probability of each label, by the tokens of a prompt and those of the prompt with each label: see `score`."""
        ...

    def label_gradient(self, scored, gradient, learned) -> Any:
        """The gradient in `learned`, of that in the log-probabilities of labels, (prompts, labels); `scored` has their tokens."""
        ...

    def attribution(self, prompt, wholes, gradient, parts) -> Any:
        """What the tokens of a prompt do for a loss; `gradient` is that in the scores of labels, `parts` see `parts_of`."""
        ...


def engine_class(name) -> Any:
    """The class of the engine called `name`."""
    check_engine(name)
    return engines[name]()


def check_engine(name):
    """Raise an ArgumentError unless there is an engine called `name`."""
    if not isinstance(name, str) or name not in engines:
        raise ArgumentError(f"an engine is one of {', '.join(sorted(engines))}, got {name!r}")


def opened(name, path, context, threads, activations) -> Any:
    """The engine called `name` with the weights at `path`; a ModelError if they are not there, or if it cannot run them."""
    if not Path(path).exists():
        raise ModelError(f"there are no weights at {path}")
    try:
        return engine_class(name).opened(path, context, threads, activations)
    except (MissingExtraError, ArgumentError, ModelError):
        raise
    except (RetrogradeError, OSError, RuntimeError) as error:
        raise ModelError(f"the engine {name} cannot run {path}: {error}") from None
