"""lower: composites are expanded, equal nodes are one, constants are folded, and what a result is does not change."""

from collections import Counter

import numpy as np
import pytest

import retrograde as rg
from graphs import called, leaf, names, traced
from retrograde.compiler.passes.lower import lower
from retrograde.compiler.run.library_call import computed
from retrograde.core.symbol import Symbol, replaced
from tests.compiler.snapshots.programs import of_seed
from tests.compiler.snapshots.telling import graph_of


def ops(*outputs):
    """The ops of the lowered graph of some outputs."""
    return [name for name in names(lower(outputs).nodes) if name != "input"]


def value(node, arrays):
    """What a node is where leaves are `arrays`."""
    found = dict(arrays)
    for n in lower([node]).nodes:
        if n not in found:
            found[n] = np.asarray(computed(n, replaced(n.args, found.__getitem__))).astype(n.dtype)
    return found[n]


def test_equal_nodes_become_one():
    x, y = leaf(3), leaf(3)
    (found,) = lower([called("multiply", called("add", x, y), called("add", x, y))])
    assert found.args[0] is found.args[1]
    (found,) = lower([called("multiply", called("add", x, y), called("add", y, x))])
    assert found.args[0] is not found.args[1], "only what is written the same way is known to be equal"


def test_nodes_with_other_parameters_stay_two():
    x = leaf(3, 3)
    found = lower([called("sum", x, axis=0), called("sum", x, axis=1), called("sum", x, axis=0)])
    assert found[0] is found[2] and found[0] is not found[1]


def test_what_no_result_needs_is_gone():
    x = leaf(3)
    called("exp", x)
    assert ops(called("sin", x)) == ["sin"]


def test_a_composite_becomes_the_ops_that_it_is_made_of():
    x = leaf(4, 5)
    node = traced(lambda x: rg.softmax(x, 1), x)
    assert node.op.name == "softmax"
    assert ops(node) == ["max", "subtract", "exp", "sum", "divide", "multiply"]
    data = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    wanted = np.exp(data) / np.exp(data).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(value(node, {x: data}), wanted, rtol=1e-5)


def test_what_depends_on_constants_alone_is_computed():
    x = leaf(3)
    constant = called("exp", called("multiply", np.arange(3, dtype=np.float32), 2.0))
    (found,) = lower([called("add", x, constant)])
    np.testing.assert_allclose(found.args[1], np.exp([0, 2, 4]), rtol=1e-6)
    (alone,) = lower([constant])
    assert isinstance(alone, np.ndarray)


@pytest.mark.parametrize(("build", "left"), [
    (lambda x: called("multiply", x, 1), []), (lambda x: called("divide", x, 1), []), (lambda x: called("power", x, 1), []),
    (lambda x: called("power", x, 2), ["multiply"]), (lambda x: called("positive", x), []), (lambda x: called("reshape", x, (3,)), []),
    (lambda x: called("multiply", x, 2), ["multiply"]), (lambda x: called("permute_dims", x, (0,)), [])])
def test_an_op_that_does_nothing_is_left_out(build, left):
    assert ops(build(leaf(3))) == left


def test_complex_numbers_become_their_parts():
    z = leaf(3, dtype=np.complex64)
    node = called("multiply", z, z)
    found = ops(node)
    assert found.count("real") == found.count("imag") == 1
    assert found[-1] == "complex"
    data = np.array([1 + 2j, -0.5j, 3], np.complex64)
    np.testing.assert_allclose(value(node, {z: data}), data * data, rtol=1e-6)


def test_shapes_and_dtypes_stay_and_leaves_are_themselves():
    x, y = leaf(2, 3), leaf(3, dtype=np.float64)
    outputs = [called("add", x, y), traced(lambda x: rg.var(x, axis=0), x), x]
    found = lower(outputs)
    assert [(f.shape, f.dtype) for f in found] == [(o.shape, o.dtype) for o in outputs]
    assert found[2] is x
    assert {n for n in found.nodes if n.op is None} == {x, y}


def test_a_deep_graph_needs_no_deep_stack():
    node = x = leaf(2)
    for _ in range(5000):
        node = called("sin", node)
    assert len(lower([node]).nodes) == 5001
    assert isinstance(x, Symbol)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [3, 6, 24, 40, 44, 49, 53])
def test_what_is_lowered_is_as_simple_as_it_gets_so_that_equal_nodes_are_one(seed):
    for function, specs in of_seed(seed).values():
        lowered = lower(graph_of(function, specs).results)
        again = lower(list(lowered))
        assert Counter([node.op.name for node in lowered.nodes if node.op]) == Counter([node.op.name for node in again.nodes if node.op])
