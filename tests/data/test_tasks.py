import pytest

from retrograde.data import TASKS, text_task
from retrograde.errors import ArgumentError


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
