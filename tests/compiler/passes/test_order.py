"""order: steps that update state come after those that may fail, unless these need them."""

import numpy as np

from graphs import called, draft_of, leaf, schedule_of
from retrograde.compiler.passes.order import risky_steps, updates_last


def graph(*, is_needed):
    """An update, and positions that may be out of range in a later step, which reads the updated value or not."""
    p, x, i = leaf(32), leaf(64), leaf(5, dtype=np.int64)
    node = called("multiply", p, 0.5)
    taken = called("take", called("subtract", x, called("sum", node if is_needed else x)), i, axis=0)
    return p, node, taken


def places(steps, *nodes):
    return [next(place for place, step in enumerate(steps) if node in step.roots) for node in nodes]


def test_an_update_comes_after_what_may_fail():
    p, node, taken = graph(is_needed=False)
    schedule = schedule_of(taken, node)
    before, after = places(schedule.steps, node, taken)
    assert before < after
    steps = updates_last(schedule, [(p, node)], risky_steps(schedule))
    before, after = places(steps, node, taken)
    assert after < before
    assert set(steps) == set(schedule.steps)


def test_an_update_that_is_needed_by_what_may_fail_stays_before_it():
    p, node, taken = graph(is_needed=True)
    schedule = schedule_of(taken, node)
    steps = updates_last(schedule, [(p, node)], risky_steps(schedule))
    before, after = places(steps, node, taken)
    assert before < after


def test_steps_stay_as_they_are_where_none_may_fail():
    x = leaf(64)
    schedule = schedule_of(called("subtract", x, called("sum", x)))
    assert updates_last(schedule, [(x, schedule.outputs[0])], risky_steps(schedule)) is schedule.steps


def test_what_reads_a_delayed_update_is_delayed_with_it():
    p, x, i = leaf(32), leaf(64), leaf(5, dtype=np.int64)
    node = called("multiply", p, 0.5)
    reader = called("exp", called("sum", node))
    taken = called("take", called("subtract", x, called("max", called("subtract", x, called("sum", x)))), i, axis=0)
    schedule = schedule_of(taken, reader, node)
    steps = updates_last(schedule, [(p, node)], risky_steps(schedule))
    made = set()
    for step in steps:
        assert all(n.op is None or n in made for n in schedule.read_by(step))
        made.update(step.roots)
    update, failing, late = places(steps, node, taken, reader)
    assert failing < update < late


def test_steps_that_may_fail_are_those_with_unchecked_positions_calls_and_no_others():
    x, i = leaf(8, 8), leaf(5, dtype=np.int64)
    risky = lambda node: bool(risky_steps(schedule_of(node)))
    assert risky(called("take", x, i, axis=0))
    assert not risky(called("take", x, np.array([0, 7]), axis=0))
    assert risky(called("take", x, np.array([0, -1]), axis=0)), "it counts from the back"
    assert risky(called("sort", x))
    assert not risky(called("sum", called("matmul", x, x)))


def test_the_whole_pipeline_delays_the_update_and_computes_it_in_the_memory_of_its_leaf():
    p, node, taken = graph(is_needed=False)
    draft = draft_of([taken], [(p, node)])
    (update,), (failing,) = ([place for place, step in enumerate(draft.schedule.steps) if root in step.roots]
                             for root in (draft.outputs[1], draft.outputs[0]))
    assert failing < update
    assert draft.aliases == {draft.outputs[1]: p}


def test_an_update_that_is_not_needed_comes_after_what_may_fail_beside_one_that_is():
    p, needed, taken = graph(is_needed=True)
    q = leaf(48)
    other = called("exp", q)
    schedule = schedule_of(taken, needed, other)
    assert places(schedule.steps, other) < places(schedule.steps, taken)
    steps = updates_last(schedule, [(p, needed), (q, other)], risky_steps(schedule))
    first, failing, last = places(steps, needed, taken, other)
    assert first < failing < last


def test_steps_that_update_nothing_stay_where_they_are():
    _, node, taken = graph(is_needed=False)
    schedule = schedule_of(taken, node)
    assert places(schedule.steps, node) < places(schedule.steps, taken)
    assert updates_last(schedule, [], risky_steps(schedule)) == schedule.steps


def test_a_nest_stays_whole_where_one_of_its_steps_updates_and_another_one_is_needed():
    p, i = leaf(256, 128), leaf(5, dtype=np.int64)
    greatest = called("max", p, axis=1, keepdims=True)
    node = called("exp", called("subtract", p, greatest))
    scale = called("divide", node, called("sum", node, axis=1, keepdims=True))
    taken = called("take", called("multiply", leaf(64), called("sum", greatest)), i, axis=0)
    steps = draft_of([taken], [(p, scale)]).schedule.steps
    inside = [number for number, step in enumerate(steps) if step.nest is not None]
    assert len(inside) > 1
    assert inside == list(range(inside[0], inside[-1] + 1))
