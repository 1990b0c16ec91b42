"""loops: which loops compute which nodes, as each step by itself would say."""

import numpy as np
import pytest

from graphs import called, leaf, schedule_of
from retrograde.compiler.passes.loops import Loops
from retrograde.compiler.pipeline import planned
from retrograde.errors import RetrogradeError
from tests.compiler.snapshots.programs import of_seed
from tests.compiler.snapshots.telling import graph_of

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def _by_steps(schedule):
    """For each node the (stage, domain) of the loops that compute it, found step by step."""
    found = {}
    for step in schedule.steps:
        if step.kernel.fuses:
            for node in schedule.computed_by(step):
                found.setdefault(node, set()).add((step.stage, step.domain))
    return found


def _first_met(schedule, some):
    """Those of `some` nodes that a step of a later stage meets on its way from its results, not below another one of them."""
    found = set()
    for step in schedule.steps:
        stack, seen = list(step.roots) if step.kernel.fuses else [], set()
        while stack:
            node = stack.pop()
            if node in seen or (node not in step.roots and schedule.is_loaded(node, step.stage)):
                continue
            seen.add(node)
            if node in some and schedule.stage(node) < step.stage:
                found.add(node)
            else:
                stack += node.inputs
    return found


def _check(schedule):
    expected = _by_steps(schedule)
    assert {node: schedule.loops.of([node]) for node in schedule.loops.computed} == expected
    several = {node for node, loops in expected.items() if len({stage for stage, _ in loops}) > 1}
    assert set(schedule.loops.at_several_stages()) == several
    stages = {node: schedule.stage(node) for node in schedule.nodes}
    assert schedule.loops.met_first(several, stages) == _first_met(schedule, several)
    return len(several)


@pytest.mark.filterwarnings("ignore")
@np.errstate(all="ignore")
def test_loops_of_drawn_programs_compute_what_their_steps_compute():
    found = 0
    for seed in range(5, 400, 40):
        for function, operands in of_seed(seed).values():
            try:
                found += _check(planned(graph_of(function, operands)).schedule)
            except (RetrogradeError, ArithmeticError, TypeError, ValueError):  # as of a derivative that there is not
                continue
    assert found > 3


def test_a_cheap_value_is_computed_by_the_loops_of_both_stages():
    x = leaf(40, 60)
    value = called("negative", x)
    schedule = schedule_of(called("subtract", value, called("sum", value, axis=1, keepdims=True)))
    assert schedule.loops.of([value]) == {(0, (40, 60)), (1, (40, 60))}
    assert schedule.loops.at_several_stages() == [value]
    assert not schedule.loops.of([x])


def test_nodes_below_what_is_read_are_computed_by_nobody():
    x, w = leaf(8, 8), leaf(8, 8)
    product = called("matmul", x, w)
    schedule = schedule_of(called("exp", product))
    loops = Loops(schedule.nodes, schedule.steps, {product: -1, x: -1, w: -1})
    assert product not in loops.computed
