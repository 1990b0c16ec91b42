"""What is equal for whoever keeps something by its graph: the programs of lazy values, of the cache on disk, and nodes that are lowered."""

from itertools import pairwise

import numpy as np
import pytest

from graphs import called, leaf
from retrograde.compiler.calls.pending import structure
from retrograde.compiler.graph.keys import key_of
from retrograde.compiler.passes.lower import lower
from retrograde.compiler.run.program import Graph
from retrograde.core.symbol import Outputs, ordered

LONG = np.arange(2000.0)
OTHER = LONG.copy()
OTHER[1000] += 1
READ_BACKWARDS = np.arange(3.0)[::-1]


def repeated(number, shape):
    """An array of one number, and an array that shows it as often as `shape` says."""
    return np.broadcast_to(np.float64(number), shape)


#: Functions of two leaves, a row of those that all differ from each other.
DIFFERENT = {
    "op": [lambda x, y: called("sin", x), lambda x, y: called("cos", x)],
    "operand": [lambda x, y: called("add", x, x), lambda x, y: called("add", x, y), lambda x, y: called("add", y, x)],
    "number": [lambda x, y, n=n: called("add", x, n) for n in (1.0, 2.0, np.float64(2.5), np.float32(2.5), -1.0)],
    "zero": [lambda x, y, n=n: called("divide", x, n) for n in (0.0, -0.0, np.float64(0.0), np.float64(-0.0))],
    "axis": [lambda x, y, axis=axis: called("sum", x, axis=axis) for axis in (0, 1, (0, 1), None)],
    "kept axes": [lambda x, y, keeps=keeps: called("sum", x, axis=0, keepdims=keeps) for keeps in (True, False)],
    "slice": [lambda x, y, s=s: called("getitem", x, s) for s in (slice(0, 2), slice(0, 3), slice(0, 3, 2), slice(1, 3))],
    "index": [lambda x, y, i=i: called("getitem", x, i) for i in (0, 1, (0, slice(None)), (slice(None), 0), (0, ...), (0, None))],
    "long constant": [lambda x, y, c=c: called("take", called("reshape", x, (24,)), c) for c in (LONG.astype(int) % 24, OTHER.astype(int) % 24)],
    "dtype of a constant": [lambda x, y, d=d: called("add", called("getitem", x, slice(0, 3)), np.arange(18).reshape(3, 6).astype(d)) for d in "ihfd"],
    "repeated constant": [lambda x, y, n=n: called("multiply", x, repeated(n, (4, 6))) for n in (2.0, 3.0)],
    "order in a constant": [lambda x, y, c=c: called("take", x, c, axis=1) for c in (np.array([2, 1, 0]), np.array([0, 1, 2]))],
    "joined": [lambda x, y, p=p: called("concatenate", p(x, y)) for p in (lambda x, y: (x, y), lambda x, y: (y, x), lambda x, y: (x, x, y))],
    "dtype": [lambda x, y, d=d: called("astype", x, np.dtype(d)) for d in "efdi"],
}
CASES = [(name, number) for name, functions in DIFFERENT.items() for number in range(len(functions))]


def made(function):
    """The node that a function gives of new leaves, and these."""
    leaves = leaf(4, 6), leaf(4, 6)
    return function(*leaves), leaves


def of_lazy_values(function):
    node, leaves = made(function)
    wanted = [*leaves, node]  # in this order, or which leaf is the first would depend on what reads it first
    return structure(ordered(wanted), wanted)


def of_the_cache(function):
    node, leaves = made(function)
    return key_of(Graph(list(leaves), [], [node], [], []))[0]


KEYS = {"lazy values": of_lazy_values, "the cache on disk": of_the_cache}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_graph_that_is_made_again_has_the_key_of_the_first(key, name, number):
    function = DIFFERENT[name][number]
    assert KEYS[key](function) == KEYS[key](function)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", DIFFERENT)
def test_graphs_that_compute_something_else_have_other_keys(key, name):
    found = [KEYS[key](function) for function in DIFFERENT[name]]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(("name", "number"), CASES)
def test_equal_nodes_become_one_when_they_are_lowered(name, number):
    x, y = leaf(4, 6), leaf(4, 6)
    first, second = (DIFFERENT[name][number](x, y) for _ in range(2))
    found = lower(Outputs([first, second]))
    assert found[0] is found[1]


@pytest.mark.parametrize("name", DIFFERENT)
def test_nodes_that_differ_stay_apart_when_they_are_lowered(name):
    x, y = leaf(4, 6), leaf(4, 6)
    for one, other in pairwise(DIFFERENT[name]):
        found = lower(Outputs([one(x, y), other(x, y)]))
        assert found[0] is not found[1]


def test_what_is_wanted_is_part_of_a_key():
    node, (x, _) = made(lambda x, y: called("sin", x))
    assert structure(ordered([node]), [node]) != structure(ordered([node]), [x])
    assert key_of(Graph([x], [], [node], [], []))[0] != key_of(Graph([x], [], [], [], [node]))[0]
    assert key_of(Graph([x], [], [node], [], []))[0] != key_of(Graph([], [x], [node], [], []))[0]
    assert key_of(Graph([x], [], [node], [], []))[0] != key_of(Graph([x], [], [node], [(x, node)], []))[0]


def test_a_constant_that_is_read_in_another_order_is_another_key():
    found = [of_the_cache(lambda x, y, c=c: called("multiply", called("getitem", x, (0, slice(0, 3))), c))
             for c in (READ_BACKWARDS, np.ascontiguousarray(READ_BACKWARDS))]
    assert found[0] != found[1]
