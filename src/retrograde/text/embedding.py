"""Hashed TF-IDF: texts as vectors without a model, and which words a gradient speaks of."""

import re
from collections import Counter
from hashlib import blake2b
from math import log, sqrt

import numpy as np

from ..errors import ArgumentError

_WORD = re.compile(r"\w+", re.UNICODE)


class HashedWords:
    """Vectors of word counts, each word at a place and with a sign given by its hash, of length 1.

    After `fit(texts)` rare words count for more, by the smoothed inverse of the share of texts that hold them.

    >>> HashedWords(8)(["a b", "a"]).shape
    (2, 8)
    """

    def __init__(self, size=256):
        if size < 1:
            raise ArgumentError(f"size must be at least 1, got {size}")
        self.size, self._weights, self._rarest = size, {}, 1.0

    def fit(self, texts):
        """Learn from `texts` how common words are; returns the embedding itself."""
        counts = Counter(word for text in texts for word in set(_words(text)))
        self._weights = {word: log((1 + len(texts)) / (1 + n)) + 1 for word, n in counts.items()}
        self._rarest = log(1 + len(texts)) + 1
        return self

    def __call__(self, texts):
        """The vectors of `texts`, shape (number of texts, size)."""
        rows = np.zeros((len(texts), self.size))
        for row, text in zip(rows, texts, strict=True):
            for _, place, weight in self._parts(text):
                row[place] += weight
        return rows

    def explain(self, text, gradient):
        """(word, derivative of the loss in its count) of each word of `text`, largest first."""
        found = [(word, float(gradient[place] * weight)) for word, place, weight in self._parts(text)]
        return sorted(found, key=lambda pair: -abs(pair[1]))

    def _parts(self, text):
        """(word, place, signed weight) of each word."""
        counts = Counter(_words(text))
        weights = {word: n * self._weights.get(word, self._rarest) for word, n in counts.items()}
        length = sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        return [(word, *_hashed(word, self.size, weight / length)) for word, weight in weights.items()]


def _words(text):
    return _WORD.findall(text.lower())


def _hashed(word, size, weight):
    number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest())
    return number // 2 % size, weight if number % 2 else -weight
