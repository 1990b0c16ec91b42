"""signatures: nodes that are the same by themselves share one, and no others."""

from itertools import combinations

import numpy as np
import pytest

import retrograde as rg
from graphs import leaf
from retrograde.compiler.graph.signatures import Signatures
from retrograde.core.symbol import Symbol

TABLE = np.arange(12.0)
#: Arguments of one op that are equal to one another, or look like it, and are not the same.
ALIKE = [(1,), (True,), (1.0,), (np.float32(1),), (np.float64(1),), (np.ones(()),), (np.ones((), np.float32),), (np.ones(1),), ("1",),
         (0.0,), (-0.0,), (np.float64(0),), (np.float64(-0.0),), (np.zeros(()),), (np.array(-0.0),), (None,), ((1, 2),), ([1, 2],),
         ((1, True),), ((1, (2,)),), ((1, 2, None),), (slice(0, 1),), (slice(0, 1, None), None), (slice(0, True),), (np.float32,),
         (np.dtype("float32"),), (TABLE,), (TABLE.copy(),), (float("nan"),), (1j,)]


def _node(*args, op="add", shape=(3, 4), dtype=np.float32):
    return Symbol(rg.ops.get(op), args, shape, np.dtype(dtype))


def _different():
    x = leaf(3, 4)
    yield from [_node(x, *args) for args in ALIKE]
    yield from (_node(x, leaf(3, 4)), _node(x, leaf(4)), _node(x, leaf(3, 4, dtype=np.int32)), _node(x, (leaf(3, 4),)), _node(1, x))
    yield from (_node(x, 1, op="subtract"), _node(x, 1, shape=(4, 3)), _node(x, 1, dtype=np.float64), _node(x, 1, 1))


def test_nodes_that_differ_in_anything_have_different_signatures():
    signatures, nodes = Signatures(), list(_different())
    for one, other in combinations(nodes, 2):
        assert signatures[one][0] != signatures[other][0], (one.args, other.args)


@pytest.mark.parametrize("args", [*ALIKE, ((TABLE, (2, "a")),)], ids=repr)
def test_nodes_that_differ_in_their_operands_alone_have_one_signature(args):
    signatures = Signatures()
    first, second = [signatures[_node(leaf(3, 4), *args)] for _ in range(2)]
    assert first[0] == second[0]


def test_numbers_of_equal_bits_are_one_and_arrays_in_memory_are_told_by_which_they_are():
    signatures = Signatures()
    one = lambda constant: signatures[_node(leaf(3, 4), constant)][0]
    assert one(np.full((), 2.5)) == one(np.full((), 2.5))
    assert one(np.broadcast_to(np.float32(2), (3, 4))) == one(np.broadcast_to(np.float32(2), (3, 4)))
    assert one(TABLE) == one(TABLE) != one(TABLE.copy())
    assert signatures[_node(leaf(3, 4), TABLE, (2, [leaf(2), 0.5]))][1] == [TABLE, 2, 0.5]
