"""What is decided about a loop kernel before its code is written, for one processor: its vectors, its chunks, what waits for a call."""

import numpy as np
import pytest

from graphs import called, draft_of, leaf
from retrograde.compiler import target
from retrograde.compiler.backends.cpu.codegen.loop_plan import plan_loops

V3, V4 = target.named("x86-64-v3"), target.named("x86-64-v4")
F64, I64, BOOL = map(np.dtype, (np.float64, np.int64, np.bool_))
X = leaf(1000)


def plans(results, on=V3):
    """The plans of the loops of a graph."""
    draft = draft_of(results)
    return [plan_loops(draft.accesses.box(step), on) for step in draft.schedule.steps if step.kernel.name == "loop"]


def plan_of(node, on=V3):
    (plan,) = plans([node], on)
    return plan


# The loops as they are merged, the vector loop, elements of one value, rounds of the outermost loop in a chunk, chunks.
@pytest.mark.parametrize(("node", "wanted"), [
    (called("exp", X), ((1000,), 0, 32, 1000, 1)),
    (called("multiply", X, 2.0), ((1000,), 0, 16, 1000, 1)),  # too little work for the code of four vectors
    (called("exp", leaf()), ((), None, 1, 1, 1)),
    (called("exp", leaf(3)), ((3,), 0, 4, 3, 1)),
    (called("exp", leaf(5)), ((5,), 0, 8, 5, 1)),
    (called("exp", leaf(63)), ((63,), 0, 8, 63, 1)),
    (called("exp", leaf(64)), ((64,), 0, 16, 64, 1)),
    (called("exp", leaf(100000)), ((100000,), 0, 32, 5280, 19)),  # whole vectors
    (called("exp", leaf(1000, 1000)), ((1000000,), 0, 32, 15648, 64)),
    (called("exp", leaf(1000, dtype=F64)), ((1000,), 0, 16, 1000, 1)),
    (called("astype", X, F64), ((1000,), 0, 8, 1000, 1)),
    (called("add", leaf(1000, dtype=I64), 1), ((1000,), 0, 8, 1000, 1)),
    (called("erfc", leaf(10000)), ((10000,), 0, 16, 10000, 1)),  # it needs more registers than four vectors leave
    (called("add", leaf(100, 30), leaf(30)), ((100, 30), 1, 8, 100, 1)),
    (called("add", leaf(100, 30), leaf(100, 1)), ((100, 30), 1, 8, 100, 1)),
    (called("exp", leaf(20, 1, 30)), ((600,), 0, 16, 600, 1)),
    (called("sum", X), ((1000,), 0, 16, 1000, 1)),
    (called("sum", leaf(1000000)), ((1000000,), 0, 32, 66688, 15)),
    (called("sum", leaf(1000, 100), axis=1), ((1000, 100), 1, 16, 1000, 1)),
    (called("sum", leaf(1000, 100), axis=0), ((1000, 100), 1, 16, 1000, 1)),
    (called("sum", leaf(100, 100000), axis=0), ((100, 100000), 1, 32, 1568, 64)),
    (called("sum", leaf(100000, 100), axis=0), ((100000, 100), 1, 16, 1563, 64)),
    (called("sum", leaf(50, 60, 70), axis=1), ((50, 60, 70), 2, 16, 17, 3)),
    (called("exp", called("permute_dims", leaf(300, 200), (1, 0))), ((200, 300), 1, 32, 32, 10)),
])
def test_loops_are_merged_and_cut_into_vectors_and_chunks(node, wanted):
    plan = plan_of(node)
    assert (plan.box.lengths, plan.vector, plan.lanes, plan.chunk_length, plan.chunks) == wanted


def test_a_processor_with_wider_vectors_has_more_lanes():
    assert [plan_of(called("exp", X), on).lanes for on in (V3, V4)] == [32, 64]
    assert [plan_of(called("exp", leaf(1000, dtype=F64)), on).lanes for on in (V3, V4)] == [16, 32]


@pytest.mark.parametrize(("node", "is_kept", "partials"), [
    (called("sum", X), False, []), (called("sum", leaf(1000000)), False, [15 * 4]), (called("sum", leaf(1000, 100), axis=1), False, []),
    (called("sum", leaf(1000, 100), axis=0), True, []), (called("sum", leaf(100000, 100), axis=0), True, [64 * 100 * 4]),
    (called("sum", leaf(100, 100000), axis=0), False, []), (called("sum", leaf(100000, 300), axis=1), False, []),
    (called("exp", leaf(100000)), False, []),
])
def test_columns_are_folded_row_after_row_and_what_chunks_have_of_one_result_lies_in_memory_of_its_own(node, is_kept, partials):
    plan = plan_of(node)
    assert plan.keeps_rows is is_kept
    assert [partial.nbytes for partial in plan.partials] == partials


@pytest.mark.parametrize(("node", "crossing"), [
    (called("exp", called("permute_dims", leaf(300, 200), (1, 0))), 0),
    (called("add", called("permute_dims", leaf(300, 200), (1, 0)), leaf(200, 300)), 0),
    (called("exp", called("permute_dims", leaf(300, 4), (1, 0))), None),
    (called("sum", called("permute_dims", leaf(300, 200), (1, 0))), None),
    (called("exp", called("permute_dims", leaf(300, 200, dtype=BOOL), (1, 0))), None),
    (called("exp", leaf(300, 200)), None),
])
def test_loads_across_are_transposed_where_there_are_whole_vectors_of_them(node, crossing):
    assert plan_of(node).crossing == crossing


@pytest.mark.parametrize(("count", "is_early"), [(1, False), (4, False), (5, True), (20, True)])
def test_more_results_than_registers_are_stored_as_soon_as_they_are_there(count, is_early):
    (plan,) = plans([called("multiply", X, number + 0.3) for number in range(count)])
    assert plan.lanes * count * 4 > V3.registers * V3.vector_bytes or not is_early
    assert plan.stores_early is is_early


@pytest.mark.parametrize(("node", "wanted"), [
    (called("multiply", X, 0.3), {("length", 0), ("constant", 0), "chunk_length"}),
    (called("divide", X, 0.3), {("length", 0), ("constant", 0), "chunk_length"}),
    (called("multiply", X, 0.5), {("length", 0), "chunk_length"}),  # a factor that has code of its own
    (called("power", X, 0.3), {("length", 0), "chunk_length"}),
    (called("maximum", called("multiply", X, 0.3), 0.3), {("length", 0), "chunk_length"}),  # it is a bound as well
    (called("multiply", leaf(16), 0.3), {("constant", 0)}),
    (called("multiply", leaf(17), 0.3), {("length", 0), ("constant", 0), "chunk_length"}),
    (called("add", leaf(1000, dtype=I64), 3), {("length", 0), "chunk_length"}),
    (called("flip", X, axis=0), {("length", 0), ("start", 0), "chunk_length"}),
    (called("sum", X), {("length", 0)}),
    (called("sum", leaf(1000000)), {("length", 0), "chunk_length"}),
])
def test_kernels_that_differ_in_lengths_starts_and_factors_share_code_and_get_these_when_they_run(node, wanted):
    assert set(plan_of(node).numbers) == wanted


def key(node):
    return plan_of(node).key()


@pytest.mark.parametrize(("one", "other", "is_shared"), [
    (called("multiply", X, 0.3), called("multiply", leaf(2008), 0.7), True),
    (called("multiply", X, 0.3), called("multiply", X, -0.7), False),  # a sign is part of the code
    (called("multiply", X, 0.3), called("divide", X, 0.3), False),
    (called("multiply", X, 0.3), called("multiply", leaf(1001), 0.3), False),  # a rest of a vector
    (called("power", X, 0.3), called("power", X, 0.7), False),
    (called("exp", leaf(1024)), called("exp", leaf(102400)), True),  # one chunk or several
    (called("sum", leaf(1000000)), called("sum", leaf(2000000)), False),  # so many chunks to fold
    (called("exp", X), called("exp", leaf(1000, dtype=F64)), False),
    (called("add", X, leaf(1000)), called("add", X, X), False),
    (called("add", leaf(100, 30), leaf(30)), called("add", leaf(200, 30), leaf(30)), True),
    (called("add", leaf(100, 30), leaf(30)), called("add", leaf(100, 30), leaf(100, 1)), False),
])
def test_code_is_shared_by_equal_loops_and_by_no_others(one, other, is_shared):
    assert (key(one) == key(other)) is is_shared


def partners(*results):
    (plan,) = plans(list(results))
    names = {number: entry.node.op.name for number, entry in enumerate(plan.box.entries) if hasattr(entry, "node")}
    return {names[a]: names[b] for a, b in plan.partners.items()}


def test_sine_and_cosine_of_one_number_are_found_together():
    both = {"sin": "cos", "cos": "sin"}
    assert partners(called("sin", X), called("cos", X)) == both
    assert partners(called("add", called("sin", X), called("cos", X))) == both
    assert partners(called("sin", X), called("cos", leaf(1000))) == {}
    assert partners(called("sin", X), called("exp", X)) == {}
