"""Small tasks of text classification, written for retrograde: to tune prompts on, and to measure how well that went."""

import csv
import json
import random
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from ..errors import ArgumentError, DTypeError

#: The tasks that come with retrograde.
TASKS = ("sentiment", "topic", "question")

# Of a user's own rows: what part demonstrations are chosen from, what part candidates are compared on, and how many at most.
_SHOWN, _COMPARED, _MOST = 0.2, 0.4, 64
_LEAST = 3


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

    def starting_from(self, instruction):
        """The same task with another prompt to start from."""
        return self._replace(instruction=instruction)


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


def read_task(path, instruction=None):
    """A task from the rows of a file: CSV with the columns text and label, or JSON lines with these keys (.jsonl, .json).

    The rows are split in the same way each time, label by label: a fifth to choose demonstrations from, two fifths to compare
    candidates on (64 rows at most, both), and the rest to test. Each label needs three rows at least.

    >>> import pathlib
    >>> _ = pathlib.Path("mail.csv").write_text("text,label\\n" + "Win now!,spam\\nHi Ann,mail\\n" * 5)
    >>> task = read_task("mail.csv")
    >>> task.labels, len(task.demonstrations), len(task.validation), len(task.test)
    (['mail', 'spam'], 2, 4, 4)
    """
    path = Path(path)
    groups = {}
    for number, row in enumerate(_rows(path), 1):
        text, label = row.get("text"), row.get("label")
        if not (isinstance(text, str) and text.strip() and isinstance(label, str) and label.strip()):
            raise DTypeError(f"{path.name}, row {number}: each row needs a text and a label, both strings, got {row!r:.200}")
        groups.setdefault(label.strip(), []).append(text.strip())
    few = [label for label, texts in groups.items() if len(texts) < _LEAST]
    if len(groups) < 2 or few:
        raise ArgumentError(f"{path.name} needs at least two labels of {_LEAST} rows each, got "
                            f"{ {label: len(texts) for label, texts in groups.items()} }")
    return _own(path.stem, dict(sorted(groups.items())), instruction)


def _own(title, groups, instruction):
    labels = list(groups)
    named = f"{', '.join(labels[:-1])} or {labels[-1]}"
    return TextTask(
        title, "Your own rows.", labels, instruction or "Classify the text.",
        [f"Choose the label of each text: {named}.", f"Is the text {named}?", f"Each text is followed by its label: {named}."],
        "Text: {text}\nLabel:", ["{text}\nLabel:", "Text: {text}\nThis is", "Input: {text}\nCategory:", "{text}\nThe label is"],
        *_split(groups))


def _split(groups):
    """Three lists of (text, label), from the texts of each label."""
    draw, parts = random.Random(0), ({}, {}, {})  # noqa: S311 - not for secrets
    most = max(1, _MOST // len(groups))
    for label, texts in groups.items():
        texts = draw.sample(texts, len(texts))
        shown = min(max(1, round(_SHOWN * len(texts))), most)
        compared = min(max(1, round(_COMPARED * len(texts))), most)
        parts[0][label], parts[1][label], parts[2][label] = texts[:shown], texts[shown:][:compared], texts[shown + compared :]
    return [_in_turns(part) for part in parts]


def _in_turns(groups):
    """(text, label) pairs from the texts of each label, the labels taking turns."""
    longest = max(map(len, groups.values()))
    return [(texts[i], label) for i in range(longest) for label, texts in groups.items() if i < len(texts)]


def _rows(path):
    """The rows of a file as dictionaries."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix.lower() not in {".jsonl", ".json", ".ndjson"}:
            return list(csv.DictReader(file))
        try:
            rows = [json.loads(line) for line in file if line.strip()]
        except ValueError as error:
            raise DTypeError(f"{path.name} must hold one JSON object a line: {error}") from None
    strange = [row for row in rows if not isinstance(row, dict)]
    if strange:
        raise DTypeError(f"{path.name} must hold one JSON object a line, got {strange[0]!r:.200}")
    return rows
