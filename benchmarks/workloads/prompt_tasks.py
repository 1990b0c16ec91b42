"""The tasks that prompts are tuned for: two that come with retrograde and more items for them, intents of messages, and dates.

Each has 24 demonstrations, 48 validation items and 200 test items, all different.
"""

import datetime
import importlib
import json
import random
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

_ITEMS = Path(__file__).parent / "items"
PARTS = {"demonstrations": 24, "validation": 48, "test": 200}
#: How a date may be written; each year, month and day of 1900 to 2029 may stand in it.
_FORMS = ("{month} {day}, {year}", "{day} {month} {year}", "{short} {day}, {year}", "{day} {short} {year}",
          "the {ordinal} of {month} {year}", "{month} {ordinal}, {year}", "{day}.{number}.{year}", "{ordinal} {short} {year}")


class PromptTask(NamedTuple):
    """Items of (text, right answer) in three parts, and a plain prompt to start from.

    `labels` are the answers to choose among; where there are none, the answer is written, and `options` are those of the call.
    """

    title: str
    labels: list
    instruction: str
    layout: str
    options: dict
    demonstrations: list
    validation: list
    test: list

    def told(self):
        """What who tunes is told: all but the test, as a dictionary."""
        return {**self._asdict(), "test": []}


def prompt_task(name):
    """The task of one of the names in `NAMES`."""
    return NAMES[name](name)


def is_right(answer, label):
    """Whether an answer is the right one, apart from spaces around it."""
    return str(answer).strip() == label


def _extended(name):
    """A task that comes with retrograde, whose validation and test items are followed by more of the same kind."""
    task = importlib.import_module("retrograde").data.text_task(name)
    more = json.loads((_ITEMS / f"{name}.json").read_text(encoding="utf-8"))
    parts = {part: [*getattr(task, part), *_in_turns(more.get(part, {}))] for part in PARTS}
    return PromptTask(task.title, task.labels, task.instruction, task.layout, {}, **parts)


def _written(name):
    """A task whose items are all in a file here."""
    found = json.loads((_ITEMS / f"{name}.json").read_text(encoding="utf-8"))
    parts = {part: _in_turns(found[part]) for part in PARTS}
    return PromptTask(found["title"], found["labels"], found["instruction"], found["layout"], {}, **parts)


def _dates(_):
    """Dates in eight forms, to be written as ISO 8601 has them; drawn with a seed, no day twice."""
    draw = random.Random(20)
    first, last = datetime.date(1900, 1, 1).toordinal(), datetime.date(2029, 12, 31).toordinal()
    days = [datetime.date.fromordinal(day) for day in draw.sample(range(first, last + 1), sum(PARTS.values()))]
    items = [(_told(day, _FORMS[i % len(_FORMS)]), day.isoformat()) for i, day in enumerate(days)]
    ends = [0, *(sum(list(PARTS.values())[: i + 1]) for i in range(len(PARTS)))]
    parts = {part: items[low:high] for part, (low, high) in zip(PARTS, pairwise(ends), strict=True)}
    options = {"max_tokens": 12, "stop": ["\n"]}
    return PromptTask("Dates", [], "Write the date in ISO format.", "Date: {text}\nISO:", options, **parts)


def _told(day, form):
    # Not by strftime, whose names of months depend on the locale.
    month = _MONTHS[day.month - 1]
    ending = "th" if 10 < day.day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    return form.format(day=day.day, month=month, short=month[:3], number=day.month, year=day.year, ordinal=f"{day.day}{ending}")


def _in_turns(groups):
    """(text, label) pairs, the labels taking turns; each has as many texts."""
    return [(text, label) for texts in zip(*groups.values(), strict=True) for label, text in zip(groups, texts, strict=True)]


_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
#: By name, what makes the task.
NAMES = {"topic": _extended, "question": _extended, "intent": _written, "dates": _dates}
