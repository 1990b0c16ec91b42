"""alias: which updates are computed in the memory of their leaf: where nobody reads that later, and nothing can fail later."""

import numpy as np
import pytest

from graphs import called, draft_of, leaf


def homes_of(results, updates):
    """The leaves in whose memory updates are computed."""
    return set(draft_of(results, updates).aliases.values())


P, Q, X, V = leaf(8, 8), leaf(8, 8), leaf(8, 8), leaf(8)
Z = leaf(8, dtype=np.complex64)
#: Positions, others, and which of the first ones are the last of equal ones.
HERE, THERE = (called("checked_positions", leaf(5, dtype=np.int64), 8) for _ in range(2))
COUNTS = called("less_equal", called("next_places", HERE), np.arange(5))


def rows_put(x, y, positions=HERE):
    """A table with rows written at positions."""
    return called("put_rows", x, y, positions, COUNTS)


def rows_of(x, positions=HERE):
    """Rows of a table."""
    return called("take", x, positions, axis=0)


@pytest.mark.parametrize(("name", "results", "updates", "wanted"), [
    ("element by element", [], [(P, called("add", P, X))], {P}),
    ("from elsewhere", [], [(P, called("exp", X))], {P}),
    ("read later", [called("sum", called("add", P, called("sum", called("exp", P))))],
     [(P, called("matmul", X, X))], set()),
    ("read by the same loop at another place", [], [(P, called("add", called("permute_dims", P, (1, 0)), X))], set()),
    ("a product of itself", [], [(P, called("matmul", P, P))], set()),
    ("a function of a product of itself", [], [(P, called("tanh", called("matmul", P, P)))], {P}),
    ("asked for as it was", [P], [(P, called("add", P, X))], set()),
    ("exchanged element by element in one loop", [], [(P, called("add", Q, X)), (Q, called("add", P, X))], {P, Q}),
    ("exchanged and moved", [], [(P, called("flip", Q, axis=0)), (Q, called("flip", P, axis=0))], set()),
    ("two at once", [], [(P, called("add", P, X)), (Q, called("multiply", Q, 2.0))], {P, Q}),
    ("another dtype", [], [(P, called("astype", called("exp", X), np.dtype(np.float64)))], set()),
    ("another leaf as it is", [], [(P, Q)], set()),
    ("read where it is made, moved before", [], [(P, called("add", called("permute_dims", called("exp", P), (1, 0)), X))], set()),
    ("moved by an earlier step alone", [], [(P, called("add", P, called("matmul", called("permute_dims", P, (1, 0)), X)))], {P}),
    ("read again in each row of a fold", [], [(V, called("sum", called("multiply", X, V), axis=1))], set()),
    ("a running sum of itself", [], [(P, called("cumsum", P, axis=0))], set()),
    ("beside a constant result", [np.ones(3)], [(P, called("add", P, X))], {P}),
    ("complex numbers moved", [], [(Z, called("complex", called("flip", called("real", Z), axis=0), called("imag", Z)))], set()),
    ("complex numbers in place", [], [(Z, called("complex", called("real", Z), called("exp", called("imag", Z))))], {Z}),
    ("another shape", [], [(P, called("sum", X, axis=0))], set()),
    ("rows of its own", [], [(P, rows_put(P, called("exp", rows_of(P))))], {P}),
    ("rows of both at the same positions", [],
     [(P, rows_put(P, called("exp", rows_of(Q)))), (Q, rows_put(Q, called("add", rows_of(P), rows_of(Q))))], {P, Q}),
    ("rows of its own at other positions", [], [(P, rows_put(P, called("exp", rows_of(P, THERE))))], set()),
    ("rows of its own in another order", [], [(P, rows_put(P, called("exp", called("flip", rows_of(P), axis=0))))], set()),
    ("rows of its own with columns in another order", [], [(P, rows_put(P, called("exp", called("flip", rows_of(P), axis=1))))], set()),
    ("rows that are read later", [rows_of(P)], [(P, rows_put(P, called("exp", rows_of(P))))], {P}),
    ("a table that is read whole later", [called("matmul", rows_put(P, called("exp", rows_of(P))), P)],
     [(P, rows_put(P, called("exp", rows_of(P))))], set()),
    ("columns of its own", [], [(P, rows_put(P, called("exp", called("getitem", P, slice(0, 5)))))], set()),
])
def test_an_update_lives_in_its_leaf_where_nobody_needs_what_was_there(name, results, updates, wanted):
    assert homes_of(results, updates) == wanted


def test_one_node_is_computed_in_the_memory_of_one_of_two_leaves():
    node = called("exp", X)
    assert len(draft_of([], [(P, node), (Q, node)]).aliases) == 1


def test_a_step_of_a_nest_does_not_overwrite_what_another_one_of_it_reads():
    p = leaf(256, 128)
    node = called("subtract", p, called("max", p, axis=1, keepdims=True))
    draft = draft_of([], [(p, node)])
    assert len(draft.schedule.steps) == 2
    assert len({number for number, _ in draft.schedule.numbered()}) == 1
    assert not draft.aliases


def failing_after_its_update():
    """A step that may fail and needs the value that state is updated with."""
    i = leaf(3, dtype=np.int64)
    node = called("tanh", called("matmul", P, Q))
    positions = called("add", i, called("astype", called("multiply", called("sum", node), 0.0), np.dtype(np.int64)))
    return [called("take", X, positions, axis=0)], [(P, node)]


def test_no_leaf_is_written_before_a_step_that_can_fail():
    results, updates = failing_after_its_update()
    assert homes_of([], updates) == {P}
    assert homes_of(results, updates) == set()
