"""The records of decisions are numbered, listed in their index, and name files and tests that exist."""

import re
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from pages import anchor

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs" / "decisions.md"
PAGES = sorted((ROOT / "docs" / "decisions").glob("*.md"))
_NAMES = r"`[^`]+`(?:, `[^`]+`)*"


class Record(NamedTuple):
    """One decision: where it stands, its number, its title and its text, the last line of which names files and tests."""

    page: str
    number: int
    title: str
    text: str


def records_of(page, text):
    """The records of a page in its order."""
    parts = re.split(r"^## (\d+)\. (.+)\n", text, flags=re.MULTILINE)[1:]
    return [Record(page, int(number), title, body.strip()) for number, title, body in zip(*[iter(parts)] * 3, strict=True)]


def numbering_faults(records):
    """What goes against one number for each record, from 1 on without a gap, growing from one to the next on a page."""
    numbers = sorted(record.number for record in records)
    wanted = range(1, len(records) + 1)
    faults = [f"there are {len(records)} records, and no single number {n}" for n in wanted if numbers.count(n) != 1]
    for page, group in groupby(records, lambda record: record.page):
        on_page = [record.number for record in group]
        faults += [f"{page}: {n} stands after {before}" for before, n in pairwise(on_page) if n <= before]
    return faults


def index_faults(records, index):
    """What the index lacks of the records, or has beside them. Each entry is a title with a link to it, and a line on it."""
    listed = re.findall(r"^\* \[(\d+\. [^]]+)\]\((\S+)\): \S.*\.$", index, flags=re.MULTILINE)
    wanted = [(f"{r.number}. {r.title}", f"decisions/{r.page}#{anchor(f'{r.number}. {r.title}')}") for r in records]
    faults = [f"the index lacks {entry}" for entry in wanted if listed.count(entry) != 1]
    return faults + [f"the index has {entry}, which is no record" for entry in listed if entry not in wanted]


def naming_faults(record):
    """What goes against a last line that names files and tests, and against any name of a file in a record."""
    where, last = f"{record.page}, record {record.number}", record.text.splitlines()[-1]
    match = re.fullmatch(rf"Files: ({_NAMES}); tests: ({_NAMES})\.", last)
    if match is None:
        return [f"{where}: the last line must read `Files: ...; tests: ....`, got {last}"]
    tests, named = match[2].replace("`", "").split(", "), re.findall(r"`([\w.]+(?:/[\w.]*)+|\w+\.(?:py|toml))`", record.text)
    roots = ROOT, ROOT / "src" / "retrograde"
    faults = [f"{where}: there is no {name}" for name in named if not any([(root / name).exists() for root in roots])]
    if not any([re.fullmatch(r"tests/(.+/)?test_\w+\.py", name) for name in tests]):
        faults.append(f"{where}: none of {tests} is a file of tests")
    later = [int(n) for n in re.findall(r"[Ss]uperseded by \[record (\d+)\]", record.text)]
    return faults + [f"{where}: it cannot be superseded by {n}" for n in later if n <= record.number]


RECORDS = [record for page in PAGES for record in records_of(page.name, page.read_text(encoding="utf-8"))]


def test_decisions_are_numbered_one_after_the_other():
    assert RECORDS
    assert not numbering_faults(RECORDS)


def test_the_index_lists_each_decision_by_number_title_and_a_line():
    assert not index_faults(RECORDS, INDEX.read_text(encoding="utf-8"))


def test_each_decision_names_files_and_tests_that_exist():
    faults = [fault for record in RECORDS for fault in naming_faults(record)]
    assert not faults, "\n".join(faults)


GOOD = "## 1. One\n\nSo it is.\n\nFiles: `core/op.py`, `pyproject.toml`; tests: `tests/test_decisions.py`.\n"


@pytest.mark.parametrize(("wrong", "said"), [
    (GOOD + GOOD, "no single number 1"),
    (GOOD + GOOD.replace("1. One", "3. Two"), "no single number 2"),
    (GOOD.replace("1. One", "2. Two") + GOOD, "1 stands after 2"),
    (GOOD + GOOD.replace("1. One", "2. Two"), "the index lacks ('2. Two'"),
    (GOOD.replace("1. One", "1. Other"), "which is no record"),
    (GOOD.replace("core/op.py", "core/plan.py"), "there is no core/plan.py"),
    (GOOD.replace("So it is.", "See `core/`, `core/plan/`."), "there is no core/plan/"),
    (GOOD.replace("tests/test_decisions.py", "tests/test_plan.py"), "there is no tests/test_plan.py"),
    (GOOD.replace("tests/test_decisions.py", "tests/layering.py"), "is a file of tests"),
    (GOOD.replace("; tests: `tests/test_decisions.py`", ""), "the last line must read"),
    (GOOD.replace("So it is.", "Superseded by [record 1](page.md#1-one)."), "cannot be superseded by 1"),
])
def test_a_record_that_is_wrong_is_found(wrong, said):
    def faults(text):
        records = records_of("page.md", text)
        index = "* [1. One](decisions/page.md#1-one): why it is so."
        named = [fault for record in records for fault in naming_faults(record)]
        return "\n".join([*numbering_faults(records), *index_faults(records, index), *named])

    assert not faults(GOOD)
    assert said in faults(wrong)
