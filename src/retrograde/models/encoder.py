"""Encoder: BERT with its tokenizer, which makes vectors of texts, fills gaps, and names classes."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core.mode import no_grad
from ..errors import ArgumentError, UnsupportedError
from ..tensor.tensor import Tensor
from ..transforms.jit import jit
from .sampling import log_softmax

#: Texts are filled up to so many tokens at least; a program is compiled for each power of two from there.
_SHORTEST = 16


class Encoder:
    """A network that reads texts whole: `network` is a Module, `tokenizer` makes tokens of texts.

    Called with a list of texts it gives vectors, (texts, width), so that `rg.text.embed(x, encoder)` takes it as it is. Each text
    is read by itself: what becomes of it does not depend on others.
    """

    def __init__(self, network, tokenizer):
        self.network, self.tokenizer = network, tokenizer
        self._states: Any = jit(network)

    @property
    def labels(self):
        """The names of the classes."""
        return self.network.config.labels

    def __call__(self, texts):
        """A vector of each text, (texts, width): the mean of those of its tokens, or the first, whichever the files say.

        Where these have a part that does so, it is divided by its length.
        """
        config, texts = self.network.config, _listed(texts)
        rows = [states[0] if config.pooling == "first" else states.mean(0) for states in map(self.states, texts)]
        found = np.array(rows) if rows else np.zeros((0, config.hidden_size), np.float32)
        return found / np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), 1e-12) if config.is_normalised else found

    def states(self, text):
        """The vectors of a text's tokens, those that the tokenizer adds included: (tokens, width)."""
        tokens = self._tokens(text)
        return self._read(tokens).numpy()[0, : len(tokens)]

    def fill(self, text, count=5):
        """What may stand in the gap of a text: the `count` likeliest tokens, each as (token, log-probability).

        A gap is written as the tokenizer's token for it, [MASK]; a text has one. Special tokens are told by their names.
        """
        mask, tokens = self.tokenizer.number_of("[MASK]"), self._tokens(text)
        if mask is None:
            raise UnsupportedError("this model's tokenizer has no token [MASK], and so no gaps")
        places = [place for place, token in enumerate(tokens) if token == mask]
        if len(places) != 1:
            raise ArgumentError(f"a text has one gap, written [MASK]; this one has {len(places)}: {text!r:.80}")
        with no_grad():
            logits = self.network.predicted(self._read(tokens)[:, places[0] : places[0] + 1]).numpy()[0, 0]
        found = log_softmax(logits)
        likeliest = np.argsort(-found, kind="stable")[:count]
        return [(self._shown(int(token)), float(found[token])) for token in likeliest]

    def logprobs(self, texts):
        """The log-probability of each of `labels` for each text, (texts, classes).

        An UnsupportedError if a text may be of several classes or of none, or if what the model tells is no class but a number.
        """
        if len(self.labels) == 1 or not self.network.config.is_exclusive:
            raise UnsupportedError(f"of the classes of this model, {', '.join(self.labels):.80}, a text need not have one; "
                                   "network.classified gives their logits")
        with no_grad():
            rows = [self.network.classified(self._read(self._tokens(text))).numpy()[0] for text in _listed(texts)]
        if any([row.ndim != 1 for row in rows]):
            raise UnsupportedError("this model has classes of tokens, not of texts; see network.classified")
        return log_softmax(np.array(rows)) if rows else np.zeros((0, len(self.labels)))

    def classify(self, texts):
        """The likeliest of `labels` for each text, or for a single one."""
        found = [self.labels[int(row.argmax())] for row in self.logprobs(_listed(texts))]
        return found[0] if isinstance(texts, str) else found

    def _shown(self, token):
        return self.tokenizer.decode([token]) or self.tokenizer.name_of(token)

    def _tokens(self, text):
        if not isinstance(text, str):
            raise ArgumentError(f"a text is a string, got {text!r:.80}")
        tokens, longest = self.tokenizer.encode(text), self.network.config.max_position_embeddings
        if not 0 < len(tokens) <= longest:
            raise ArgumentError(f"a text has 1 to {longest} tokens, this one has {len(tokens)}")
        return tokens

    def _read(self, tokens):
        """The vectors of tokens, filled up: (1, at least as many, width)."""
        longest = self.network.config.max_position_embeddings
        size = min(max(_SHORTEST, 1 << (len(tokens) - 1).bit_length()), longest)
        filled, mask = np.zeros((1, size), np.int64), np.zeros((1, size), bool)
        filled[0, : len(tokens)], mask[0, : len(tokens)] = tokens, True
        with no_grad():
            return self._states(Tensor(filled), Tensor(mask))


def _listed(texts):
    """A text or several as a list. A set has another order in each process, and a dictionary is no list either."""
    if isinstance(texts, str):
        return [texts]
    if not isinstance(texts, Iterable) or isinstance(texts, (bytes, dict, set, frozenset)):
        raise ArgumentError(f"an encoder takes a text or a list of texts, got {texts!r:.80}")
    return list(texts)
