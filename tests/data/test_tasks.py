import json

import pytest

from retrograde.data import TASKS, read_task, text_task
from retrograde.errors import ArgumentError, DTypeError


@pytest.mark.parametrize("name", TASKS)
def test_a_bundled_task_is_balanced_and_its_parts_share_no_text(name):
    task = text_task(name)
    assert len(task.test) == 60
    for part in (task.demonstrations, task.validation, task.test):
        counts = {label: sum(found == label for _, found in part) for label in task.labels}
        assert len(set(counts.values())) == 1
        assert sum(counts.values()) == len(part)
    texts = [text for part in (task.demonstrations, task.validation, task.test) for text, _ in part]
    assert len({text.casefold() for text in texts}) == len(texts)


@pytest.mark.parametrize("name", TASKS)
def test_every_layout_has_a_place_for_the_text_and_no_space_at_its_end(name):
    task = text_task(name)
    for layout in [task.layout, *task.layouts]:
        assert layout.count("{text}") == 1
        assert layout == layout.rstrip()
    assert len(set(task.instructions) | {task.instruction}) == len(task.instructions) + 1


def test_an_unknown_task_names_those_there_are():
    with pytest.raises(ArgumentError, match=r"sentiment, topic, question; got 'weather'"):
        text_task("weather")


def rows(count):
    return [(f"text {i} of {label}", label) for label in ("b", "a", "c") for i in range(count)]


def test_json_lines_and_csv_give_the_same_task_and_every_row_one_part(tmp_path):
    (tmp_path / "own.csv").write_text("label,text\n" + "".join(f"{label},{text}\n" for text, label in rows(10)), encoding="utf-8")
    (tmp_path / "own.jsonl").write_text("".join(json.dumps({"text": t, "label": n}) + "\n" for t, n in rows(10)), encoding="utf-8")
    task = read_task(tmp_path / "own.csv")
    assert task == read_task(tmp_path / "own.jsonl")
    assert task.labels == ["a", "b", "c"]
    assert [len(part) for part in (task.demonstrations, task.validation, task.test)] == [6, 12, 12]
    assert sorted([*task.demonstrations, *task.validation, *task.test]) == sorted(rows(10))


def test_a_label_of_three_rows_has_one_in_each_part(tmp_path):
    (tmp_path / "own.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows(3)), encoding="utf-8")
    task = read_task(tmp_path / "own.csv", "Sort.")
    assert task.instruction == "Sort."
    for part in (task.demonstrations, task.validation, task.test):
        assert sorted(label for _, label in part) == ["a", "b", "c"]


def test_of_many_rows_most_are_held_out(tmp_path):
    (tmp_path / "own.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows(300)), encoding="utf-8")
    task = read_task(tmp_path / "own.csv")
    assert [len(part) for part in (task.demonstrations, task.validation, task.test)] == [63, 63, 774]


@pytest.mark.parametrize(("name", "content", "told"), [
    ("a.csv", "text,class\nx,y\n", "row 1: each row needs a text and a label"), ("a.csv", "text,label\nx,\n", "row 1"),
    ("a.jsonl", '{"text": "x", "label": 1}\n', "both strings"), ("a.jsonl", "[1]\n", "one JSON object a line"),
    ("a.jsonl", "{\n", "one JSON object a line"),
])
def test_a_row_that_is_none_is_an_error_that_shows_it(tmp_path, name, content, told):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DTypeError, match=told):
        read_task(tmp_path / name)


def test_too_few_rows_or_labels_are_an_error_that_counts_them(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nx,a\ny,a\nz,a\n", encoding="utf-8")
    with pytest.raises(ArgumentError, match=r"\{'a': 3\}"):
        read_task(tmp_path / "a.csv")
