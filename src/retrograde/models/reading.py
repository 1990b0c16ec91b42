"""Reading: a network with its compiled step, which appends tokens to texts in a cache."""

from typing import Any

import numpy as np

from ..core.mode import no_grad
from ..errors import ArgumentError
from ..tensor.tensor import Tensor
from ..transforms.jit import jit
from .cache import Cache

#: A prompt is read in pieces of so many tokens; a program is compiled for each size that is met.
_PIECES = (16, 64, 256)
EMPTY_PROMPT = "a prompt has one token at least; this one is empty, and the model puts none before a text"


class Reader:
    """A network with its compiled step."""

    def __init__(self, network, context):
        self.network, self.context = network, context
        #: Prompts that were read, a `Prompts`; None where none are kept, since weights may change.
        self.prompts: Any = None
        self._step: Any = jit(network.step)
        self._step_of_vectors: Any = jit(network.step_of_vectors)

    def cache(self, rows):
        """A cache for so many texts at least: as many rows as `advance` computes for them."""
        return Cache(self.network.config, rounded(rows), self.context)

    def read(self, cache, row, tokens):
        """Append `tokens`, at least one, to a row of the cache; the logits after them."""
        if not len(tokens):
            raise ArgumentError(EMPTY_PROMPT)
        if cache.lengths[row] + len(tokens) > self.context:
            raise ArgumentError(f"a prompt of {len(tokens)} tokens does not fit: the model was loaded for {self.context}; see "
                                "`context` of load")
        return self._in_pieces(self._step, cache, row, np.asarray(tokens, np.int64), len(tokens) == 1)

    def read_prompt(self, cache, row, tokens):
        """As `read`, for the first tokens of a text; what a kept prompt begins with alike is not read again.

        The numbers are the same: pieces of several tokens compute each by the same instructions, whatever their size. A single
        token is a program of its own, so that prompts of one token are not kept.
        """
        if self.prompts is None or cache.lengths[row] or not 1 < len(tokens) <= self.context:
            return self.read(cache, row, tokens)
        start = self.prompts.restore(cache, row, tokens)
        logits = self._in_pieces(self._step, cache, row, np.asarray(tokens[start:], np.int64), False)
        self.prompts.keep(cache, row, tokens)
        return logits

    def read_vectors(self, cache, row, vectors):
        """Append vectors (count, width), which stand for tokens, to a row of the cache."""
        if cache.lengths[row] + len(vectors) > self.context:
            raise ArgumentError(f"a soft prompt of {len(vectors)} vectors does not fit: the model was loaded for {self.context}")
        return self._in_pieces(self._step_of_vectors, cache, row, np.asarray(vectors, np.float32), len(vectors) == 1)

    def _in_pieces(self, step, cache, row, content, is_single):
        """Append tokens or vectors by a step, in pieces of fixed sizes, or of one; the logits after them."""
        logits, place = None, 0
        while place < len(content):
            left = len(content) - place
            size = 1 if is_single else next((size for size in _PIECES if size >= left), _PIECES[-1])
            count = min(size, left)
            piece = np.zeros((1, size, *content.shape[1:]), content.dtype)
            piece[0, :count] = content[place : place + count]
            logits = self._run(step, cache, row, row + 1, piece, np.array([count - 1]), [count])[0]
            place += count
        return logits

    def advance(self, cache, tokens):
        """Append one token to each of the first rows of a cache; the logits after them, a row each.

        As many rows are computed as the next power of two, so that few programs are compiled; the others are not kept.
        """
        count = len(tokens)
        rows = rounded(count)
        given = np.zeros((rows, 1), np.int64)
        given[:count, 0] = tokens
        return self._run(self._step, cache, 0, rows, given, np.zeros(rows, np.int64), [1] * count)

    def _run(self, step, cache, first, last, tokens, places, counts):
        lengths = cache.lengths[first:last].copy()
        with no_grad():
            logits, new_keys, new_values = step(Tensor(tokens), Tensor(lengths), Tensor(places), *cache.views(first, last))
        new = new_keys.numpy(), new_values.numpy()
        for i, count in enumerate(counts):
            cache.write(first + i, i, *new, count)
        return logits.numpy()[: len(counts)]


def rounded(count):
    """The next power of two."""
    return 1 << max(count - 1, 0).bit_length()
