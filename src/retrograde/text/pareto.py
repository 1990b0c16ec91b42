"""ParetoSearch: several candidates are kept, each the best on some items, and reflection starts from one of them."""

import random
from math import fsum

from ..errors import ArgumentError
from .descent import TextualGradientDescent
from .gate import Validation, chance
from .optimizer import written


class ParetoSearch(TextualGradientDescent):
    """Rewrites one of a front of candidates at each step: those that are best on at least one item of `validate`.

    A step draws a candidate, each as often as it is best, sets the parameters to it, and calls `closure`, which runs a
    minibatch of training items and hands back feedback. The new texts enter the front if they are no worse on the mean of
    the validation items, or best on one; then the parameters are set to the candidate with the best mean. That replaces the
    first one only if it passes the gate at `level`. After the idea of GEPA (arXiv 2507.19457).

    `front` lists the candidates, each the data of all parameters and its scores. The other arguments are those of
    TextualGradientDescent; `keep` bounds the front.
    """

    def __init__(self, params, lm, *, validate, keep=16, seed=0, level=0.25, **arguments):
        if not isinstance(validate, Validation) and not callable(validate):
            raise ArgumentError("ParetoSearch compares candidates item by item; pass validate=text.Validation(items, score)")
        self.keep, self.front = keep, []
        self._draw = random.Random(seed)  # noqa: S311 - not for secrets
        super().__init__(params, lm, validate=validate, level=level, **arguments)

    def step(self, closure=None):
        """Reflect on one candidate of the front; `closure` computes the loss of a minibatch and calls `backward`."""
        if closure is None:
            raise ArgumentError("ParetoSearch draws a candidate first and needs step(closure), where closure computes the loss "
                                "under the current parameters and calls backward")
        if not self.front:
            self.front = [{"values": self._values(), "scores": self.current_scores()}]
        parent = self._drawn()
        best = self._values()
        try:
            self._set(parent["values"])
            self.zero_grad()
            closure()
            edits = self._propose()
            changed = [(p, edit) for p, edit in edits if edit.after != edit.before]
            if not changed:
                return self.nothing_new([edit for _, edit in edits])
            written([(p, edit.after) for p, edit in changed])
            child = {"values": self._values(), "scores": self.validate()}
        finally:
            self._set(best)
        return self._judged(parent, child, [edit for _, edit in changed], [p for p, _ in changed])

    def _judged(self, parent, child, edits, parameters):
        """The Step of a new candidate: into the front or not, and to the top or not."""
        is_new = all(child["values"] != known["values"] for known in self.front)
        kept = is_new and (_mean(child) >= _mean(parent) or _is_best_somewhere(child, self.front))
        if not kept:
            for parameter, edit in zip(parameters, edits, strict=True):
                self.remembered(parameter).setdefault("rejected", []).append(edit.after)
            return self.noted("rejected", "not best on any item", edits, _mean(parent), _mean(child))
        self.front = _front([*self.front, child], self.keep)
        gains = [b - a for a, b in zip(self.current_scores(), child["scores"], strict=True)]
        before, p = fsum(self.current_scores()) / len(gains), chance(gains)
        if fsum(gains) >= 0 and p <= self.level:
            self._set(child["values"])
            self._scores = child["scores"]
            return self.noted("accepted", "the best of the front", edits, before, _mean(child), p)
        return self.noted("rejected", "kept in the front, not the best of it", edits, before, _mean(child), p)

    def _drawn(self):
        """A candidate of the front, as often as it is the best."""
        tops = [max(scores) for scores in zip(*[c["scores"] for c in self.front], strict=True)]
        wins = [sum(score == top for score, top in zip(c["scores"], tops, strict=True)) for c in self.front]
        return self._draw.choices(self.front, wins)[0]

    def _values(self):
        return [parameter.data for parameter in self.parameters()]

    def _set(self, values):
        written(list(zip(self.parameters(), values, strict=True)))

    def state_dict(self):
        version, numbers, normal = self._draw.getstate()
        return {**super().state_dict(), "front": self.front, "random": [version, list(numbers), normal]}

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        version, numbers, normal = state_dict["random"]
        self.front = state_dict["front"]
        self._draw.setstate((version, tuple(numbers), normal))


def _mean(candidate):
    return fsum(candidate["scores"]) / len(candidate["scores"])


def _is_best_somewhere(child, front):
    tops = [max(scores) for scores in zip(*[c["scores"] for c in front], strict=True)]
    return any(score > top for score, top in zip(child["scores"], tops, strict=True))


def _front(candidates, keep):
    """The candidates that no other beats on all items, those with the best means first, at most `keep`."""
    kept = [c for c in candidates if not any(_dominates(other, c) for other in candidates)]
    return sorted(kept, key=_mean, reverse=True)[:keep]


def _dominates(x, y):
    pairs = list(zip(x["scores"], y["scores"], strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)
