"""Writing: the loop that reads prompts and adds tokens, of several texts at once.

What a text becomes depends on its prompt, its settings and its seed alone: each is read by itself, in pieces of fixed sizes, and
drawn with random numbers of its own; the compiled step computes each row by the same instructions whatever rows are beside it.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.mode import no_grad
from ..errors import ArgumentError
from ..ops.networks.quantized import FEW_ROWS
from ..tensor.tensor import Tensor
from ..transforms.jit import jit
from .cache import Cache
from .sampling import Sampling, generator, log_softmax
from .tokens import Growing

#: A prompt is read in pieces of so many tokens; a program is compiled for each size that is met.
_PIECES = (16, 64, 256)


class Written(NamedTuple):
    """What was written after a prompt: `text`, its `tokens`, the log-probability of each, and why it ended: "stop" or "length"."""

    text: str
    tokens: tuple
    logprobs: tuple
    finish_reason: str
    prompt_tokens: int


class Wish(NamedTuple):
    """One text to be written: the `tokens` of its prompt, and how."""

    tokens: list
    max_tokens: int
    sampling: Sampling
    stop: tuple
    ends: frozenset
    seed: int
    has_logprobs: bool = False


class Reader:
    """A network with its compiled step."""

    def __init__(self, network, context):
        self.network, self.context = network, context
        self._step: Any = jit(network.step)

    def cache(self, rows):
        """A cache for so many texts at least: as many rows as `advance` computes for them."""
        return Cache(self.network.config, _rounded(rows), self.context)

    def read(self, cache, row, tokens):
        """Append `tokens`, at least one, to a row of the cache; the logits after them."""
        if not len(tokens):
            raise ArgumentError("a prompt has one token at least; this one is empty, and the model puts none before a text")
        if cache.lengths[row] + len(tokens) > self.context:
            raise ArgumentError(f"a prompt of {len(tokens)} tokens does not fit: the model was loaded for {self.context}; see "
                                "`context` of load")
        logits, place = None, 0
        while place < len(tokens):
            left = len(tokens) - place
            size = 1 if left == 1 else next((size for size in _PIECES if size >= left), _PIECES[-1])
            count = min(size, left)
            piece = np.zeros((1, size), np.int64)
            piece[0, :count] = tokens[place : place + count]
            logits = self._run(cache, row, row + 1, piece, np.array([count - 1]), [count])[0]
            place += count
        return logits

    def advance(self, cache, tokens):
        """Append one token to each of the first rows of a cache; the logits after them, a row each.

        As many rows are computed as the next power of two, so that few programs are compiled; the others are not kept.
        """
        count = len(tokens)
        rows = _rounded(count)
        given = np.zeros((rows, 1), np.int64)
        given[:count, 0] = tokens
        return self._run(cache, 0, rows, given, np.zeros(rows, np.int64), [1] * count)

    def _run(self, cache, first, last, tokens, places, counts):
        keys, values = cache.views(first, last)
        lengths = cache.lengths[first:last].copy()
        with no_grad():
            logits, new_keys, new_values = self._step(Tensor(tokens), Tensor(lengths), Tensor(places), keys, values)
        new = new_keys.numpy(), new_values.numpy()
        for i, count in enumerate(counts):
            cache.write(first + i, i, *new, count)
        return logits.numpy()[: len(counts)]


def _rounded(count):
    """The next power of two."""
    return 1 << max(count - 1, 0).bit_length()


class _Text:
    """A text that is being written."""

    def __init__(self, number, wish, tokenizer):
        self.number, self.wish = number, wish
        self.growing, self.rng = Growing(tokenizer), generator(wish.seed)
        self.tokens, self.logprobs, self.pending, self.text, self.reason = [], [], "", "", None

    def take(self, logits):
        """Choose the next token; what is settled of the text since the last one. `reason` says when it is over."""
        wish = self.wish
        seen = [*wish.tokens, *self.tokens] if wish.sampling.repetition_penalty != 1 else ()
        token = wish.sampling.chosen(logits, seen, self.rng)
        if token in wish.ends:
            return self._end("stop", self.pending + self.growing.rest())
        self.tokens.append(token)
        if wish.has_logprobs:  # they take longer than to choose among all tokens
            self.logprobs.append(float(log_softmax(logits)[token]))
        self.pending += self.growing.add(token)
        if len(self.tokens) == wish.max_tokens:
            self.pending += self.growing.rest()
        places = [place for stop in wish.stop if (place := self.pending.find(stop)) >= 0]
        if places:
            return self._end("stop", self.pending[: min(places)])
        if len(self.tokens) == wish.max_tokens:
            return self._end("length", self.pending)
        # What may become a stop is kept until it is known not to.
        kept = max((n for stop in wish.stop for n in range(1, len(stop)) if self.pending.endswith(stop[:n])), default=0)
        settled, self.pending = self.pending[: len(self.pending) - kept], self.pending[len(self.pending) - kept :]
        self.text += settled
        return settled

    def end_full(self):
        """End it where there is no room for another token; what is left of it."""
        return self._end("length", self.pending + self.growing.rest())

    def _end(self, reason, settled):
        self.reason, self.text = reason, self.text + settled
        return settled

    @property
    def written(self):
        """What was written."""
        return Written(self.text, tuple(self.tokens), tuple(self.logprobs), self.reason, len(self.wish.tokens))


def write(reader, tokenizer, wishes):
    """Yield (number of the wish, piece of text, `Written` if it is over, else None), as texts grow, several at once."""
    waiting = [_Text(number, wish, tokenizer) for number, wish in enumerate(wishes)][::-1]
    rows = min(_rounded(len(waiting)), FEW_ROWS)
    cache, active, last = reader.cache(rows), [], []
    while waiting or active:
        while waiting and len(active) < rows:
            text, row = waiting.pop(), len(active)
            cache.lengths[row] = 0
            if text.wish.max_tokens == 0:
                text.end_full()
                yield text.number, "", text.written
                continue
            active.append(text)
            last.append(None)
            yield from _taken(reader, cache, active, last, row, reader.read(cache, row, text.wish.tokens))
        if active:
            logits = reader.advance(cache, last)
            # From the last row on: one that is over gives its place to the last one, which was served already.
            for row in reversed(range(len(active))):
                yield from _taken(reader, cache, active, last, row, logits[row])


def _taken(reader, cache, active, last, row, logits):
    """Let the text of a row take its next token, and leave if it is over."""
    text = active[row]
    piece = text.take(logits)
    if text.reason is None and cache.lengths[row] == reader.context:
        piece += text.end_full()
    if text.reason is None:
        last[row] = text.tokens[-1]
        if piece:
            yield text.number, piece, None
        return
    end = len(active) - 1
    if row != end:
        cache.copy(end, row)
        active[row], last[row] = active[end], last[end]
    active.pop()
    last.pop()
    yield text.number, piece, text.written
