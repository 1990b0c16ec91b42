"""Sampling: which token comes next, by the logits of all."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from ..errors import ArgumentError, ModelError
from .checks import check_seed

#: The greatest number that logits can be divided by: an integer may be greater.
_GREATEST = float(np.finfo(np.float64).max)
#: The greatest penalty, and one over the least: float32 has room for logits times it.
_FARTHEST = 1e30


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn, each step on what the one before it has left.

    repetition_penalty  logits of tokens that were there are divided by it, or multiplied where they are negative
    temperature         logits are divided by it; 0 takes the likeliest token
    top_k               so many of the likeliest tokens are left, all with 0
    top_p               the likeliest tokens that together have this chance are left
    min_p               tokens with at least this part of the chance of the likeliest are left
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    def __post_init__(self):
        numbers = {name: getattr(self, name) for name in ("temperature", "top_p", "min_p", "repetition_penalty")}
        if strange := [name for name, value in numbers.items() if not isinstance(value, Real) or isinstance(value, bool)]:
            raise ArgumentError(f"{strange[0]} must be a number, got {numbers[strange[0]]!r:.80}")
        checks = (("temperature", 0 <= self.temperature <= _GREATEST, "a number of at least 0"),
                  ("top_k", type(self.top_k) is int and self.top_k >= 0, "an integer of at least 0"),
                  ("top_p", 0 < self.top_p <= 1, "between 0 and 1, 1 included"), ("min_p", 0 <= self.min_p <= 1, "between 0 and 1"),
                  ("repetition_penalty", 1 / _FARTHEST <= self.repetition_penalty <= _FARTHEST, "a positive number"))
        for name, is_right, what in checks:
            if not is_right:
                raise ArgumentError(f"{name} must be {what}, got {getattr(self, name)!r:.80}")

    def chosen(self, logits, seen, rng):
        """The token that comes next, by its `logits`; `seen` are the tokens before it, and `rng` draws."""
        logits = self._penalised(logits, seen)
        if self.temperature == 0:
            return int(logits.argmax())
        wide = logits.astype(np.float64)
        with np.errstate(over="ignore"):  # at a temperature near 0 what is less likely falls below all numbers
            tokens, chances = self._left((wide - wide.max()) / self.temperature)
        bounds = np.cumsum(chances)
        place = np.searchsorted(bounds, rng.random() * bounds[-1], side="right")
        return int(tokens[min(place, len(tokens) - 1)])

    def _penalised(self, logits, seen):
        if self.repetition_penalty == 1 or not len(seen):
            return logits
        logits, places = logits.copy(), np.unique(seen)
        found = logits[places]
        logits[places] = np.where(found > 0, found / self.repetition_penalty, found * self.repetition_penalty)
        return logits

    def _left(self, scores):
        """(tokens that are left, their chances)."""
        tokens = None
        if 0 < self.top_k < len(scores):
            # Of equal ones those with the lower numbers: what partition leaves of them is no order.
            least = np.partition(scores, -self.top_k)[-self.top_k]
            above, equal = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
            tokens = np.sort(np.concatenate([above, equal[: self.top_k - len(above)]]))
            scores = scores[tokens]
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        if self.top_p < 1:
            order = np.argsort(-chances, kind="stable")
            # The one that passes the bound is left too.
            count = int(np.searchsorted(np.cumsum(chances[order]), self.top_p)) + 1
            kept = np.sort(order[:count])
            tokens, chances = kept if tokens is None else tokens[kept], chances[kept]
        if self.min_p > 0:
            kept = np.flatnonzero(chances >= self.min_p * chances.max())
            tokens, chances = kept if tokens is None else tokens[kept], chances[kept]
        return np.arange(len(chances)) if tokens is None else tokens, chances


def check_logits(logits):
    """Raise a ModelError unless the greatest of all `logits` is a finite number; where one is NaN, it is NaN."""
    greatest = logits.max()
    if not np.isfinite(greatest):
        raise ModelError(f"the network gives {greatest} as its greatest logit: its weights are damaged, or too large for their "
                         'dtype; load the model anew, or with dtype="float32"')


def log_softmax(logits):
    """Log-probabilities, float64, of logits along the last axis; a ModelError if these are no numbers."""
    check_logits(logits)
    wide = logits.astype(np.float64)
    wide -= wide.max(-1, keepdims=True)
    return wide - np.log(np.exp(wide).sum(-1, keepdims=True))


def generator(seed):
    """What draws for one text: by its seed alone, whatever texts are beside it."""
    check_seed(seed)
    return np.random.Generator(np.random.Philox(key=seed))
