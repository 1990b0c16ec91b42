"""carry: where the body of a loop finds what it is handed, what it carries on, and where it leaves what it makes."""

import numpy as np
import pytest

import retrograde as rg
from graphs import leaf
from retrograde.compiler import pipeline
from retrograde.compiler.graph.loop_op import Loop
from retrograde.compiler.kernels.kernel import Scratch
from retrograde.compiler.passes.carry import ALL_BITS
from retrograde.compiler.run.program import Graph
from retrograde.compiler.trace import outcome
from retrograde.transforms import loop_tracing as loops


def body_of(function, *leaves, monkeypatch):
    """The draft of the body of the only loop that a function of values records."""
    class Tracing(outcome.Trace):
        def __init__(self):
            super().__init__()
            self.scan = loops.traced_scan

    monkeypatch.setattr(outcome, "Trace", Tracing)
    results = outcome.outcome_of(function, leaves)
    results = list(results) if isinstance(results, tuple) else [results]
    draft = pipeline.planned(Graph(list(leaves), [], results, [], []))
    (step,) = [step for step in draft.schedule.steps if isinstance(step.roots[0].op, Loop)]
    return pipeline.planned_body(step, draft.storage), draft


@pytest.fixture
def scanned(monkeypatch):
    def make(function, *leaves):
        return body_of(function, *leaves, monkeypatch=monkeypatch)

    return make


def test_what_is_carried_has_two_rows_that_take_turns_and_what_is_read_row_by_row_moves_by_its_bytes(scanned):
    x, rows = leaf(8), leaf(5, 8)
    draft, _ = scanned(lambda x, rows: rg.scan(lambda c, row: (c * 0.5 + row, None), x, rows)[0], x, rows)
    body = draft.body
    (carry,) = draft.body.loop.carries
    buffer, offset, step, phase, mask = body.places[id(carry.leaf)]
    assert isinstance(buffer, Scratch) and buffer.nbytes == 2 * 32
    assert (offset, step, phase, mask) == (0, 32, 0, 1)
    assert body.places[id(draft.outputs[0])] == (buffer, 0, 32, 1, 1), "an iteration writes to the other row"
    (row,) = body.opened.rows
    assert body.places[id(row)][1:] == (0, 32, 0, ALL_BITS)
    assert body.starts[0][0] is buffer and body.ends[0][2] is buffer


def test_what_each_iteration_leaves_is_computed_where_it_stays(scanned):
    x = leaf(8)
    draft, outside = scanned(lambda x: rg.scan(lambda c, _: (rg.sin(c), rg.exp(c)), x, length=5)[1], x)
    made = draft.outputs[1]
    buffer, offset, step, phase, mask = draft.body.places[id(made)]
    assert buffer in outside.outputs
    assert (offset, step, phase, mask) == (0, 32, 0, ALL_BITS)
    assert not draft.body.copies


def test_rows_in_reverse_are_read_from_the_last_one_on(scanned):
    x, rows = leaf(8), leaf(5, 8)
    draft, _ = scanned(lambda x, rows: rg.scan(lambda c, row: (c + row, None), x, rows, reverse=True)[0], x, rows)
    (row,) = draft.body.opened.rows
    assert draft.body.places[id(row)][1:] == (4 * 32, -32, 0, ALL_BITS)


def test_what_is_the_same_in_each_iteration_is_fixed_and_what_changes_is_not(scanned):
    x, w = leaf(8, 8), leaf(8, 8)
    draft, _ = scanned(lambda x, w: rg.scan(lambda c, _: (c @ w, None), x, length=5)[0], x, w)
    (captured,) = draft.body.opened.captured
    assert draft.body.fixed(captured) is w
    assert draft.body.fixed(draft.body.loop.carries[0].leaf) is None
    assert draft.body.fixed(draft.outputs[0]) is None


def test_what_is_handed_on_as_it_is_is_copied(scanned):
    x, y = leaf(8), leaf(8)
    draft, _ = scanned(lambda x, y: rg.scan(lambda c, _: ((c[1], c[0] * 1.5), None), (x, y), length=5)[0][0], x, y)
    assert len(draft.body.copies) == 1
    assert np.prod(draft.outputs[0].shape) == 8


@pytest.mark.parametrize("length", [4, 5])
def test_the_last_state_lies_in_the_row_that_an_odd_or_an_even_number_of_iterations_ends_with(scanned, length):
    x = leaf(8)
    draft, _ = scanned(lambda x: rg.scan(lambda c, _: (c * 0.5, None), x, length=length)[0], x)
    assert draft.body.ends[0][3:] == (length % 2 * 32, 0, 32)
