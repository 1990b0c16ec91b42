"""Random numbers in loops and branches of compiled code: native, the numbers of eager mode, drawn again for gradients."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

X = rg.tensor(np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6))


def langevin(x):
    return rg.scan(lambda c, _: (c - 0.1 * c**3 + 0.3 * rg.randn_like(c), c.sum()), x, length=7)


def mixed(x):
    """Draws of several kinds in each iteration, of which no two have the same size."""
    def step(c, i):
        noise = rg.randn(4, 6) + rg.rand(6) + rg.bernoulli(rg.full((4, 1), 0.5)) + 0.1 * rg.randint(-3, 9, (4, 1), dtype=rg.float32)
        return rg.dropout(rg.tanh(c * noise), 0.25), noise.sum() * i

    return rg.scan(step, x, rg.arange(5, dtype=rg.float32))


def nested(x):
    inner = lambda c: rg.fori_loop(0, 3, lambda _, d: d * 0.5 + rg.rand_like(d), c)
    return rg.fori_loop(0, 4, lambda _, c: inner(c) + rg.randn_like(c), x) + rg.randn(6)


def until(x):
    return rg.while_loop(lambda c: c.sum() < 60, lambda c: c + rg.rand_like(c), x), rg.rand(3)


def in_a_branch(x):
    def step(c, _):
        return rg.cond(c.sum() > 0.5, lambda: c - rg.rand_like(c), lambda: rg.randn_like(c) + rg.randn_like(c)), c.sum()

    return rg.scan(step, x, length=9)


OWN = rg.Generator(5)


def of_two_generators(x):
    def step(c, _):
        return c * rg.rand_like(c, generator=OWN) + rg.randn_like(c), rg.randn((), generator=OWN)

    return rg.scan(step, x, length=5, reverse=True)


def of_wide_floats(x):
    return rg.scan(lambda c, _: (c * 0.9 + rg.randn(4, 6, dtype=rg.float64) * rg.rand(6, dtype=rg.float64), None),
                   x.astype(rg.float64), length=6)[0]


LOOPS = [langevin, mixed, nested, until, in_a_branch, of_two_generators, of_wide_floats]


def run(function):
    """What a function gives from fixed states on, and where it leaves the generators."""
    with rg.ops.random.draws.preserved_state(), rg.ops.random.draws.preserved_state(OWN):
        rg.manual_seed(8)
        OWN.manual_seed(9)
        found = [[np.asarray(leaf) for leaf in rg.tree.leaves(function(X))] for _ in range(2)]
        return found, rg.ops.random.draws.default_generator.get_state(), OWN.get_state()


def assert_same(ours, theirs):
    for mine, wanted in zip(ours[0], theirs[0], strict=True):
        for x, y in zip(mine, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(ours[1:], theirs[1:])


def kinds(step):
    return {kernel.kind for kernel in step.explain().kernels}


@pytest.mark.parametrize("loop", LOOPS)
def test_loops_that_draw_are_native_and_draw_the_numbers_of_eager_mode(loop):
    step = rg.jit(loop)
    assert_same(run(step), run(loop))
    assert kinds(step) <= {"repeat", "loop", "random"}


@pytest.mark.parametrize("checkpoint", [False, True, 2])
@pytest.mark.parametrize("loop", [langevin, mixed, in_a_branch])
def test_gradients_of_loops_that_draw_are_those_of_eager_mode(loop, checkpoint, monkeypatch):
    scan = rg.scan
    monkeypatch.setattr(rg, "scan", lambda *args, **named: scan(*args, **named, checkpoint=checkpoint))
    loss = lambda x: sum([(leaf**2).sum() for leaf in rg.tree.leaves(loop(x))])
    step = rg.jit(rg.value_and_grad(loss))
    assert_same(run(step), run(rg.value_and_grad(loss)))
    assert "library" not in kinds(step)


def in_a_checkpoint(x):
    return rg.checkpoint(langevin, x)[0] * rg.rand_like(x)


def in_a_branch_and_a_checkpoint(x):
    branch = lambda: langevin(x * rg.rand_like(x))[0] + rg.randn_like(x)
    return rg.checkpoint(lambda x: rg.cond(x.sum() > -99, branch, lambda: x), x)


@pytest.mark.parametrize("function", [in_a_checkpoint, in_a_branch_and_a_checkpoint])
def test_a_loop_that_is_run_again_draws_what_it_drew(function):
    slope = rg.grad(lambda x: (function(x) ** 2).sum())
    assert_same(run(rg.jit(slope)), run(slope))


def test_the_gradient_of_a_loop_is_that_of_the_numbers_it_drew():
    def loss(x, scale):
        return (rg.scan(lambda c, _: (rg.sin(c) + scale * rg.randn_like(c), None), x, length=6)[0] ** 2).sum()

    def with_noise(x, scale, noise):
        return (rg.scan(lambda c, n: (rg.sin(c) + scale * n, None), x, noise)[0] ** 2).sum()

    scale = rg.tensor(0.3)
    with rg.ops.random.draws.preserved_state():
        rg.manual_seed(2)
        noise = rg.stack([rg.randn_like(X) for _ in range(6)])
        expected = rg.grad(with_noise, (0, 1))(X, scale, noise)
        for function in (rg.grad(loss, (0, 1)), rg.jit(rg.grad(loss, (0, 1)))):
            rg.manual_seed(2)
            for ours, theirs in zip(function(X, scale), expected, strict=True):
                np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


def test_loops_draw_the_same_numbers_for_any_number_of_threads():
    x, before, found = rg.zeros(300, 401), rg.get_num_threads(), []
    step = rg.jit(lambda x: rg.fori_loop(0, 3, lambda _, c: 0.5 * c + rg.randn_like(c), x))
    with rg.ops.random.draws.preserved_state():
        for threads in (1, 2, 3):
            rg.set_num_threads(threads)
            try:
                rg.manual_seed(1)
                found.append(step(x).numpy())
            finally:
                rg.set_num_threads(before)
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
