"""effects: calls of ops that talk to the world outside are neither merged, nor dropped, nor moved past one another."""

import numpy as np
import pytest

import retrograde as rg
from graphs import draft_of, leaf
from retrograde.compiler import pipeline, verify_setting
from retrograde.compiler.graph.effects import TOKEN, Effectful
from retrograde.compiler.graph.recorder import PICK
from retrograde.core.symbol import Outputs, Symbol
from retrograde.errors import ArgumentError, VerifierError


@pytest.fixture
def calls():
    """What the op below was called with, in order; the op is registered meanwhile."""
    return []


@pytest.fixture
def tell(calls):
    """An op that notes the sum of what it is given and a label, and gives twice that, as an all-reduce of two equal processes."""
    @rg.ops.elementwise(has_effect=True, name="tell_in_tests")
    def tell_in_tests(x, /, label=""):
        """Twice `x`, which is noted."""
        calls.append((label, round(float(np.sum(x)), 6)))
        return 2 * x

    tell_in_tests.defvjp(lambda g, label: tell_in_tests(g, f"back {label}"))
    yield tell_in_tests
    rg.ops.unregister("tell_in_tests")


@pytest.fixture(params=["native", "reference"])
def way(request, monkeypatch):
    if request.param == "native":
        pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    monkeypatch.setenv("RETROGRADE_COMPILER", request.param)


def both(function, calls, *args, times=1):
    """What a function gives eagerly and compiled, and what it has done meanwhile, each; compiled, the calls after tracing."""
    eager = [function(*args) for _ in range(times)][-1]
    wanted, calls[:] = list(calls), []
    step = rg.jit(function)
    compiled = [step(*args) for _ in range(times)][-1]
    found, calls[:] = list(calls), []
    for a, b in zip(rg.tree.leaves(eager), rg.tree.leaves(compiled), strict=True):
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-12)
    return wanted, found, step


X = np.array([1.0, 2.0, 4.0])


def test_a_call_whose_result_nobody_needs_is_made_at_each_call_and_not_while_it_is_traced(tell, calls, way):
    def function(x):
        tell(x, "unused")
        return x + 1

    wanted, found, step = both(function, calls, rg.tensor(X), times=3)
    assert found == wanted == [("unused", 7.0)] * 3
    assert step.traces == 1


def test_equal_calls_stay_two_and_in_order(tell, calls, way):
    def function(x):
        a = tell(x, "one")
        tell(x * 3, "two")
        return a + tell(x, "one")

    wanted, found, _ = both(function, calls, rg.tensor(X))
    assert found == wanted == [("one", 7.0), ("two", 21.0), ("one", 7.0)]


def test_calls_are_made_in_order_whatever_their_operands_wait_for(tell, calls, way):
    def function(x, y):
        late = x
        for _ in range(5):
            late = late @ y / 3
        tell(late, "late")
        tell(y, "early")
        return tell(x, "last") * 0

    wanted, found, _ = both(function, calls, rg.tensor(np.eye(3)), rg.tensor(np.full((3, 3), 2.0)))
    assert [label for label, _ in found] == ["late", "early", "last"]
    assert found == wanted


def test_a_call_on_plain_data_is_made_at_each_call_too(tell, calls, way):
    def function(x):
        return tell(X, "plain") + x

    wanted, found, _ = both(function, calls, rg.tensor(X), times=2)
    assert found == wanted == [("plain", 7.0)] * 2


def test_calls_in_the_body_of_a_scan_are_made_in_each_iteration_in_order_with_those_around_it(tell, calls, way):
    def function(x):
        tell(x, "before")

        def step(c, row):
            tell(c, "carried")
            tell(X, "the same each time")
            return c + tell(row, "row"), None

        found = rg.scan(step, x, rg.tensor(np.arange(6.0).reshape(2, 3)))[0]
        tell(x, "after")
        return found

    wanted, found, _ = both(function, calls, rg.tensor(X), times=2)
    assert len(found) == 2 * 8
    assert found == wanted


def test_calls_in_the_body_of_a_while_loop_are_made_as_often_as_it_runs(tell, calls, way):
    def function(x):
        return rg.while_loop(lambda c: c.sum() < 50, lambda c: c + tell(c, "body"), x)

    wanted, found, _ = both(function, calls, rg.tensor(X))
    assert found == wanted == [("body", 7.0), ("body", 21.0)]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_calls_of_the_branch_that_is_chosen_are_made_and_no_others(tell, calls, way, sign):
    def function(x):
        tell(x, "before")
        found = rg.cond(x.sum() > 0, lambda: tell(x, "yes"), lambda: x * tell(x.sum(), "no"))
        tell(found, "after")
        return found

    wanted, found, _ = both(function, calls, rg.tensor(sign * X))
    assert [label for label, _ in found] == ["before", "yes" if sign > 0 else "no", "after"]
    assert found == wanted


def test_a_derivative_within_compiled_code_makes_the_calls_once_and_those_of_the_rules_after_them_in_reverse(tell, calls, way):
    function = rg.grad(lambda x: (tell(tell(x, "a") ** 2, "b")).sum())
    wanted, found, _ = both(function, calls, rg.tensor(X))
    assert [label for label, _ in found] == ["a", "b", "back b", "back a"]
    assert found == wanted


def test_a_derivative_of_a_scan_makes_the_calls_of_each_iteration_once(tell, calls, way):
    def total(x):
        def step(c, _):
            tell(c.detach(), "on")
            return rg.sin(c), None

        return rg.scan(step, x, length=3)[0].sum()

    wanted, found, _ = both(rg.grad(total), calls, rg.tensor(X))
    assert [label for label, _ in found] == ["on"] * 3
    assert found == wanted


def test_a_rule_with_an_effect_in_the_derivative_of_a_compiled_loop_is_an_error(tell, way):
    step = rg.jit(rg.grad(lambda x: rg.scan(lambda c, _: (rg.sin(tell(c, "on")), None), x, length=3)[0].sum()))
    with pytest.raises(rg.errors.TraceError, match="calls tell_in_tests, which has an effect"):
        step(rg.tensor(X))


def test_a_function_whose_results_are_walked_back_outside_runs_as_it_is_so_that_nothing_happens_twice(tell, calls, way):
    step = rg.jit(lambda x: (tell(x, "once") ** 2).sum())
    x = rg.tensor(X, requires_grad=True)
    step(x).backward()
    assert calls == [("once", 7.0), ("back once", 4 * 7.0)]
    np.testing.assert_allclose(x.grad.numpy(), 8 * X)


def test_a_vmap_makes_one_call_for_all_examples(tell, calls, way):
    function = rg.vmap(lambda x: tell(x, "example") + 1)
    wanted, found, _ = both(function, calls, rg.tensor(np.stack([X, X, X])))
    assert found == wanted == [("example", 21.0)]


def test_a_lazy_computation_makes_the_call_at_once(tell, calls):
    with rg.lazy():
        x = rg.tensor(X) + 1
        y = tell(x, "now")
        tell(x, "unused")
        assert calls == [("now", 10.0), ("unused", 10.0)]
        np.testing.assert_allclose(np.asarray(y), 2 * (X + 1))
    assert len(calls) == 2


def test_state_is_what_it_was_if_a_call_raises(way):
    @rg.ops.elementwise(has_effect=True, name="refuse_in_tests")
    def refuse_in_tests(x, /):
        """Raise for negative numbers."""
        if np.any(x < 0):
            raise ValueError("the line is down")
        return x

    try:
        state = rg.tensor(np.zeros(3))

        @rg.jit
        def step(x):
            state[...] = state + 1
            return refuse_in_tests(x)

        step(X)
        with pytest.raises(ValueError, match=r"^refuse_in_tests\(float64\[3\].*the line is down"):
            step(-X)
        assert state.numpy().tolist() == [1, 1, 1]
    finally:
        rg.ops.unregister("refuse_in_tests")


def test_an_op_with_an_effect_says_the_shape_of_its_result_since_its_kernel_is_not_asked(calls):
    with pytest.raises(ArgumentError, match="give it result_shape="):
        @rg.ops.matrix(has_effect=True, name="halves_in_tests")
        def halves_in_tests(x, /):
            """Without a shape."""
            return x[..., ::2]

    @rg.ops.matrix(has_effect=True, name="halves_in_tests", result_shape=lambda x: (*x.shape[:-1], x.shape[-1] // 2))
    def halves(x, /):
        """Each second number, which is noted."""
        calls.append(x.shape)
        return x[..., ::2].copy()

    try:
        step = rg.jit(lambda x: halves(x) + 1)
        np.testing.assert_array_equal(step(np.arange(4.0)), [1, 3])
        assert calls == [(4,)]
    finally:
        rg.ops.unregister("halves_in_tests")


def effects_graph(tell, count):
    """So many calls, one after the other, as a trace records them."""
    x, token, made = leaf(3), leaf(dtype=TOKEN.dtype), []
    for _ in range(count):
        call = Symbol(Effectful(tell.op), (token, x, ""), None, None)
        token = Symbol(PICK, (call, -1), TOKEN.shape, TOKEN.dtype)
        made.append(call)
    return made, token


@pytest.mark.parametrize("fault", ["dropped", "merged"])
def test_a_pass_that_loses_an_effect_is_found(tell, monkeypatch, fault):
    monkeypatch.setenv(verify_setting.VARIABLE, "1")
    made, token = effects_graph(tell, 3)
    assert len(draft_of([token]).effects) == 3

    def spoil(outputs):
        last = outputs[0].args[0]
        others = [node for node in outputs.nodes if node.op.__class__ is Effectful]
        kept = others[0] if fault == "dropped" else last
        first = next(node for node in outputs.nodes if node.op is None and node.dtype == TOKEN.dtype)
        op = last.op if fault == "dropped" else others[0].op
        node = Symbol(op, (Symbol(PICK, (kept, -1), TOKEN.shape, TOKEN.dtype) if kept is not last else first, *last.args[1:]), None, None)
        return Outputs([Symbol(PICK, (node, -1), TOKEN.shape, TOKEN.dtype)])

    monkeypatch.setattr(pipeline, "PASSES", tuple([
        p._replace(run=lambda draft: setattr(draft, "outputs", spoil(draft.outputs))) if p.name == "rewrite" else p for p in pipeline.PASSES]))
    with pytest.raises(VerifierError, match=r"'rewrite' .*effects are missing"):
        draft_of([token])
    assert len(made) == 3
