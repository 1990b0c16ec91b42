"""formulas: what is computed alike of many operands is recorded twice, copied from then on, and the same program as ever."""

from typing import Any

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.compiler.graph.recorder import Recorder
from retrograde.compiler.graph.signatures import Signatures, contents_of
from retrograde.compiler.pipeline import planned
from retrograde.compiler.trace.formulas import applied
from retrograde.compiler.trace.trace import Trace
from retrograde.core.mode import changed
from retrograde.core.symbol import symbols_in
from tests.compiler.snapshots.telling import graph_of
from tests.optim.test_traced import CASES
from training_steps import training_step

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


class Counted(Trace):
    """A trace that applies one formula to many values, and counts how often it is asked."""

    def __init__(self):
        super().__init__()
        self.known, self.calls = {}, 0

    def apply_to(self, formula, *values, key=None):
        """What a formula gives for some values."""
        def counted(*read):
            self.calls += 1
            return formula(*read)

        with changed(tracer=self, records=False):
            return applied(self, self.known, key, counted, list(values))


@pytest.fixture
def trace():
    found = Counted()
    yield found
    found.restore()


def _vectors(count, dtype=np.float32):
    return [rg.tensor(np.full(3, i + 1, dtype)) for i in range(count)]


def _constants(value):
    """All numbers among the arguments of what made a value, with what made its operands."""
    found, stack = [], [value.raw]
    while stack:
        node = stack.pop()
        found += [a for a in node.args if a.__class__ in (int, float)]
        stack += node.inputs
    return found


def test_a_formula_is_asked_twice_for_operands_of_one_spec(trace):
    for x in _vectors(5):
        (y,) = trace.apply_to(lambda x: [rg.exp(x) * 2.0], x)
        assert [node.op and node.op.name for node in (y.raw, *y.raw.inputs)] == ["multiply", "exp"]
        assert y.raw.inputs[0].inputs == [trace.symbol(x)]
    assert trace.calls == 2
    trace.apply_to(lambda x: [rg.exp(x) * 2.0], *_vectors(1, np.float64))
    assert trace.calls == 3


def test_numbers_that_are_made_anew_are_other_objects_in_each_copy_and_those_of_all_are_one(trace):
    rate = float("0.25")
    formula = lambda x: [(x * (1 - rate) + rg.exp(x)) * rate]
    found = [trace.apply_to(formula, x)[0] for x in _vectors(4)]
    own = [next(c for c in _constants(y) if c == 0.75) for y in found]
    assert len(set(map(id, own))) == 4
    assert all(c is rate for y in found for c in _constants(y) if c == 0.25)
    assert trace.calls == 2


def test_large_whole_numbers_are_other_objects_in_each_copy_too(trace):
    found = [trace.apply_to(lambda x: [x * int("1000")], x)[0] for x in _vectors(4)]
    numbers = [number for y in found for number in _constants(y)]
    assert trace.calls == 2
    assert numbers == [1000] * 4
    assert len(set(map(id, numbers))) == 4


def test_one_number_that_is_met_twice_in_a_formula_is_one_in_its_copies(trace):
    def formula(x):
        number = 1 - float("-0.0") * 3
        return [x * number + number]

    for x in _vectors(4):
        (y,) = trace.apply_to(formula, x)
        first, second = _constants(y)
        assert first is second


def test_zeros_keep_their_sign_in_copies(trace):
    found = [trace.apply_to(lambda x: [rg.copysign(x, -float("0.0"))], x)[0] for x in _vectors(4)]
    assert trace.calls == 2
    assert [repr(_constants(y)[0]) for y in found] == ["-0.0"] * 4


def test_copies_know_what_they_are_copies_of_and_have_its_signature(trace):
    rate = float("0.25")
    formula = lambda x, y: [rg.concatenate([rg.exp(x) * (1 - rate), y], 0) + 2.5, x * (1 - rate)]
    found = [trace.apply_to(formula, *pair) for pair in zip(_vectors(4), _vectors(4), strict=True)]
    signatures, count = Signatures(contents_of), 0
    for recorded, copied in ((found[0], results) for results in found[2:]):
        pairs = [(one.raw, other.raw) for one, other in zip(recorded, copied, strict=True)]
        while pairs:
            one, other = pairs.pop()
            assert signatures[one][0] == signatures[other][0]
            if other.op is not None:
                assert other.pattern is one and len(one.inputs) == len(other.inputs) and len(symbols_in(other.args)) == len(other.inputs)
                pairs += zip(one.inputs, other.inputs, strict=True)
                count += 1
    assert count == 2 * 5
    assert all(result.raw.pattern is None for result in (*found[0], *found[1]))


def test_a_formula_that_changes_is_asked_each_time(trace):
    numbers = iter(range(9))
    found = [trace.apply_to(lambda x: [x * float(next(numbers))], x)[0] for x in _vectors(4)]
    assert [_constants(y) for y in found] == [[0.0], [1.0], [2.0], [3.0]]


def test_a_formula_that_has_another_op_for_some_operands_is_asked_each_time(trace):
    found = [trace.apply_to(lambda x, i=i: [rg.sin(x) if i % 2 else rg.cos(x)], x)[0] for i, x in enumerate(_vectors(4))]
    assert [y.raw.op.name for y in found] == ["cos", "sin", "cos", "sin"]


def test_a_formula_that_writes_or_draws_is_asked_each_time(trace):
    total = rg.zeros(3)

    def writes(x):
        nonlocal total
        total += x
        return [x * 2.0]

    for formula in (writes, lambda x: [x * rg.random.uniform(size=3)]):
        trace.calls = 0
        for x in _vectors(4):
            trace.apply_to(formula, x, key=formula)
        assert trace.calls == 4


def test_a_formula_that_reads_a_number_watches_that_of_each_operand(trace):
    for x in _vectors(4):
        trace.apply_to(lambda x: [x * 2.0 if x.numpy()[0] > 0 else x], x)
    assert trace.calls == len(trace.watched) == 4


def test_two_operands_that_are_one_are_not_copied_as_two(trace):
    vectors = _vectors(4)
    formula = lambda x, y: [x - rg.exp(y)]
    trace.apply_to(formula, vectors[0], vectors[0])
    for x, y in zip(vectors, reversed(vectors), strict=True):
        (z,) = trace.apply_to(formula, x, y)
        assert z.raw.inputs[0] is trace.symbol(x)
        assert z.raw.inputs[1].inputs == [trace.symbol(y)]


def _trainer(name, options, layers=4):
    rng = np.random.default_rng(1)
    model = nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(5, 5), nn.Tanh())])
    for p in model.parameters():
        p.data[...] = rng.standard_normal(p.shape) * 0.4
    optimizer = getattr(optim, name)(model.parameters(), **{"lr": 1e-3, **options})
    return model, training_step(optimizer, lambda x: (model(x) ** 2).mean())


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_step_with_copies_is_planned_as_one_that_is_recorded(name, options, monkeypatch):
    def told():
        draft = planned(graph_of(_trainer(name, options)[1], [((8, 5), "float32")]))
        boxes = [draft.accesses.box(step) for step in draft.schedule.steps if step.kernel.fuses]
        # How often a constant is written shows in the number of entries.
        return [([entry.__class__.__name__ for entry in box.entries], len(box.stores), box.lengths) for box in boxes]

    copied = told()
    monkeypatch.setattr(Trace, "repeated", Recorder.repeated)
    assert copied == told()


@pytest.mark.parametrize(("name", "options"), CASES[3:7])
def test_compiled_steps_of_equal_layers_are_the_eager_ones(name, options):
    (model, eager), (other, step) = _trainer(name, options), _trainer(name, options)
    compiled: Any = rg.jit(step)
    x = rg.tensor(np.random.default_rng(2).standard_normal((8, 5), np.float32))
    for _ in range(4):
        assert compiled(x).item() == pytest.approx(eager(x).item(), rel=1e-5)
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=2e-5, atol=1e-6)
