"""Items that candidates are compared on, their scores, and the three sets that a run takes them from."""

import json
import random
from typing import NamedTuple

import numpy as np

from ...errors import AnswerError, ArgumentError, BudgetError, DTypeError, ModelError, ReplayError, ShapeError, UnsupportedError
from ..models.trace import tracing_apart
from .samples import by_item


class Validation:
    """Items that candidates are compared on, and how they are scored: `score(items)` gives a number for each, or an Evaluation.

    items    the validation items. No proposal may be made from them: see `text.split_items`
    score    called with some of the items; None instead of a number says that a sample has no answer, since its call failed
    missing  the largest share of items without an answer; they are asked once more, and then left out of the comparison. Above it
             an AnswerError ends the step

    Items that occur more than once count as one. `units` numbers them.

    >>> held_out = Validation([1, 2, 3], lambda items: [item * 0.1 for item in items])
    >>> held_out([0, 2])
    [0.1, 0.30000000000000004]
    """

    def __init__(self, items, score, *, missing=0.1):
        self.items, self._score, self.missing = list(items), score, missing
        #: The error of the last call in which no item had an answer; None if there was none.
        self.failure: ModelError | None = None
        #: The calls that the last scoring made for each item, by place, as far as they can be told apart.
        self.calls: dict[int, list] = {}
        self._why = ""  # the last error of a call, as a sentence
        if not self.items:
            raise ArgumentError("a validation needs at least one item, got none")
        if not 0 <= missing < 1:
            raise ArgumentError(f"the share of missing answers must be at least 0 and below 1, got {missing}")
        numbers: dict[str, int] = {}
        self.units = np.array([numbers.setdefault(key_of(item), len(numbers)) for item in self.items])

    def __len__(self):
        return len(self.items)

    def __call__(self, places=None):
        """The scores of all items, or of those at `places`; None for those that have no answer after two calls."""
        places = list(range(len(self.items)) if places is None else places)
        self.calls = {}
        scores = dict(zip(places, self.attempted(places), strict=True))
        again = [place for place in places if scores[place] is None]
        if again:
            scores.update(zip(again, self.attempted(again), strict=True))
        lost = [place for place in places if scores[place] is None]
        # Of a few items one may be missing, whatever its share.
        if len(lost) > max(1, self.missing * len(places)) or len(lost) == len(places) > 0:
            most, more = ("", "") if len(lost) == len(places) else (
                f", and at most a share of {self.missing:g} may be missing", ", or allow more with Validation(..., missing=)")
            raise AnswerError(f"{len(lost)} of {len(places)} validation items have no answer after two calls{most}; nothing was "
                              f"decided. {self._why}Go on when the model answers again{more}") from self.failure
        return [scores[place] for place in places]

    def attempted(self, places):
        """The scores of the items at `places` from one call; None for those that have no answer."""
        chosen = [self.items[i] for i in places]
        try:
            with tracing_apart() as trace:
                try:
                    found = self._score(chosen)
                finally:
                    self._why = next((f"The last error was: {call.error}. " for call in trace.calls[::-1] if call.error), self._why)
                self.calls.update(by_item(trace.calls, places))
        except (BudgetError, ReplayError, UnsupportedError):
            raise  # no later call would do better
        except ModelError as error:
            self.failure = error
            return [None] * len(chosen)
        scores = checked(found)
        if len(scores) != len(chosen):
            raise ShapeError(f"the validation must give one score for each item, got {len(scores)} for {len(chosen)} items")
        return scores


def scored(validate):
    """The score of each item, by a Validation or another function of no arguments; None for those without an answer."""
    return checked(validate())


def checked(found):
    """The scores in what a scoring function gave, as a list of floats, with None for samples without an answer."""
    scores = list(getattr(found, "scores", found))
    if all(type(score) is float for score in scores) and np.isfinite(scores).all():
        return scores
    return [_checked(score) for score in scores]


def _checked(score):
    """A score as a float, or None for a sample without an answer."""
    if score is None:
        return None
    try:
        number = float(score)
    except (TypeError, ValueError):
        raise DTypeError(f"a score must be a number, or None for a sample without an answer, got {score!r:.60}") from None
    if not np.isfinite(number):
        raise ArgumentError(f"a score must be a finite number, got {number}; return None for a sample without an answer")
    return number


def mean(scores):
    """The mean of the scores that there are; NaN if there are none."""
    found = [score for score in scores if score is not None]
    return float(np.mean(found)) if found else float("nan")


class Sets(NamedTuple):
    """Three sets of items that share none.

    train       what proposals are made from: feedback, demonstrations, a choice among candidates
    validation  what the gate decides on; nothing else sees its scores
    test        what the final figures come from, asked once, at the end
    """

    train: list
    validation: list
    test: list


def split_items(items, *, train=0.3, validation=0.4, test=0.3, seed=0, by=None):
    """`items` divided at random into Sets of train, validation and test items, by these shares.

    Equal items go into one set, so that none is on both sides. `by`, a function of an item, says what is equal: of its inputs, for
    one, where the same input may stand there with several answers.

    >>> [len(part) for part in split_items(range(100), train=0.2, validation=0.5, test=0.3)]
    [20, 50, 30]
    """
    items, shares = list(items), (train, validation, test)
    if min(shares) < 0 or not sum(shares) > 0:
        raise ArgumentError(f"the shares of train, validation and test must be 0 or more, got {shares}")
    kinds: dict[str, list] = {}
    for item in items:
        kinds.setdefault(key_of(item if by is None else by(item)), []).append(item)
    groups = list(kinds.values())
    random.Random(seed).shuffle(groups)  # noqa: S311 - not for secrets
    bounds = np.cumsum(shares) / sum(shares) * len(items)
    sets, part, placed = Sets([], [], []), 0, 0
    for group in groups:
        while part < 2 and placed + len(group) / 2 > bounds[part]:
            part += 1
        sets[part].extend(group)
        placed += len(group)
    return sets


def check_apart(**sets):
    """Raise an error if two of some sets, given by name, share an item."""
    keys = {name: {key_of(item) for item in items} for name, items in sets.items()}
    names = list(keys)
    for i, name in enumerate(names):
        for other in names[i + 1 :]:
            shared = keys[name] & keys[other]
            if shared:
                raise ArgumentError(f"the {name} and {other} items must differ, and {len(shared)} are in both, such as "
                                    f"{min(shared)[:80]}; text.split_items(items) makes sets that share none")


def key_of(item):
    """A string that equal items share."""
    try:
        return json.dumps(item, sort_keys=True, ensure_ascii=False)
    except (TypeError, ValueError):
        return f"{type(item).__name__} {item!r}"
