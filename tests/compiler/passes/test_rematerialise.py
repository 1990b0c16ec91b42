"""rematerialise: what a late product reads is computed again for it, unless that would take more than it saves, or go in a circle."""

import numpy as np
import pytest

from graphs import called, leaf, names, schedule_of
from retrograde.compiler.index.elements import AFTER
from retrograde.compiler.passes.rematerialise import rematerialised

ROWS, WIDTH = 4096, 512


def late_product(how):
    """An activation that a product reads at once, and another one when a chain of passes is over.

    how  "cheap" for a cheap activation; "hosted" for an expensive one that a loop finds on its way to its slope, and "circular" where
         that loop needs the late product itself; "expensive" where nobody finds it; "kept" where it is asked for as well
    """
    h, early, late = leaf(ROWS, WIDTH), leaf(WIDTH, 64), leaf(WIDTH, 64)
    value = called("relu" if how in ("cheap", "kept") else "gelu_tanh", h)
    node = called("matmul", value, early)
    for _ in range(12):  # each needs all rows of the one before
        node = called("subtract", node, called("sum", node, axis=0, keepdims=True))
    late = called("add", late, called("sum", node))
    product = called("matmul", value, late)
    outputs = [product]
    if how in ("hosted", "circular"):
        factor = called("sum", product if how == "circular" else node, axis=1, keepdims=True)
        outputs.append(called("sum", called("multiply", called("gelu_tanh_slope", h), factor), axis=0))
    return schedule_of(*outputs, *([value] if how == "kept" else []))


def kinds(schedule):
    return [step.kernel.name for step in schedule.steps]


@pytest.mark.parametrize("how", ["cheap", "hosted"])
def test_a_late_product_reads_another_copy_that_waits_until_it_is_near(how):
    schedule = late_product(how)
    found = rematerialised(schedule)
    copies = [node for node in found.nodes if node.op is not None and node.op.name == AFTER]
    assert names([copy.args[0] for copy in copies]) == ["relu" if how == "cheap" else "gelu_tanh"]
    assert kinds(found).count("matmul") == kinds(schedule).count("matmul")
    numbers = {root: number for number, step in enumerate(found.steps) for root in step.roots}
    reader = next(number for number, step in enumerate(found.steps) if step.kernel.name == "matmul" and copies[0] in found.read_by(step))
    assert numbers[copies[0]] > 8
    assert reader > numbers[copies[0]]


@pytest.mark.parametrize("how", ["expensive", "kept", "circular"])
def test_a_schedule_stays_as_it_is_where_a_copy_is_not_worth_it_or_would_wait_for_its_own_reader(how):
    schedule = late_product(how)
    assert rematerialised(schedule) is schedule
    assert kinds(rematerialised(schedule)).count("matmul") == 2


def test_what_takes_little_memory_is_kept():
    x, w = leaf(64, 64), leaf(64, 64)
    value = called("relu", x)
    node = called("matmul", value, w)
    for _ in range(12):
        node = called("subtract", node, called("sum", node, axis=0, keepdims=True))
    schedule = schedule_of(called("matmul", value, called("add", w, called("sum", node))))
    assert rematerialised(schedule) is schedule
    assert np.prod(value.shape) < 65536
