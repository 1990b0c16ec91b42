"""parted: loops of many results are taken apart where these have nothing in common, and nowhere else."""

import numpy as np
import pytest

import retrograde as rg
from graphs import called, draft_of, leaf, schedule_of
from retrograde.compiler import cost
from retrograde.compiler.passes.fuse import Schedule
from retrograde.core.symbol import Outputs

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def _counted(count):
    counters = [leaf() for _ in range(count)]
    return [(counter, called("add", counter, 1.0)) for counter in counters]


def test_counters_of_many_parameters_are_loops_of_no_more_results_than_llvm_likes():
    most = cost.MOST_RESULTS
    assert [len(step.roots) for step in schedule_of(*[node for _, node in _counted(most)]).steps] == [most]
    assert [len(step.roots) for step in schedule_of(*[node for _, node in _counted(3 * most + 5)]).steps] == [most] * 3 + [5]


def test_counters_of_three_hundred_parameters_take_two_functions():
    counters = [rg.zeros(()) for _ in range(4 * cost.MOST_RESULTS + 44)]

    @rg.jit
    def count():
        for counter in counters:
            counter += 1

    count()
    count()
    assert [float(counter) for counter in counters] == [2.0] * len(counters)
    kernels = count.explain().kernels
    assert len(kernels) == 5
    assert len({unit.name for kernel in kernels for unit in kernel.units}) == 2


def test_updates_are_in_place_in_all_parts():
    draft = draft_of([], _counted(2 * cost.MOST_RESULTS))
    assert len(draft.schedule.steps) == 2
    assert len(draft.aliases) == 2 * cost.MOST_RESULTS


def test_results_of_common_values_stay_in_one_loop(monkeypatch):
    monkeypatch.setattr(cost, "MOST_RESULTS", 2)
    x, others = leaf(4, 6), [leaf(4, 6) for _ in range(3)]
    shared = called("exp", x)
    of_shared = [called("multiply", shared, y) for y in others]
    alone = [called("negative", leaf(4, 6)) for _ in range(2)]
    schedule = schedule_of(of_shared[0], alone[0], *of_shared[1:], alone[1])
    assert [step.roots for step in schedule.steps] == [of_shared, alone]


def test_results_of_many_common_values_are_told_apart_at_once(monkeypatch):
    # Each value is met twice by the next one: to follow all ways to it would never end.
    monkeypatch.setattr(cost, "MOST_RESULTS", 1)
    x, alone = leaf(4, 6), called("negative", leaf(4, 6))
    for _ in range(80):
        x = called("add", x, x)
    schedule = schedule_of(x, alone)
    assert [step.roots for step in schedule.steps] == [[x], [alone]]


def test_of_a_short_graph_all_is_taken_apart_but_what_reads_one_array():
    counted, x = _counted(3), leaf(4, 6)
    readers = [called("exp", x), called("negative", x)]
    schedule = Schedule(Outputs([*[node for _, node in counted], *readers]), is_short=True)
    assert [step.roots for step in schedule.steps] == [[node] for _, node in counted] + [readers]


def test_what_reads_state_stays_with_its_update(monkeypatch):
    monkeypatch.setattr(cost, "MOST_RESULTS", 1)
    state, other = leaf(5), leaf(5)
    updates = [(state, called("add", state, 1.0)), (other, called("multiply", other, 2.0))]
    draft = draft_of([called("exp", state)], updates)
    assert sorted([len(step.roots) for step in draft.schedule.steps]) == [1, 2]
    assert len(draft.aliases) == 2


def _program(rng, count):
    """Results that read each other, inputs and one another's operands as chance has it, in a few shapes."""
    leaves = [rng.standard_normal(shape) for shape in ((3, 4), (3, 4), (4,), (3, 1), ()) for _ in range(3)]
    plan = [(rng.integers(4), rng.integers(len(leaves) + i, size=2)) for i in range(count)]

    def function(*inputs):
        values = list(inputs)
        for kind, (a, b) in plan:
            x, y = values[a], values[b]
            values.append([lambda: x + y, lambda: rg.tanh(x) - y, lambda: x * 0.5 + rg.sum(y), lambda: rg.maximum(x, y)][kind]())
        return values[len(inputs) :]

    return leaves, function


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_in_parts_give_what_whole_ones_give(seed, monkeypatch):
    leaves, function = _program(np.random.default_rng(seed), 24)
    whole = rg.jit(function)
    expected = whole(*leaves)
    monkeypatch.setattr(cost, "MOST_RESULTS", 2)
    apart = rg.jit(lambda *inputs: function(*inputs))
    for found, wanted in zip(apart(*leaves), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert len(apart.explain().kernels) > len(whole.explain().kernels)
