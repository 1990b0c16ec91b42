"""fuse: which nodes share a kernel, which are stored, and what is too expensive to compute twice."""

import numpy as np
import pytest

from graphs import called, leaf, names, schedule_of, steps
from retrograde.compiler import cost
from retrograde.compiler.passes.recomputed import met_at_several_places


def test_elementwise_ops_and_views_are_one_loop():
    x = leaf(4, 6)
    node = called("permute_dims", called("exp", called("multiply", called("sin", x), 2.0)), (1, 0))
    assert steps(schedule_of(called("cos", node))) == [("loop", (6, 4), ["cos"])]


def test_a_reduction_ends_a_pass_over_memory():
    x = leaf(4, 6)
    total = called("sum", called("sin", x), axis=1, keepdims=True)
    schedule = schedule_of(called("subtract", x, total))
    assert steps(schedule) == [("loop", (4, 6), ["sum"]), ("loop", (4, 6), ["subtract"])]
    first, second = schedule.steps
    assert (first.stage, second.stage) == (0, 1)
    assert (first.reduced, second.reduced) == ((1,), ())


def test_results_over_one_domain_share_a_loop_also_with_a_reduction_over_it():
    x = leaf(4, 6)
    schedule = schedule_of(called("sin", x), called("exp", x), called("sum", x, axis=1))
    (step,) = schedule.steps
    assert sorted(names(step.roots)) == ["exp", "sin", "sum"]


def test_reductions_over_other_axes_are_other_loops():
    x = leaf(4, 6)
    assert len(schedule_of(called("sum", x, axis=0), called("sum", x, axis=1)).steps) == 2


def test_an_expensive_value_that_two_kernels_need_is_stored_and_a_cheap_one_is_computed_again():
    x = leaf(40, 60)
    for name, is_stored in (("exp", True), ("negative", False)):
        value = called(name, x)
        node = called("subtract", value, called("sum", value, axis=1, keepdims=True))
        assert (value in schedule_of(node).stored) is is_stored


def test_each_stored_node_has_one_step_and_comes_after_what_it_reads():
    x, w = leaf(8, 8), leaf(8, 8)
    node = x
    for _ in range(4):
        node = called("tanh", called("matmul", node, w))
        node = called("subtract", node, called("max", node, axis=1, keepdims=True))
    schedule = schedule_of(node, called("sum", node))
    made = set()
    for step in schedule.steps:
        assert all(n.op is None or n in made for n in schedule.read_by(step))
        assert made.isdisjoint(step.roots)
        made.update(step.roots)
    assert made == {n for n in schedule.stored if n.op is not None}


def test_a_product_is_a_step_of_its_own_and_reads_views_where_they_lie():
    x, w = leaf(8, 4), leaf(8, 5)
    node = called("matmul", called("permute_dims", x, (1, 0)), w)
    schedule = schedule_of(node)
    assert steps(schedule) == [("matmul", (), ["matmul"])]
    assert set(schedule.read_by(schedule.steps[0])) == {x, w}


def test_what_has_no_lowering_is_a_library_call_whose_operands_are_in_memory():
    x = leaf(5)
    value = called("exp", x)
    schedule = schedule_of(called("sort", value))
    assert [step.kernel.name for step in schedule.steps] == ["loop", "library"]
    assert value in schedule.stored


def test_nodes_are_numbered_with_the_steps_of_a_nest_as_one():
    x = leaf(4, 6)
    schedule = schedule_of(called("subtract", x, called("sum", called("exp", called("sum", x, axis=1, keepdims=True)))))
    assert [number for number, _ in schedule.numbered()] == list(range(len(schedule.steps)))
    nest = object()
    for step in schedule.steps[:2]:
        step.nest = nest
    assert [number for number, _ in schedule.numbered()][:3] == [0, 0, 1]


def shifted_sum(count):
    """The sum of a cheap value at so many places."""
    value = called("add", leaf(100), 1.0)
    parts = [called("shrink", value, ((k, 60 + k),)) for k in range(count)]
    node = parts[0]
    for part in parts[1:]:
        node = called("add", node, part)
    return value, node


@pytest.mark.parametrize(("count", "is_stored"), [(4, False), (16, False), (17, True), (30, True)])
def test_a_cheap_value_that_is_met_at_many_places_is_a_pass_of_its_own(count, is_stored):
    value, node = shifted_sum(count)
    schedule = schedule_of(node)
    assert (value in schedule.stored) is is_stored
    assert len(schedule.steps) == 1 + is_stored


def test_what_is_met_at_more_than_so_many_places_is_found_whatever_it_costs(monkeypatch):
    value, node = shifted_sum(20)
    with monkeypatch.context() as context:
        context.setattr(cost, "MOST_PLACES", 1000)
        schedule = schedule_of(node)  # in one loop
    assert met_at_several_places(schedule, lambda node: False) == {value}
    value, node = shifted_sum(10)
    assert met_at_several_places(schedule_of(node), lambda node: False) == set()
    assert value.dtype == np.float32


def test_what_is_stored_to_be_read_at_other_places_is_read_there_by_a_later_pass_and_at_its_own_by_the_same():
    x = leaf(40)
    y = called("exp", called("sin", called("exp", x)))
    apart = called("add", called("getitem", y, (slice(1, None),)), called("getitem", y, (slice(None, -1),)))
    schedule = schedule_of(apart, called("multiply", y, 2.0), called("negative", apart))
    assert y in schedule.stored
    first, second = schedule.steps
    assert (first.stage, sorted(names(first.roots)), first.domain) == (0, ["exp", "multiply"], (40,))
    assert (second.stage, sorted(names(second.roots)), second.domain) == (1, ["add", "negative"], (39,))
    assert schedule.read_by(second) == [y]
