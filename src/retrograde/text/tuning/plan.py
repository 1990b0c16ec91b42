"""What a run of `tune` can afford and see: which items are for what, how many calls, and which gain it would notice."""

from typing import NamedTuple

from ...errors import ArgumentError
from ..evidence.power import items_needed, power, smallest_gain
from ..evidence.validation import Sets, check_apart, split_items
from .rows import SETS

#: The shares of the items, and of the calls that the test may take; and the most training items that are of use.
_TRAIN, _VALIDATION, _TEST, _TESTS, _MOST = 0.2, 0.5, 0.3, 0.3, 64
#: An accuracy that a prompt may well start from, and how often a rise from it to 1 must be seen for a run to make sense.
_BASELINE, _LEAST = 0.5, 0.5


class Plan(NamedTuple):
    """The sets of a run, its limits on calls, and what its gate can see.

    `searching` and `testing` are the most calls of the search and of the test. `gain` is the smallest gain in accuracy over 0.5
    that is seen in 80 % of runs, None if there is none; `power` is the share of runs in which the largest, 0.5, is seen.
    """

    sets: Sets
    searching: int
    testing: int
    gain: float | None
    power: float

    def __str__(self):
        parts = (f"{len(self.sets.train)} items to make prompts from, {len(self.sets.validation)} to compare prompts on, "
                 f"{len(self.sets.test)} held out for the test.")
        seen = (f"A rise in accuracy from {_BASELINE} to 1 is seen in {self.power:.0%} of runs." if self.gain is None else
                f"A gain in accuracy of {self.gain:.2f} is seen in 80 % of runs.")
        return f"{parts} {seen}"


def plan(rows, *, calls, calls_each, steps, width, level, proposals, labels, seed=0):
    """The Plan of a run: the items in three sets, as many of them as `calls` are enough for.

    Items that come in sets stay as they are. Raises an ArgumentError if there are too few items for any gain to be seen.
    """
    whole = rows.items if isinstance(rows.items, Sets) else _divided(rows.items, bool(labels), seed)
    check_apart(**{name: [_inputs(item) for item in part] for name, part in zip(SETS, whole, strict=True)})
    sets = whole if whole is rows.items else _afforded(whole, calls, calls_each, steps, width, proposals)
    if not sets.validation or not sets.test:
        raise ArgumentError("a task needs items to compare prompts on and others to test, where equal ones are the same, got "
                            f"{len(sets.validation)} and {len(sets.test)}")
    tests, least = 2 * len(sets.test) * calls_each, (len(sets.validation) + 1) * calls_each
    if calls - tests < least:
        raise ArgumentError(f"the budget must be at least {tests + least} calls here, for {tests} of the tests and {least} to look "
                            f"at the validation items, got {calls}")
    return Plan(sets, calls - tests, tests, *_seen(sets, whole, calls, {"width": width, "steps": steps, "level": level}))


def _seen(sets, whole, calls, settings):
    """The smallest gain that is seen, and the power for the largest; an ArgumentError where that is too little."""
    count, total = len(set(sets.validation)), sum(map(len, whole))
    if settings["level"] == 1:  # no test is asked for
        return 0.0, 1.0
    seen = power(count, 1 - _BASELINE, baseline=_BASELINE, **settings)
    if seen < _LEAST:
        needed = items_needed(0.3, baseline=_BASELINE, **settings)
        few = (f"{total} items are too few: {count} are" if len(sets.validation) == len(whole.validation) else
               f"{calls} calls are too few: they allow {count} items")
        raise ArgumentError(f"{few} to compare prompts on, by which a rise in accuracy from {_BASELINE} to 1 would be told from "
                            f"chance in {seen:.0%} of runs. {needed} of them, about {round(needed / _VALIDATION)} items in all, "
                            "would show a rise from 0.5 to 0.8 in 80 %. Give more, a smaller width or fewer steps, or level=1 to "
                            "take what looks better without a test")
    return smallest_gain(count, baseline=_BASELINE, **settings), seen


def _divided(items, is_balanced, seed):
    """Three sets that share no input; where answers are labels, each label is divided by itself, and labels alternate.

    An input that has several labels goes with the first of them.
    """
    shares = {"train": _TRAIN, "validation": _VALIDATION, "test": _TEST, "seed": seed, "by": _inputs}
    if not is_balanced:
        return split_items(items, **shares)
    first: dict[tuple, str] = {}
    groups: dict[str, list] = {}
    for item in items:
        groups.setdefault(first.setdefault(_inputs(item), item[-1]), []).append(item)
    parts = [split_items(groups[label], **shares) for label in sorted(groups)]
    return Sets(*(_in_turns([part[i] for part in parts]) for i in range(3)))


def _inputs(item):
    return tuple(item[:-1])


def _in_turns(groups):
    longest = max(map(len, groups))
    return [group[i] for i in range(longest) for group in groups if i < len(group)]


def _afforded(sets, calls, calls_each, steps, width, proposals):
    """The sets without the items that the calls are not enough for, tests first."""
    tested = sets.test[: max(1, int(_TESTS * calls / (2 * calls_each)))]
    left = calls - proposals - 2 * len(tested) * calls_each
    compared = len(sets.validation)
    while compared > 1 and (compared + steps * searched(compared, width)) * calls_each > left:
        compared -= 1
    return Sets(sets.train[:_MOST], sets.validation[:compared], tested)


def searched(count, width):
    """How many items are scored in one step of a DiscreteSearch that compares `width` candidates on `count` items."""
    total, done, size, alive = 0, 0, min(first_of(count), count), width
    while done < count:
        size = count if alive == 1 else size
        total += alive * (size - done)
        alive, done, size = max(1, alive // 2), size, min(2 * size, count)
    return total


def first_of(count):
    """How many validation items all candidates of a step are scored on first."""
    return max(8, count // 8)
