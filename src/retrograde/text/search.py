"""Search among the values of discrete parameters: wordings, layouts, demonstrations, their number and order."""

import random
from math import fsum

from ..errors import ArgumentError
from .gate import Validation
from .journal import Edit
from .optimizer import TextOptimizer, written
from .spaces import Demonstrations


class DiscreteSearch(TextOptimizer):
    """Tries other values of parameters that each have a space, and keeps the best if it passes the gate.

    params     dictionaries with "params" and "space" (`text.Options`, `text.Demonstrations`, or an object with `drawn(draw)`
               and `changed(value, draw)`)
    width      how many candidates a step compares; half are new draws, half are one move away from the current values
    first      how many items all candidates are scored on; after that the better half goes on with twice as many
    validate   a Validation; a step sees all of its items only for the last two candidates
    seed       of the draws

    Values that were rejected are not tried again. No feedback is needed, and no model but the one that is tuned.

    >>> style = rg.text.Parameter("Be brief.", role="style")
    >>> score = lambda items: [float(style.data == "Be kind.")] * len(items)
    >>> group = {"params": [style], "space": rg.text.Options(["Be brief.", "Be kind.", "Be bold."])}
    >>> search = DiscreteSearch([group], validate=Validation(range(8), score))
    >>> search.step().is_accepted, style.data
    (True, 'Be kind.')
    """

    def __init__(self, params, *, validate, width=8, first=8, level=0.25, seed=0):
        if not isinstance(validate, Validation):
            raise ArgumentError(f"a search scores candidates on parts of the items; pass validate=text.Validation(items, score), "
                                f"got {type(validate).__name__}")
        if width < 1 or first < 1:
            raise ArgumentError(f"width and first must be at least 1, got {width} and {first}")
        self.width, self.first = width, first
        self._draw = random.Random(seed)  # noqa: S311 - not for secrets
        self._seen = []  # the values of all parameters that the gate has rejected
        super().__init__(params, {"space": None}, validate, level)

    def _check(self, options):
        if not (hasattr(options["space"], "drawn") and hasattr(options["space"], "changed")):
            raise ArgumentError(f'each group needs a "space" such as text.Options([...]), got {options["space"]!r:.60}')

    def step(self, closure=None):
        """Compare candidates, and keep the best if it passes the gate; returns the Step. A `closure` is called first."""
        if closure is not None:
            closure()
        before = self._draw.getstate()
        try:
            return self._step()
        except BaseException:
            # An interrupted step is made again after a resume, with the same draws.
            self._draw.setstate(before)
            raise

    def _step(self):
        candidates = self._candidates()
        if not candidates:
            return self.noted("unchanged", "every value that was drawn has been tried")
        current = [p.data for p in self.parameters()]
        best, known = self._best(candidates, current)
        changes = [(p, data) for p, data, old in zip(self.parameters(), best, current, strict=True) if data != old]
        edits = [Edit(p.role, p.data, data) for p, data in changes]
        step = self.tried(changes, edits, f"best of {len(candidates)} candidates", known)
        if not step.is_accepted:
            self._seen.append(best)
        return step

    def _candidates(self):
        """New values of all parameters, `width` times as far as there are so many."""
        tried, found = [self._values(), *self._seen], []
        for attempt in range(8 * self.width):
            candidate = self._fresh() if attempt % 2 else self._moved()
            if candidate not in tried:
                tried.append(candidate)
                found.append(candidate)
            if len(found) == self.width:
                break
        return found

    def _values(self):
        return [parameter.data for parameter in self.parameters()]

    def _fresh(self):
        return [group["space"].drawn(self._draw) for group in self.param_groups for _ in group["params"]]

    def _moved(self):
        """The current values with one parameter changed."""
        values = self._values()
        spaces = [group["space"] for group in self.param_groups for _ in group["params"]]
        i = self._draw.randrange(len(values))
        values[i] = spaces[i].changed(values[i], self._draw)
        return values

    def _best(self, candidates, current):
        """The candidate that wins, halved again and again on more and more items, and its scores by place."""
        places = self._draw.sample(range(len(self.validate)), len(self.validate))
        scores, done, size = [[] for _ in candidates], 0, min(self.first, len(places))
        alive = list(range(len(candidates)))
        try:
            while len(alive) > 1 and done < len(places):
                for i in alive:
                    written(list(zip(self.parameters(), candidates[i], strict=True)))
                    scores[i] += self.validate(places[done:size])
                alive.sort(key=lambda i: -fsum(scores[i]))  # stable: of equals the earlier one, which is nearer
                alive = alive[: max(1, len(alive) // 2)]
                done, size = size, min(2 * size, len(places))
        finally:
            written(list(zip(self.parameters(), current, strict=True)))
        winner = alive[0]
        return candidates[winner], dict(zip(places, scores[winner], strict=False))

    def state_dict(self):
        version, numbers, normal = self._draw.getstate()
        return {**super().state_dict(), "seen": list(self._seen), "random": [version, list(numbers), normal]}

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        version, numbers, normal = state_dict["random"]
        self._seen = list(state_dict["seen"])
        self._draw.setstate((version, tuple(numbers), normal))


class FewShotSearch(DiscreteSearch):
    """Chooses, counts and orders demonstrations from a pool: a DiscreteSearch over rows.

    >>> shown = rg.text.Parameter([], role="demonstrations")
    >>> pool = [["great", "positive"], ["awful", "negative"], ["fine", "positive"], ["bad", "negative"]]
    >>> score = lambda items: [float(item in [row[0] for row in shown.data]) for item in items]
    >>> search = FewShotSearch([shown], pool, count=4, validate=Validation(["awful", "bad", "great"], score))
    >>> search.step().is_accepted
    True
    """

    def __init__(self, params, pool, *, validate, count=8, balanced=True, width=8, first=8, level=0.25, seed=0):
        space = Demonstrations(pool, count, balanced=balanced)
        params = [params] if not isinstance(params, (list, tuple)) else list(params)
        groups = [p if isinstance(p, dict) else {"params": [p]} for p in params]
        super().__init__([{"space": space, **group} for group in groups], validate=validate, width=width, first=first, level=level,
                         seed=seed)
