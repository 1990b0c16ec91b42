"""Rows of a task: from a file, or from what a program has, as items of inputs and an answer."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from ...errors import ArgumentError, DTypeError, ParseError
from ..data import as_text
from ..evidence.validation import Sets

#: The columns that hold the answer where none is named, in this order of preference.
ANSWERS = ("label", "output", "answer", "target")
#: The column that says which set a row belongs to, and those that are no inputs unless they are named.
SPLIT, APART = "split", ("split", "id")
SETS = ("train", "validation", "test")
#: Whole numbers up to here are exact as floats.
_EXACT = 2**53
_LINES, _TABLES = (".jsonl", ".ndjson", ".json"), {".csv": ",", ".tsv": "\t"}


class Rows(NamedTuple):
    """Items of a task: tuples of a text for each of `inputs`, and the answer last; in Sets where the data say which is for what.

    An input is called as its column, with "_" for what is no letter or digit. `answer` is the name of the answer's column, None
    where there is none.
    """

    inputs: tuple
    answer: str | None
    items: list | Sets

    @property
    def all(self):
        """All items, of whichever set."""
        return [item for part in self.items for item in part] if isinstance(self.items, Sets) else self.items


class _Place(NamedTuple):
    """A row as it was found, and where, in words."""

    row: Mapping
    at: str


def read(data, inputs=None, answer=None, is_answered=True, hint=""):
    """The Rows of a file (.jsonl, .csv, .tsv) or of an iterable of dictionaries or (input, output) pairs, or of Sets of them.

    inputs       the columns that the prompt is given; default: "input", or else all but the answer, "split" and "id"
    answer       the column of the right answer; default: the first of "label", "output", "answer" and "target"
    is_answered  whether each row must have one
    hint         what else to do where a column is missing

    >>> read([{"input": "2 + 2", "output": 4}])
    Rows(inputs=('input',), answer='output', items=[('2 + 2', '4')])
    """
    if isinstance(data, Sets):
        parts = [_found(part, f"the {name} items") for name, part in zip(SETS, data, strict=True)]
        inputs, answer = _columns([place for part in parts for place in part], inputs, answer, is_answered, hint)
        return Rows(_words(inputs), answer, Sets(*([_item(place, inputs, answer) for place in part] for part in parts)))
    places = _found(data, "the data")
    inputs, answer = _columns(places, inputs, answer, is_answered, hint)
    items = [_item(place, inputs, answer) for place in places]
    return Rows(_words(inputs), answer, _parted(places, items) if SPLIT in places[0].row else items)


def _found(data, name):
    """The places of `data`; at least one."""
    if isinstance(data, (str, Path)):
        name, places = Path(data).name, _read(Path(data))
    elif hasattr(data, "to_dict") and not isinstance(data, Mapping):  # a data frame
        places = [_Place(row, f"{name}, row {i}") for i, row in enumerate(data.to_dict("records"), 1)]
    elif isinstance(data, Iterable) and not isinstance(data, Mapping):
        places = [_Place(_as_row(row, f"{name}, row {i}"), f"{name}, row {i}") for i, row in enumerate(data, 1)]
    else:
        raise DTypeError("a task needs the path of a file, or an iterable of dictionaries or (input, output) pairs, got "
                         f"{type(data).__name__}")
    if not places:
        raise ArgumentError(f"{name} must hold items, and holds none")
    return places


def _as_row(row, at):
    if isinstance(row, Mapping):
        return row
    if isinstance(row, (tuple, list)) and len(row) == 2:
        return {"input": row[0], "output": row[1]}
    raise DTypeError(f'{at}: each must be a dictionary such as {{"input": ..., "output": ...}}, or a pair of these, got '
                     f"{row!r:.100}")


def _read(path):
    kind = path.suffix.lower()
    if kind not in (*_LINES, *_TABLES):
        raise ArgumentError(f"a file of items must end in {', '.join((*_LINES, *_TABLES))}, got {path.name}")
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise DTypeError(f"{path.name}, line {line}: the file must be UTF-8, and has a byte that is not: {error.reason}") from None
    return _read_lines(path.name, content) if kind in _LINES else _read_table(path.name, content, _TABLES[kind])


def _read_lines(name, content):
    """JSON, an object a line."""
    places = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        at = f"{name}, line {number}"
        try:
            row = json.loads(line, object_pairs_hook=_unique)
        except (ValueError, RecursionError, ParseError) as error:
            raise DTypeError(f"{at}: each line must be one JSON object, and this is none: {error}") from None
        if not isinstance(row, dict):
            raise DTypeError(f'{at}: each line must be one JSON object such as {{"input": ..., "output": ...}}, got '
                             f"{line.strip():.100}")
        places.append(_Place(row, at))
    return places


def _unique(pairs):
    """The members of an object; a ParseError if one stands there twice, of which either may be meant."""
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if twice:
        raise ParseError(f"{twice[0]!r:.60} stands there twice")
    return dict(pairs)


def _read_table(name, content, delimiter):
    """A table with the names of the columns in its first line."""
    reader, places = csv.DictReader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True), []
    try:
        # Who writes "input, output" means no name that begins with a space.
        reader.fieldnames = [column.strip() for column in reader.fieldnames or ()]
        twice = [column for column, count in Counter(reader.fieldnames or ()).items() if count > 1]
        if twice:
            raise DTypeError(f"{name}, line 1: each column needs a name of its own, and there are several called {twice[0]!r:.60}")
        for row in reader:
            at = f"{name}, line {reader.line_num}"
            if None in row or None in row.values():
                raise DTypeError(f"{at}: each line must have the columns {', '.join(reader.fieldnames or ())}, got "
                                 f"{'more' if None in row else 'fewer'}")
            places.append(_Place(row, at))
    except csv.Error as error:
        raise DTypeError(f"{name}, line {reader.reader.line_num}: {error}") from None
    return places


def _columns(places, inputs, answer, is_answered, hint):
    """The names of the input columns, which may be given as they are or as words, and that of the answer or None."""
    known = list(places[0].row)
    answer = answer or next((name for name in ANSWERS if name in known), None)
    if inputs is None:
        inputs = ["input"] if "input" in known else [name for name in known if name not in {answer, *APART}]
    by_word = {_word(name): name for name in known}
    inputs = [inputs] if isinstance(inputs, str) or not isinstance(inputs, Iterable) else inputs
    inputs = tuple(by_word.get(name, name) if isinstance(name, str) and name not in known else name for name in inputs)
    missing = [name for name in (*inputs, *([answer] if answer else [])) if name not in known]
    if missing or not inputs or (is_answered and not answer):
        lack, told = _lacking(missing, inputs, hint)
        raise ArgumentError(f"{places[0].at} {lack}; its columns are {', '.join(map(repr, known))}{told}")
    if answer in inputs:
        raise ArgumentError(f"{answer!r} is the answer, and cannot be an input too")
    words = _words(inputs)
    if "_" in words or len(set(words)) < len(words):
        raise ArgumentError("an input is put into the prompt by the name of its column, with _ for what is no letter or digit, and "
                            f"{', '.join(map(repr, inputs))} give {', '.join(words)}; rename the columns")
    return inputs, answer


def _lacking(missing, inputs, hint):
    """What rows lack that have no such columns, or not all that is needed, and what to do about it."""
    if missing:
        return f"has no column {', '.join(map(repr, missing))}", hint if any(name in inputs for name in missing) else ""
    if not inputs:
        return "has no inputs", ""
    return (f"has no answer: a column {', '.join(map(repr, ANSWERS))}, or one that is named",
            "; without answers a judge needs criteria, which say what is good")


def _words(columns):
    return tuple(map(_word, columns))


def _word(column):
    """What the input in a column is called; a {place} of a prompt can bear that name."""
    word = re.sub(r"\W+", "_", str(column).strip())
    return word if re.match("[A-Za-z_]", word) else f"_{word}"


def _item(place, inputs, answer):
    item = tuple([_text(place, name) for name in inputs])
    if not any(text.strip() for text in item):
        raise DTypeError(f"{place.at}: the row has nothing in {', '.join(inputs)}")
    if answer is None:
        return (*item, "")
    right = _text(place, answer)
    if not right.strip():
        raise DTypeError(f"{place.at}: the row has no answer in {answer!r}")
    return (*item, right)


def _text(place, name):
    if name not in place.row:
        raise DTypeError(f"{place.at}: the row has no {name!r}; it has {', '.join(map(repr, place.row)) or 'nothing'}")
    value = place.row[name]
    if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not isfinite(value)):
        raise DTypeError(f"{place.at}: {name!r} must be a text or a finite number, got {value!r:.60}")
    # Tables make 101.0 of 101 where another row has no number; nobody answers so.
    return as_text(int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value)


def _parted(places, items):
    """Sets by the column that says which set a row belongs to."""
    sets = Sets([], [], [])
    for place, item in zip(places, items, strict=True):
        name = place.row.get(SPLIT)
        if name not in SETS:
            raise DTypeError(f"{place.at}: {SPLIT!r} must be {', '.join(SETS)}, got {name!r:.40}")
        getattr(sets, name).append(item)
    return sets
