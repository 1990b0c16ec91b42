"""Search among the values of discrete parameters: wordings, layouts, demonstrations, their number and order."""

import random
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from .evidence.gate import numbers
from .evidence.validation import Validation, check_apart
from .journal import Edit
from .optimizer import TextOptimizer, written
from .spaces import Demonstrations


class Race(NamedTuple):
    """What candidates were scored on: places of items in order, scores before, and after (items, candidates), see `Gate.decide`.

    `calls` are those behind the winner's scores, by place.
    """

    places: list
    before: np.ndarray
    after: np.ndarray
    rungs: list
    winner: int
    calls: dict


class DiscreteSearch(TextOptimizer):
    """Tries other values of parameters that each have a space, and keeps the best if it passes the gate.

    params     dictionaries with "params" and "space" (`text.Options`, `text.Demonstrations`, or an object with `drawn(draw)`
               and `changed(value, draw)`)
    width      how many candidates a step compares; half are new draws, half are one move away from the current values
    first      how many items all candidates are scored on, by default a sixth and at least 8; after that the better half goes on
               with twice as many (successive halving: Karnin, Koren and Somekh 2013)
    validate   a Validation; only the last candidate is scored on all of its items
    train      a Validation of other items, which candidates are halved on before, until `finalists` are left. These items cost the
               gate nothing: of fewer candidates it needs less of a gain to tell one from chance
    seed       of the draws

    The gate knows that the winner was chosen, from how many, and on which items; `level`, `steps` and `strict` are the gate's,
    see TextOptimizer. Values that were rejected are not tried again. No feedback is needed, and no model but the one that is tuned.

    >>> style = rg.text.Parameter("Be brief.", role="style")
    >>> score = lambda items: [float(style.data == "Be kind.")] * len(items)
    >>> group = {"params": [style], "space": rg.text.Options(["Be brief.", "Be kind.", "Be bold."])}
    >>> search = DiscreteSearch([group], validate=Validation(range(8), score))
    >>> search.step().is_accepted, style.data
    (True, 'Be kind.')
    """

    def __init__(self, params, *, validate, train=None, width=8, first=None, finalists=2, level=0.05, steps=None,
                 strict=False, seed=0):
        for name, found in (("validate", validate), ("train", train)):
            if not isinstance(found, Validation) and (found is not None or name == "validate"):
                raise ArgumentError(f"a search scores candidates on parts of the items; pass {name}=text.Validation(items, score), "
                                    f"got {type(found).__name__}")
        if train is not None:
            check_apart(train=train.items, validation=validate.items)
        # A better candidate by 0.2 is left behind in 9 runs of 100 with an eighth, in 4 with a sixth, for a fifth more calls.
        first = max(8, len(validate) // 6) if first is None else first
        if min(width, first, finalists) < 1:
            raise ArgumentError(f"width, first and finalists must be at least 1, got {width}, {first} and {finalists}")
        self.train: Any = train
        self.width, self.first, self.finalists = width, first, finalists
        self.seed, self._draw = seed, random.Random(seed)  # noqa: S311 - not for secrets
        self._seen = []  # the values of all parameters that the gate has rejected
        super().__init__(params, {"space": None}, validate, level, steps, strict)

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
        current, count = self._values(), len(candidates)
        if self.train is not None:
            candidates = self._thinned(candidates, current)
        race = self._race(candidates, current)
        best = candidates[race.winner]
        changes = [(p, data) for p, data, old in zip(self.parameters(), best, current, strict=True) if data != old]
        edits = [Edit(p.role, p.data, data) for p, data in changes]
        decision = self.gate.decide(race.before, race.after, race.rungs, race.winner, self.validate.units[race.places])
        # The places of the decision are those of the race.
        won, lost = (tuple(sorted(race.places[i] for i in found)) for found in (decision.won, decision.lost))
        scores = {place: None if np.isnan(score) else float(score)
                  for place, score in zip(race.places, race.after[:, race.winner], strict=True)}
        step = self.decided(changes, edits, [scores[i] for i in range(len(scores))], decision._replace(won=won, lost=lost),
                            f"best of {count} candidates", race.calls)
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

    def _thinned(self, candidates, current):
        """The candidates that are left when they are halved on more and more training items."""
        places = self._draw.sample(range(len(self.train)), len(self.train))
        totals, alive, done, size = np.zeros(len(candidates)), list(range(len(candidates))), 0, min(8, len(places))
        try:
            while len(alive) > self.finalists:
                for i in alive:
                    written(list(zip(self.parameters(), candidates[i], strict=True)))
                    totals[i] += np.nansum(numbers(self.train(places[done:size])))
                alive.sort(key=lambda i: -totals[i])
                done, size = size, min(2 * size, len(places))
                alive = alive[: self.finalists if done == size else max(self.finalists, len(alive) // 2)]
        finally:
            written(list(zip(self.parameters(), current, strict=True)))
        return [candidates[i] for i in alive]

    def _race(self, candidates, current):
        """The Race of the candidates, halved again and again on more and more items; the last one is scored on all."""
        places = self._draw.sample(range(len(self.validate)), len(self.validate))
        scores: Any = self.current_scores()
        before = numbers([scores[i] for i in places])
        after = np.full((len(places), len(candidates)), np.nan)
        alive, rungs, done, size = list(range(len(candidates))), [], 0, min(self.first, len(places))
        calls = [{} for _ in candidates]
        try:
            while done < len(places):
                size = len(places) if len(alive) == 1 else size
                for i in alive:
                    written(list(zip(self.parameters(), candidates[i], strict=True)))
                    after[done:size, i] = numbers(self.validate(places[done:size]))
                    calls[i].update(self.validate.calls)
                if len(alive) > 1:
                    totals = np.nan_to_num(after[:size] - before[:size, None]).sum(0)
                    alive.sort(key=lambda i: (-totals[i], i))  # of equals the earlier one, as the gate has it
                    alive = alive[: max(1, len(alive) // 2)]
                    rungs.append((size, len(alive)))
                done, size = size, min(2 * size, len(places))
        finally:
            written(list(zip(self.parameters(), current, strict=True)))
        return Race(places, before, after, rungs, alive[0], calls[alive[0]])

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
    >>> score = lambda items: [float(len(shown.data) == 4)] * len(items)
    >>> search = FewShotSearch([shown], pool, count=4, validate=Validation(range(12), score))
    >>> search.step().is_accepted
    True
    """

    def __init__(self, params, pool, *, validate, count=8, balanced=True, **options):
        space = Demonstrations(pool, count, balanced=balanced)
        params = [params] if not isinstance(params, (list, tuple)) else list(params)
        groups = [p if isinstance(p, dict) else {"params": [p]} for p in params]
        super().__init__([{"space": space, **group} for group in groups], validate=validate, **options)
