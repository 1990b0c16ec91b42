"""Each row of the tables of rules and of patterns changes the graph of its example, and no number of it."""

import numpy as np
import pytest

import retrograde as rg
from graphs import leaf, traced
from retrograde.compiler.backends.reference import BACKEND
from retrograde.compiler.passes import rewrite
from retrograde.compiler.passes.lower import lower
from retrograde.compiler.rules import simplify, sums
from retrograde.compiler.rules.rule import Call, Rule, applied, by_op
from retrograde.compiler.rules.sums import SUMS
from retrograde.compiler.rules.table import PATTERNS, RULES
from retrograde.compiler.run.program import Graph
from retrograde.core.registry import get as op_named
from retrograde.core.symbol import Symbol
from retrograde.nn import functional
from retrograde.ops.elementary.conversions import astype
from retrograde.ops.random.draws import random_bits

ROWS = np.arange(6)
COLUMNS = np.array([3, 0, 3, 4, -1, 2])


def _called(name):
    return op_named(name).call


def _added(*shape):
    """The gradient of a choice: what is added to zeros of a shape at an index."""
    return lambda index: lambda x, *more: _called("scatter_add")(x, shape, index)


def _solved(x, y):
    factors = _called("lu_factor")(rg.swapaxes(x, -1, -2) + 0)
    return _called("lu_solve")(_called("lu_factor")(rg.swapaxes(x, -1, -2)), y, False) + 0 * factors[0].sum()


#: For each rule a function of arrays of these shapes and dtypes.
EXAMPLES = {
    "no change": (lambda x: +x * 2, (6, 5)),
    "cast to the same dtype": (lambda x: astype(x, np.float32) * 2, (6, 5)),
    "movement to the same place": (lambda x: rg.reshape(x, (6, 5)) * 2, (6, 5)),
    "power 1": (lambda x: x**1 * 2, (6, 5)),
    "small whole power": (lambda x: x**3, (6, 5)),
    "times 1": (lambda x: rg.sin(x * 1), (6, 5)),
    "divided by 1": (lambda x: rg.sin(x / 1), (6, 5)),
    "choice of the same": (lambda x: rg.where(x > 0, x, x) * 2, (6, 5)),
    "inverted truth": (lambda x: ~(x > 0), (6, 5)),
    "outer product": (lambda x, y: x @ y, (6, 1), (1, 5)),
    "product with equal numbers": (lambda x: x @ np.full((5, 3), 0.5, np.float32), (6, 5)),
    "product of rows that lie apart": (lambda x, y: rg.permute_dims(x, (1, 0, 2)) @ y, (3, 4, 5), (5, 70)),
    "equations of a transposed matrix": (_solved, (4, 4), (4, 2)),
    "extremum of truths": (lambda x: rg.max(x > 0, axis=1), (6, 5)),
    "fold of selected elements": (lambda x: rg.sum(x, where=x > 0), (6, 5)),
    "fold in the dtype of the result": (lambda x: rg.sum(x > 0, axis=1), (6, 5)),
    "fold of single elements": (lambda x: rg.sum(x, axis=1) * 2, (6, 1)),
    "sum of runs that lie apart": (lambda x: rg.sum(rg.round(x), (0, 2)), (40, 32, 32)),
    "running fold in the dtype of the result": (lambda x: rg.cumsum(x > 0, axis=1), (6, 5)),
    "running fold along an axis": (lambda x: rg.cumsum(x), (6, 5)),
    "draw from the first state": (lambda s: random_bits(s + np.array([0, 3]), (9,)), np.array([5, 2])),
    "positions along one axis": (lambda x: x[1:, COLUMNS] * 2, (6, 5)),
    "one of each row": (lambda x: x[ROWS, COLUMNS] * 2, (6, 5)),
    "positions along the first axes": (lambda x: x[COLUMNS, COLUMNS] * 2, (5, 5, 2)),
    "added in steps": (_added(9, 4)((slice(1, None, 2), slice(None, None, -1))), (4, 4)),
    "added at known positions": (_added(5, 3)((COLUMNS, slice(None))), (6, 3)),
    "added along one axis": (lambda x, i: _called("scatter_add")(x, (5, 3), i), (6, 3), COLUMNS),
    "added to each row": (lambda x, i: _called("scatter_add")(x, (6, 5), (ROWS, i)), (6,), COLUMNS),
    "added along the first axes": (lambda x, i: _called("scatter_add")(x, (5, 5, 2), (i, i)), (6, 2), COLUMNS),
    "few added along lines": (lambda x, i: _called("add_along_axis")(x, (6, 5), i, 1), (6, 2), COLUMNS.reshape(6, 1)[:, [0, 0]]),
    "many added along lines": (
        lambda x, i: _called("add_along_axis")(x, (6, 5), i, 1), (6, 12), np.arange(72).reshape(6, 12) % 10 - 5),
}


def _arrays(given):
    rng = np.random.default_rng(4)
    return [rng.standard_normal(g).astype(np.float32) if isinstance(g, tuple) else g for g in given]


def _lowered(function, arrays):
    """What a function becomes: the leaves, and the graph."""
    leaves = [leaf(*a.shape, dtype=a.dtype) for a in arrays]
    return leaves, lower([traced(function, *leaves)])


def _told(leaves, outputs):
    """A graph as text."""
    numbers = {node: f"input {i}" for i, node in enumerate(leaves)}

    def name(a):
        if isinstance(a, Symbol):
            return numbers[a]
        return f"({', '.join(map(name, a))})" if isinstance(a, (tuple, list)) else repr(a)

    for node in outputs.nodes:
        if node not in numbers:
            numbers[node] = f"{node.op.name}({', '.join(map(name, node.args))})"
    return [name(output) for output in outputs]


def test_each_rule_has_an_example_and_a_reason_and_a_name_of_its_own():
    assert [rule.name for rule in RULES] == list(EXAMPLES)
    assert all(rule.why and rule.ops for rule in RULES)
    assert len({rule.replace for rule in RULES}) == len(RULES)


def _row(rows, name):
    """The row of a name. Tests go by the names of examples, so that one fails where a row is missing."""
    (found,) = [row for row in rows if row.name == name]
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_graph_is_another_one_without_the_rule_and_has_the_same_values(name, monkeypatch):
    rule = _row(RULES, name)
    function, *given = EXAMPLES[name]
    arrays = _arrays(given)
    leaves, outputs = _lowered(function, arrays)
    with_rule = _told(leaves, outputs)
    found = _value(function, arrays)
    monkeypatch.setattr(simplify, "_BY_OP", by_op([other for other in RULES if other is not rule]))
    assert _told(*_lowered(function, arrays)) != with_rule
    expected = function(*map(rg.tensor, arrays)).numpy()
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    without = _value(function, arrays)
    np.testing.assert_allclose(without, expected, rtol=2e-5, atol=2e-5)


def _value(function, arrays):
    leaves = [leaf(*a.shape, dtype=a.dtype) for a in arrays]
    (found,) = BACKEND.program(Graph(leaves, [], [traced(function, *leaves)], [], []))(arrays)
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_no_rule_matches_what_the_rules_have_made(rule):
    function, *given = EXAMPLES[rule.name]
    _, outputs = _lowered(function, _arrays(given))
    for node in outputs.nodes:
        if node.op is not None and node.shape is not None and node.op.name in simplify._BY_OP:
            call = Call(node.op, node.args, node.shape, node.dtype)
            assert applied(simplify._BY_OP, call) == call


def test_the_first_rule_that_matches_is_applied_until_none_does():
    halved = Rule("half", ("f",), lambda call: call._replace(args=(call.args[0] // 2,)) if call.args[0] % 2 == 0 else None, "")
    never = Rule("never", ("f",), lambda call: pytest.fail("the first one matches") if call.args[0] == 8 else None, "")
    op = type("Op", (), {"name": "f"})
    assert applied(by_op([halved, never]), Call(op, (8,), (), None)).args == (1,)


def _sum_at(*indices):
    """The sum of what is added to zeros of shape (12, 5) at each index: the first argument, twice it, three times it ..."""
    def function(x):
        total = _called("scatter_add")(x, (12, 5), indices[0])
        for i, index in enumerate(indices[1:], 2):
            total = total + _called("scatter_add")(x * i, (12, 5), index)
        return total

    return function


SUMS_OF = {
    "steps together": (_sum_at((slice(0, 12, 3),), (slice(0, 12, 3),)), (4, 5)),
    "beside each other": (_sum_at((slice(6, 12),), (slice(0, 6),)), (6, 5)),
    "lines together": (_sum_at(*range(10)), (5,)),
}


@pytest.mark.parametrize("name", SUMS_OF)
def test_a_sum_is_another_one_without_the_rule_and_has_the_same_values(name, monkeypatch):
    rule = _row(SUMS, name)
    function, *given = SUMS_OF[name]
    arrays = _arrays(given)

    def told():
        leaves, outputs = _lowered(function, arrays)
        return _told(leaves, rewrite.rewritten(outputs))

    with_rule, found = told(), _value(function, arrays)
    monkeypatch.setattr(sums, "SUMS", [other for other in SUMS if other is not rule])
    assert told() != with_rule
    expected = function(*map(rg.tensor, arrays)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(_value(function, arrays), expected, rtol=1e-6)
    assert list(SUMS_OF) == [row.name for row in SUMS]


def _heads(x):
    found = functional.scaled_dot_product_attention(x, x, x)
    return rg.reshape(rg.permute_dims(found, (0, 2, 1, 3)), (2, 5, 12))


def _rows_written(x, y):
    i = astype(rg.abs(y[:, 0]) * 3, np.int64) % 6
    return _called("set_at")(x, x[i] * y, i)


#: For each pattern a function of arrays of these shapes.
PATTERNS_OF = {
    "sum of scattered arrays": (_sum_at(*range(10)), (5,)),
    "max pooling before relu": (rg.grad(lambda x: (functional.max_pool2d(functional.relu(x), 2) ** 2).sum()), (2, 3, 4, 4)),
    "written where they are computed": (_rows_written, (6, 20), (9, 20)),
    "written as read": (_heads, (2, 3, 5, 4)),
}


def test_each_pattern_has_an_example_and_a_reason():
    assert [pattern.name for pattern in PATTERNS] == list(PATTERNS_OF)
    assert all(pattern.why and pattern.ops for pattern in PATTERNS)


@pytest.mark.parametrize("name", PATTERNS_OF)
def test_a_graph_is_another_one_without_the_pattern_and_has_the_same_values(name, monkeypatch):
    pattern = _row(PATTERNS, name)
    function, *given = PATTERNS_OF[name]
    arrays = _arrays(given)
    leaves, outputs = _lowered(function, arrays)
    with_pattern, found = _told(leaves, rewrite.rewritten(outputs)), _value(function, arrays)
    assert with_pattern != _told(leaves, outputs)
    monkeypatch.setattr(rewrite, "PATTERNS", [other for other in PATTERNS if other is not pattern])
    assert rewrite.rewritten(outputs) is outputs
    expected = function(*map(rg.tensor, arrays)).numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(_value(function, arrays), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_no_pattern_is_left_in_what_they_have_made(pattern):
    function, *given = PATTERNS_OF[pattern.name]
    leaves, outputs = _lowered(function, _arrays(given))
    once = rewrite.rewritten(outputs)
    assert _told(leaves, rewrite.rewritten(once)) == _told(leaves, once)
