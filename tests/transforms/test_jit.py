"""jit: compiled functions agree with eager ones, keep state, and refuse what they cannot do."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu import threads
from retrograde.compiler.backends.cpu.machine import available_cores
from retrograde.errors import TraceError
from retrograde.transforms.jit import jit
from sweeping import every_case, has_derivative
from tiers import tiered

RNG = np.random.default_rng(0)


def close(a, b, rtol=1e-6):
    np.testing.assert_allclose(np.asarray(rg.asarray(a).detach()), np.asarray(rg.asarray(b).detach()), rtol=rtol, atol=1e-6)


def weighted(*found):
    """One number that depends on every float of what an op returned, unevenly."""
    total = 0.0
    for z in rg.tree.leaves(found):
        if z.dtype.kind == "f" and z.size:
            total = total + (z * z * np.linspace(0.5, 1.0, z.size).reshape(z.shape)).sum()
    return total


@pytest.mark.parametrize("case", list(tiered(every_case(), key=lambda case: case.op.name, part=2)))
def test_a_compiled_op_and_its_gradient_equal_the_eager_ones(case):
    args, kwargs = case.drawn(np.float64)
    operands = case.operands(args)

    def function(*operands):
        return case.op.call(*case.rebuilt(args, operands), **kwargs)

    with np.errstate(all="ignore"):
        eager = rg.tree.leaves(function(*[rg.asarray(x) for x in operands]))
        compiled = rg.tree.leaves(jit(function)(*operands))
        for a, b in zip(compiled, map(rg.asarray, eager), strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(np.asarray(a), np.asarray(b.detach()), rtol=1e-9, atol=1e-12)
        if has_derivative(case.op) and operands:
            gradient = rg.grad(lambda *x: weighted(function(*x)), tuple(range(len(operands))))
            for a, b in zip(jit(gradient)(*operands), gradient(*operands), strict=True):
                np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-8, atol=1e-10)


def network():
    rng = np.random.default_rng(3)
    shapes = [(7, 16), (16,), (16, 3), (3,)]
    return [rg.tensor(rng.standard_normal(s).astype(np.float32) * 0.3, requires_grad=True) for s in shapes]


def training(parameters):
    moments = [rg.zeros(p.shape) for p in parameters]

    def step(x, y):
        for p in parameters:
            p.grad = None
        w, b, v, c = parameters
        loss = ((rg.tanh(x @ w + b) @ v + c - y) ** 2).mean()
        loss.backward()
        with rg.no_grad():
            for p, m in zip(parameters, moments, strict=True):
                m[...] = m * 0.9 + p.grad
                p -= 0.05 * m
        return loss

    return step


def test_a_compiled_training_step_reads_and_writes_its_parameters_in_place():
    x, y = RNG.standard_normal((12, 7)).astype(np.float32), RNG.standard_normal((12, 3)).astype(np.float32)
    eager, compiled = network(), network()
    plain, fast = training(eager), jit(training(compiled))
    for _ in range(6):
        close(fast(x, y), plain(x, y))
    for a, b in zip(compiled, eager, strict=True):
        close(a, b, rtol=1e-5)


def test_gradients_left_by_a_compiled_backward_are_on_the_parameters():
    w = rg.tensor([1.0, 2.0], requires_grad=True)

    @jit
    def loss(x):
        value = (w * x).sum()
        value.backward()
        return value

    loss(np.array([3.0, 4.0], np.float32))
    close(w.grad, [3.0, 4.0])
    loss(np.array([3.0, 4.0], np.float32))
    close(w.grad, [6.0, 8.0])


def test_results_are_bitwise_the_same_for_any_number_of_threads():
    x = RNG.standard_normal((700, 900)).astype(np.float32)
    y = RNG.standard_normal((900, 500)).astype(np.float32)
    found = []
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            function = jit(lambda x, y: (rg.sin(x).sum(), rg.tanh(x @ y).sum(axis=0), x.mean(axis=1)))
            found.append([np.asarray(r).tobytes() for r in function(x, y)])
    finally:
        threads.set_num_threads(available_cores())
    assert found[0] == found[1] == found[2]


def test_a_read_while_tracing_is_refused_and_leaves_tensors_as_they_were():
    w = rg.tensor([1.0, 2.0], requires_grad=True)

    @jit
    def bad(x):
        with rg.no_grad():
            w[...] = w * x
        return 1 if (w * x).sum() > 0 else 2

    with pytest.raises(TraceError, match=r"rg\.where"):
        bad(rg.tensor([1.0, 2.0]))
    close(w, [1.0, 2.0])
    assert w.is_leaf
    close(w * 2, [2.0, 4.0])


def test_trees_go_in_and_come_out():
    function = jit(lambda tree: {"sum": tree["a"] + tree["b"][0], "none": None, "rest": (tree["b"][1], 3)})
    out = function({"a": rg.tensor([1.0]), "b": [rg.tensor([2.0]), "text"]})
    close(out["sum"], [3.0])
    assert out["none"] is None
    assert out["rest"] == ("text", 3)


def test_jit_of_grad_and_grad_inside_jit_nest_to_any_order():
    x = np.linspace(-1.0, 1.0, 5)
    third = rg.grad(rg.grad(rg.grad(lambda t: rg.sin(t) * t**2)))
    for value in x:
        close(jit(third)(value), third(value))
    inner = jit(lambda t: t**3)
    close(jit(rg.grad(lambda t: inner(t).sum()))(x), 3 * x**2)


def test_a_new_shape_is_traced_anew_and_an_old_one_is_not():
    traced = []

    @jit
    def function(x):
        traced.append(x.shape)
        return x * 2

    for n in (3, 4, 3, 4):
        assert function(np.ones(n)).shape == (n,)
    assert traced == [(3,), (4,)]


def test_a_long_chain_compiles_into_one_kernel():
    def chain(y):
        for _ in range(300):
            y = y * 0.99 + rg.sin(y) * 0.01
        return y.sum()

    x = RNG.standard_normal(10)
    step = jit(rg.value_and_grad(chain))
    for a, b in zip(step(x), rg.value_and_grad(chain)(x), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12)
