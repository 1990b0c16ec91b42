"""pooling: relu goes after max pooling where nothing else reads it."""

from graphs import leaf, names, traced
from retrograde.compiler.passes.lower import lower
from retrograde.compiler.passes.rewrite import rewritten
from retrograde.nn import functional


def ops(outputs):
    return [name for name in names(outputs.nodes) if name in ("relu", "max_pool2d_with_taps")]


def test_relu_goes_after_pooling():
    x = leaf(2, 3, 8, 8)
    lowered = lower([traced(lambda x: functional.max_pool2d(functional.relu(x), 2), x)])
    assert ops(lowered) == ["relu", "max_pool2d_with_taps"]
    found = rewritten(lowered)
    assert ops(found) == ["max_pool2d_with_taps", "relu"]
    assert next(node for node in found.nodes if node.op is not None and node.op.name == "relu").shape == (2, 3, 4, 4)
    assert (found[0].shape, found[0].dtype) == (lowered[0].shape, lowered[0].dtype)


def test_relu_stays_where_others_read_it_too():
    x = leaf(2, 3, 8, 8)

    def both(x):
        y = functional.relu(x)
        return functional.max_pool2d(y, 2), y

    lowered = lower(traced(both, x))
    assert ops(rewritten(lowered)) == ["relu", "max_pool2d_with_taps"]


def test_a_graph_without_pools_is_the_same_object():
    lowered = lower([traced(functional.relu, leaf(4))])
    assert rewritten(lowered) is lowered
