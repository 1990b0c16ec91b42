"""sums: arrays that are scattered into zeros and added up are made at once."""

import numpy as np

from graphs import called, leaf, names
from retrograde.compiler import cost
from retrograde.compiler.passes.rewrite import rewritten
from retrograde.core.symbol import Outputs


def row(x, number, rows):
    """A row in zeros."""
    return called("scatter_add", x, (rows, *x.shape), number)


def total(terms):
    node = terms[0]
    for term in terms[1:]:
        node = called("add", node, term)
    return node


def test_rows_that_fill_the_whole_are_put_beside_each_other():
    rows = [leaf(5) for _ in range(4)]
    (found,) = rewritten(Outputs([total([row(x, i, 4) for i, x in enumerate(rows)])]))
    assert (found.shape, found.dtype) == ((4, 5), np.float32)
    ops = names(Outputs([found]).nodes)
    assert "scatter_add" not in ops and "add" not in ops


def test_many_rows_that_fill_two_axes_are_put_in_order_and_others_are_added_at_once():
    positions = [(i, j) for j in range(cost.CHOICES) for i in range(3)]
    rows, shape = [leaf(5) for _ in positions], (3, cost.CHOICES, 5)
    for count, wanted in ((len(rows), ["stack", "reshape"]), (len(rows) - 1, ["stack", "scatter_add", "reshape"])):
        terms = [called("scatter_add", x, shape, at) for x, at in zip(rows[:count], positions, strict=False)]
        found = rewritten(Outputs([total(terms)]))
        assert [name for name in names(found.nodes) if name != "input"] == wanted
        assert found[0].shape == shape


def test_rows_that_leave_gaps_stay_as_they_are():
    outputs = Outputs([total([row(leaf(5), i, 9) for i in (0, 3)])])
    found = rewritten(outputs)
    assert found[0] is outputs[0]


def test_a_graph_without_scattered_arrays_is_the_same_object():
    outputs = Outputs([called("add", leaf(3), leaf(3))])
    assert rewritten(outputs) is outputs


def test_a_sum_on_the_way_that_others_read_is_kept():
    rows = [leaf(5) for _ in range(3)]
    inner = called("add", row(rows[0], 0, 3), row(rows[1], 1, 3))
    found = rewritten(Outputs([called("add", inner, row(rows[2], 2, 3)), inner]))
    assert found[1].op.name == "add" or found[1].shape == (3, 5)
    assert found[1] in found.nodes
