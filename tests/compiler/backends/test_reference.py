"""The reference way runs the same plan as machine code does, with NumPy alone."""

import os
import subprocess
import sys

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler import backends
from retrograde.compiler.index.emitted import ELEMENTS, EMITTED
from retrograde.compiler.passes.memory import Arena
from retrograde.errors import ArgumentError, OutOfRangeError
from sweeping import every_case, has_derivative
from tiers import tiered
from training_steps import training_step

WAYS = ["native", "reference"]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    if request.param == "native":
        pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    monkeypatch.setenv(backends.VARIABLE, request.param)
    return request.param


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.setenv(backends.VARIABLE, "reference")


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(rg.asarray(b).detach()), rtol=1e-9, atol=1e-12)


def squares(*found):
    floats = [z for z in rg.tree.leaves(found) if z.dtype.kind == "f" and z.size]
    return sum([(z * z * np.linspace(0.5, 1.0, z.size).reshape(z.shape)).sum() for z in floats], 0.0)


@pytest.mark.parametrize("case", list(tiered(every_case(), key=lambda case: case.op.name)))
def test_an_op_and_its_gradient_run_by_the_reference_equal_the_eager_ones(case, reference):
    args, kwargs = case.drawn(np.float64)
    operands = case.operands(args)

    def function(*operands):
        return case.op.call(*case.rebuilt(args, operands), **kwargs)

    with np.errstate(all="ignore"):
        for a, b in zip(rg.tree.leaves(rg.jit(function)(*operands)), rg.tree.leaves(function(*operands)), strict=True):
            assert (a.shape, a.dtype) == (np.shape(b), np.asarray(b).dtype)
            close(a, b)
        if has_derivative(case.op) and operands:
            gradient = rg.grad(lambda *x: squares(function(*x)), tuple(range(len(operands))))
            for a, b in zip(rg.jit(gradient)(*operands), gradient(*operands), strict=True):
                close(a, b)


def model(seed=3):
    rng = np.random.default_rng(seed)
    return [rg.tensor(rng.standard_normal(s) * 0.3, requires_grad=True) for s in [(5, 40), (40,), (40, 3), (3,)]]


def step_of(parameters):
    def loss_of(x, labels):
        w, b, v, c = parameters
        return rg.nn.functional.cross_entropy(rg.nn.functional.dropout(rg.tanh(x @ w + b), 0.2) @ v + c, labels)

    return training_step(rg.optim.Adam(parameters, lr=0.05), loss_of)


def run(parameters, step):
    rng = np.random.default_rng(4)
    rg.manual_seed(5)
    losses = [step(rng.standard_normal((8, 5)), rng.integers(0, 3, 8)).item() for _ in range(5)]
    return losses, [p.detach().numpy().copy() for p in parameters], [p.grad.numpy().copy() for p in parameters]


def test_a_training_step_with_state_dropout_and_held_gradients_is_the_same_in_both_ways(way):
    eager, compiled = model(), model()
    expected, found = run(eager, step_of(eager)), run(compiled, rg.jit(step_of(compiled)))
    for a, b in zip(rg.tree.leaves(found), rg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-10)


def test_results_belong_to_the_caller_in_both_ways(way):
    function = rg.jit(lambda x: (x, x * 2, x.sum()))
    for size in (3, 3000):
        x = rg.tensor(np.arange(float(size)))
        first = function(x)
        kept = [np.array(r) for r in first]
        function(x + 1)
        for result, before in zip(first, kept, strict=True):
            np.testing.assert_array_equal(np.asarray(result), before)
        first[0].fill_(7.0)
        assert x[0].item() == 0.0


def test_a_result_that_is_asked_for_twice_is_two_arrays(way):
    a, b = rg.jit(lambda x: (x * 2, x * 2))(np.ones(3000))
    assert not np.shares_memory(a, b)
    np.testing.assert_array_equal(a, b)


def test_a_position_out_of_range_is_found_before_anything_lasting_is_written(way):
    count, table = rg.zeros(3), rg.tensor(np.eye(4))

    def pick(labels):
        count[...] = count + 1
        return rg.nn.functional.cross_entropy(table * 2, labels)

    compiled = rg.jit(pick)
    compiled(np.array([0, 1, 2, 3]))
    with pytest.raises(OutOfRangeError):
        compiled(np.array([0, 1, 2, 9]))
    assert count.tolist() == [1.0, 1.0, 1.0]
    compiled(np.array([3, 2, 1, 0]))
    assert count.tolist() == [2.0, 2.0, 2.0]


def test_a_failing_library_call_leaves_the_state_as_it_was_and_names_its_op(reference):
    count = rg.zeros(2)

    @rg.ops.conversion(samples=())
    def refuse_negative(x, /):
        """`x`, or an error."""
        if (np.asarray(x) < 0).any():
            raise ValueError("negative")
        return x + 0

    def function(x):
        count[...] = count + 1
        return refuse_negative(x * 2)

    try:
        compiled = rg.jit(function)
        compiled(np.ones(2))
        with pytest.raises(ValueError, match=r"refuse_negative\(float64\[2\]\): negative"):
            compiled(-np.ones(2))
    finally:
        rg.ops.unregister("refuse_negative")
    assert count.tolist() == [1.0, 1.0]


def test_updates_that_read_each_other_use_what_was_there_before(way):
    a, b = rg.tensor(np.arange(5.0)), rg.tensor(np.arange(5.0) * 10)

    @rg.jit
    def swap():
        old = a + 0
        a[...] = b[::-1]
        b[...] = old
        return a.sum()

    swap()
    swap()
    assert a.tolist() == [4.0, 3.0, 2.0, 1.0, 0.0]
    assert b.tolist() == [40.0, 30.0, 20.0, 10.0, 0.0]


def test_explain_and_profile_describe_the_same_kernels_in_both_ways(monkeypatch):
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    reports = {}
    for way in WAYS:
        monkeypatch.setenv(backends.VARIABLE, way)
        function = rg.jit(lambda x, y: rg.sin(x @ y).sum(axis=0))
        reports[way] = function.profile(np.ones((4, 5)), np.ones((5, 6)), repeats=2).kernels
        assert all(k.seconds is not None for k in reports[way])
    described = [[(k.kind, k.ops, k.domain, k.results, k.nbytes, k.flops) for k in report] for report in reports.values()]
    assert described[0] == described[1]
    assert all(k.llvm for k in reports["native"])
    assert not any(k.llvm or k.assembly for k in reports["reference"])


def test_an_unknown_way_is_refused(monkeypatch):
    monkeypatch.setenv(backends.VARIABLE, "fast")
    with pytest.raises(ArgumentError, match="native, reference"):
        rg.jit(lambda x: x + 1)(np.ones(2))


WITHOUT = """
import sys
sys.modules["llvmlite"] = None
import numpy as np
import retrograde as rg
w = rg.tensor([1.0, 2.0], requires_grad=True)
optimizer = rg.optim.SGD([w], lr=0.5)

@rg.jit
def step(x):
    optimizer.zero_grad()
    loss = ((w * x) ** 2).sum()
    loss.backward()
    optimizer.step()
    return loss

print(step(np.ones(2, np.float32)).item(), step(np.ones(2, np.float32)).item(), w.tolist())
print(step.explain().kernels[0].kind)
try:
    rg.set_num_threads(2)
except rg.errors.MissingExtraError as error:
    print("retrograde[jit]" in str(error))
"""


def test_jit_works_where_llvmlite_is_not_installed():
    environment = {name: value for name, value in os.environ.items() if name != backends.VARIABLE}
    done = subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT], capture_output=True, text=True, check=False,
                          env=environment)
    assert done.stdout.splitlines() == ["5.0 0.0 [0.0, 0.0]", "loop", "True"], done.stderr


def test_the_names_of_what_is_emitted_are_those_that_the_code_generator_has():
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    from retrograde.compiler.backends.cpu.codegen.builder import Builder
    from retrograde.compiler.backends.cpu.codegen.vecmath import NAMES, elements

    ops = [op for op in map(rg.ops.get, rg.ops.names()) if op.broadcasts and op.emit is None]
    assert {op.name for op in ops if hasattr(Builder, op.name) or op.name in NAMES} <= EMITTED
    assert [name for name in EMITTED if not hasattr(Builder, name) and name not in NAMES] == []
    assert {*elements.ELEMENTS} - {"float16"} == ELEMENTS


def test_the_reference_way_finds_results_that_the_plan_puts_in_one_place(reference, monkeypatch):
    def function(x):
        return rg.cumsum(x, 0) * rg.sort(x)

    data = np.random.default_rng(0).standard_normal(60)
    np.testing.assert_array_equal(np.asarray(rg.jit(function)(data)), function(data))

    def in_one_place(self, requests):
        self.places, self.size = {node: 0 for node, *_ in requests}, max([size for _, size, *_ in requests])

    monkeypatch.setenv("RETROGRADE_VERIFY", "0")  # or the plan would be refused
    monkeypatch.setattr(Arena, "__init__", in_one_place)
    assert not np.array_equal(np.asarray(rg.jit(function)(data)), function(data))


def test_a_product_reads_what_a_view_shows_after_the_copy_of_the_view_is_gone(reference):
    def function(y):
        x = y[:, :3]
        z = rg.linalg.pinv(x)  # a library call, which reads a copy
        left = z.T @ (z @ z.T)
        return x @ (z @ left)

    y = np.random.default_rng(0).standard_normal((4, 4))
    np.testing.assert_allclose(rg.jit(function)(y), function(y), rtol=1e-12)
