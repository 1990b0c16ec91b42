"""ParetoSearch: several candidates are kept, each the best on some items, and reflection starts from one of them."""

import random

from ..errors import AnswerError, ArgumentError
from .descent import TextualGradientDescent
from .evidence.validation import Validation, check_apart, mean
from .optimizer import written


class ParetoSearch(TextualGradientDescent):
    """Rewrites one of a front of candidates at each step: those that are best on at least one item of `train`.

    A step draws a candidate, each as often as it is best, sets the parameters to it, and calls `closure`, which runs a
    minibatch of training items and hands back feedback. The new texts enter the front if they are no worse than their parent on the
    mean of the `train` items, or best on one. If their mean there is the highest, they are also compared with the current
    parameters on the items of `validate`, and replace them if they pass the gate. After the idea of GEPA (arXiv 2507.19457).

    train     a Validation of training items, which the front is made by; none of them may be in `validate`, since candidates that
              descend from what did well by luck on some items do well on these by the same luck
    validate  a Validation
    keep      the most candidates in the front

    `front` lists the candidates, each the data of all parameters and its scores. The other arguments are those of
    TextualGradientDescent.
    """

    def __init__(self, params, lm, *, train, validate, keep=16, seed=0, **arguments):
        if not (isinstance(train, Validation) and isinstance(validate, Validation)):
            raise ArgumentError("ParetoSearch compares candidates item by item, and decides on others; pass "
                                "train=text.Validation(training items, score) and validate=text.Validation(other items, score)")
        check_apart(train=train.items, validation=validate.items)
        self.train, self.keep, self.front = train, keep, []
        self.seed, self._draw = seed, random.Random(seed)  # noqa: S311 - not for secrets
        super().__init__(params, lm, validate=validate, **arguments)

    def step(self, closure=None):
        """Reflect on one candidate of the front; `closure` computes the loss of a minibatch and calls `backward`."""
        if closure is None:
            raise ArgumentError("ParetoSearch draws a candidate first and needs step(closure), where closure computes the loss "
                                "under the current parameters and calls backward")
        if not self.front:
            self.front = [{"values": self._values(), "scores": self.train()}]
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
            child = {"values": self._values(), "scores": self.train()}
        finally:
            self._set(best)
        return self._judged(parent, child, [edit for _, edit in changed], [p for p, _ in changed])

    def _judged(self, parent, child, edits, parameters):
        """The Step of a new candidate: into the front or not, and to the top or not."""
        is_new = all(child["values"] != known["values"] for known in self.front)
        kept = is_new and (mean(child["scores"]) >= mean(parent["scores"]) or _is_best_somewhere(child, self.front))
        if not kept:
            for parameter, edit in zip(parameters, edits, strict=True):
                self.remembered(parameter).setdefault("rejected", []).append(edit.after)
            means = [f"{mean(candidate['scores']):.3f}" for candidate in (parent, child)]
            return self.noted("rejected", f"not best on any training item: {' → '.join(means)}", edits)
        is_top = all(mean(child["scores"]) > mean(known["scores"]) for known in self.front)
        self.front = _front([*self.front, child], self.keep)
        if not is_top:
            return self.noted("rejected", "kept in the front, not the best of it", edits)
        return self.tried(list(zip(self.parameters(), child["values"], strict=True)), edits, "the best of the front")

    def _drawn(self):
        """A candidate of the front, as often as it is the best."""
        tops = _tops(self.front)
        wins = [sum(score == top for score, top in zip(c["scores"], tops, strict=True)) for c in self.front]
        if not any(wins):
            raise AnswerError(f"no training item has an answer by any of the {len(self.front)} candidates of the front, so that "
                              "none is the best on one; set .front = [] to begin it anew when the model answers again")
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


def _tops(front):
    """The best score of each item; minus infinity where nobody has an answer."""
    return [max([score for score in scores if score is not None], default=float("-inf"))
            for scores in zip(*[c["scores"] for c in front], strict=True)]


def _is_best_somewhere(child, front):
    return any(score is not None and score > top for score, top in zip(child["scores"], _tops(front), strict=True))


def _front(candidates, keep):
    """The candidates that no other beats on all items, those with the best means first, at most `keep`."""
    kept = [c for c in candidates if not any(_dominates(other, c) for other in candidates)]
    return sorted(kept, key=lambda c: mean(c["scores"]), reverse=True)[:keep]


def _dominates(x, y):
    pairs = [(a, b) for a, b in zip(x["scores"], y["scores"], strict=True) if a is not None and b is not None]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)
