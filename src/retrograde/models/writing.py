"""Writing: the loop that reads prompts and adds tokens, of several texts at once.

What a text becomes depends on its prompt, its settings and its seed alone: each is read by itself, in pieces of fixed sizes, and
drawn with random numbers of its own; the compiled step computes each row by the same instructions whatever rows are beside it.
"""

from typing import Any, NamedTuple

import numpy as np

from ..errors import RetrogradeError
from ..ops.networks.quantized import FEW_ROWS
from .reading import rounded
from .sampling import Sampling, check_logits, generator, log_softmax
from .tokens import Growing


class Written(NamedTuple):
    """What was written after a prompt: `text`, its `tokens`, the log-probability of each, and why it ended: "stop" or "length".

    `alternatives` has for each token the likeliest ones at its place, as (token, log-probability), where they were asked for.
    """

    text: str
    tokens: tuple
    logprobs: tuple
    finish_reason: str
    prompt_tokens: int
    alternatives: tuple = ()


class Wish(NamedTuple):
    """One text to be written: the `tokens` of its prompt, and how.

    A `constraint` says which tokens may follow; `vectors` (count, width) of a soft prompt stand before the tokens.
    """

    tokens: list
    max_tokens: int
    sampling: Sampling
    stop: tuple
    ends: frozenset
    seed: int
    has_logprobs: bool = False
    alternatives: int = 0
    constraint: Any = None
    vectors: Any = None


class Text:
    """A text that is being written; `owner` is for whoever wished it."""

    def __init__(self, owner, wish, tokenizer):
        self.owner, self.wish = owner, wish
        self.growing, self.rng = Growing(tokenizer), generator(wish.seed)
        self.constraint = None if wish.constraint is None else wish.constraint.copy()
        self.tokens, self.logprobs, self.alternatives = [], [], []
        self.pending, self.text, self.reason, self.error = "", "", None, None

    def take(self, logits):
        """Choose the next token; what is settled of the text since the last one. `reason` says when it is over."""
        wish = self.wish
        check_logits(logits)
        seen = [*wish.tokens, *self.tokens] if wish.sampling.repetition_penalty != 1 else ()
        allowed = logits if self.constraint is None else self.constraint.kept(logits)
        token = wish.sampling.chosen(allowed, seen, self.rng)
        is_whole = token in wish.ends
        if not is_whole:
            self.tokens.append(token)
            if wish.has_logprobs:  # they take longer than to choose among all tokens
                self._note(log_softmax(logits), token)
            self.pending += self.growing.add(token)
            is_whole = self.constraint is not None and self.constraint.take(token)
        is_last = is_whole or len(self.tokens) == wish.max_tokens
        if is_last:
            self.pending += self.growing.rest()
        places = [place for stop in wish.stop if (place := self.pending.find(stop)) >= 0]
        if places:
            return self._end("stop", self.pending[: min(places)])
        if is_last:
            return self._end("stop" if is_whole else "length", self.pending)
        # What may become a stop is kept until it is known not to.
        kept = max((n for stop in wish.stop for n in range(1, len(stop)) if self.pending.endswith(stop[:n])), default=0)
        settled, self.pending = self.pending[: len(self.pending) - kept], self.pending[len(self.pending) - kept :]
        self.text += settled
        return settled

    def end_full(self):
        """End it where there is no room for another token; what is left of it."""
        return self._end("length", self.pending + self.growing.rest())

    def _note(self, found, token):
        """Keep the log-probability of a token, and of the likeliest at its place, those of the model itself."""
        self.logprobs.append(float(found[token]))
        if self.wish.alternatives:
            likeliest = np.argsort(-found, kind="stable")[: self.wish.alternatives]
            self.alternatives.append(tuple([(int(other), float(found[other])) for other in likeliest]))

    def _end(self, reason, settled):
        self.reason, self.text = reason, self.text + settled
        return settled

    @property
    def written(self):
        """What was written."""
        return Written(self.text, tuple(self.tokens), tuple(self.logprobs), self.reason or "", len(self.wish.tokens),
                       tuple(self.alternatives))


class Batch:
    """Texts that are written together, each in a row of a cache: they join and leave between two tokens.

    `join` and `advance` give what is new of each as pairs (text, piece); one whose `reason` is set has left. Where that is "error",
    its `error` says why; the others go on.
    """

    def __init__(self, reader, rows):
        self.reader, self.rows = reader, min(rounded(rows), FEW_ROWS)
        self.cache, self.active, self._last = reader.cache(self.rows), [], []

    @property
    def has_room(self):
        """Whether another text may join."""
        return len(self.active) < self.rows

    def join(self, text):
        """Read the prompt of a text, and take its first token."""
        if text.wish.max_tokens == 0:
            return [(text, text.end_full())]
        row = len(self.active)
        self.cache.lengths[row] = 0
        # It is a member only when its prompt is read: an error on the way leaves the others as they are.
        vectors, tokens = text.wish.vectors, text.wish.tokens
        logits = None if vectors is None else self.reader.read_vectors(self.cache, row, vectors)
        if tokens or logits is None:  # behind vectors a prompt may be empty
            logits = self.reader.read_prompt(self.cache, row, tokens)
        self.active.append(text)
        self._last.append(None)
        return [self._taken(row, logits)]

    def advance(self):
        """Let each text take its next token."""
        logits = self.reader.advance(self.cache, self._last)
        # From the last row on: one that is over gives its place to the last one, which was served already.
        return [self._taken(row, logits[row]) for row in reversed(range(len(self.active)))]

    def proceed(self, joining=None):
        """Read the prompt of one more text, or let all take a token; an error ends the texts that it is about, and they leave."""
        try:
            return self.advance() if joining is None else self.join(joining)
        except RetrogradeError as error:
            # A prompt that cannot be read is one text's own fault; the others are as they were.
            return self.end([*self.active] if joining is None else [joining], error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told to all, and nothing is left of what was read
            return self.end_all(error, [] if joining is None else [joining])

    def end(self, texts, error):
        """Let texts end by an error; who is among those that are written leaves."""
        for text in texts:
            text.reason, text.error = "error", error
            if text in self.active:
                self.leave(text)
        return [(text, "") for text in texts]

    def end_all(self, error, others=()):
        """As `end`, for all that are written and for `others`, and begin with an empty cache."""
        found = self.end([*self.active, *others], error)
        self.cache = self.reader.cache(self.rows)
        return found

    def leave(self, text):
        """Take a text out that nobody waits for."""
        self._drop(self.active.index(text))

    def _taken(self, row, logits):
        text = self.active[row]
        try:
            piece = text.take(logits)
        except RetrogradeError as error:
            text.reason, text.error, piece = "error", error, ""
        if text.reason is None and self.cache.lengths[row] == self.reader.context:
            piece += text.end_full()
        if text.reason is None:
            self._last[row] = text.tokens[-1]
        else:
            self._drop(row)
        return text, piece

    def _drop(self, row):
        """Let the last row take the place of one that is over."""
        end = len(self.active) - 1
        if row != end:
            self.cache.copy(end, row)
            self.active[row], self._last[row] = self.active[end], self._last[end]
        self.active.pop()
        self._last.pop()


def write(reader, tokenizer, wishes):
    """Yield (number of the wish, piece of text, `Written` if it is over, else None), as texts grow, several at once."""
    waiting = [Text(number, wish, tokenizer) for number, wish in enumerate(wishes)][::-1]
    batch = Batch(reader, len(waiting))
    while waiting or batch.active:
        found = batch.join(waiting.pop()) if waiting and batch.has_room else batch.advance()
        for text, piece in found:
            if text.error is not None:
                raise text.error
            if piece or text.reason is not None:
                yield text.owner, piece, None if text.reason is None else text.written
