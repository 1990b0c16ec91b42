"""Small tasks of text classification, written for retrograde: to tune prompts on, and to measure how well that went."""

import json
from importlib import resources
from typing import NamedTuple

from ..errors import ArgumentError

#: The tasks that come with retrograde.
TASKS = ("sentiment", "topic", "question")


class TextTask(NamedTuple):
    """Texts with labels in three parts, a plain prompt to start from, and other wordings and layouts to choose from.

    `demonstrations`, `validation` and `test` are lists of (text, label); layouts have a place {text}.
    """

    title: str
    about: str
    labels: list
    instruction: str
    instructions: list
    layout: str
    layouts: list
    demonstrations: list
    validation: list
    test: list


def text_task(name):
    """One of the tasks that come with retrograde: "sentiment" (2 labels), "topic" (4) or "question" (4), of 60 test items each.

    >>> task = rg.data.text_task("question")
    >>> task.labels, len(task.test), task.test[0]
    (['number', 'person', 'place', 'reason'], 60, ('How many legs has a spider?', 'number'))
    """
    if name not in TASKS:
        raise ArgumentError(f"the tasks are {', '.join(TASKS)}; got {name!r}")
    content = json.loads((resources.files(__package__) / "tasks" / f"{name}.json").read_text(encoding="utf-8"))
    parts = {part: _in_turns(content[part]) for part in ("demonstrations", "validation", "test")}
    return TextTask(**{**content, **parts})


def _in_turns(groups):
    """(text, label) pairs from the texts of each label, the labels taking turns."""
    longest = max(map(len, groups.values()))
    return [(texts[i], label) for i in range(longest) for label, texts in groups.items() if i < len(texts)]
