"""Random numbers inside jit are made by native code, and are those of eager mode."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.backends.cpu.writer import Writer
from retrograde.compiler.kernels.random_plan import RandomPlan
from retrograde.nn import functional

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

DRAWS = {
    "dropout": lambda x: functional.dropout(x, 0.3),
    "uniform": lambda x: rg.rand(*x.shape) * x,
    "normal": lambda x: rg.randn_like(x) * x,
    "normal of 64 bits": lambda x: rg.randn(*x.shape, dtype=rg.float64),
    "uniform of 64 bits": lambda x: rg.rand(*x.shape, dtype=rg.float64) - rg.rand(*x.shape, dtype=rg.float64),
    "integers": lambda x: rg.randint(-5, 100, x.shape),
    "all choices of 32 bits": lambda x: rg.randint(0, 2**32, x.shape),
    "coins": lambda x: rg.bernoulli(0.3 * x),
    "one after another": lambda x: rg.randn_like(x) + rg.rand_like(x) - rg.randn_like(x),
    "several": lambda x: functional.dropout(functional.dropout(x, 0.5) + rg.rand(*x.shape), 0.25),
    "channels": lambda x: functional.dropout2d(x.reshape(1, -1, 1, 1), 0.4),
    "nearly all": lambda x: functional.dropout(x, 1 - 1e-12),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [1, 3, 63, 64, 65, 1000, 100003])
@pytest.mark.parametrize("name", DRAWS)
def test_compiled_draws_are_those_of_eager_mode(name, size):
    x, function = rg.ones(size), DRAWS[name]
    step = rg.jit(function)
    rg.manual_seed(3)
    expected = [function(x).numpy() for _ in range(3)]
    rg.manual_seed(3)
    for wanted in expected:
        np.testing.assert_array_equal(step(x).numpy(), wanted)


def test_a_key_of_64_bits_and_a_block_beyond_32_bits_count():
    for key, block in ((2**63 + 12345, 7), (5, 2**32 - 2), (2**40 + 1, 2**35 + 3)):
        for name in ("random_uniform", "random_normal", "random_bits"):
            state = rg.tensor(np.array([key, block], np.uint64))
            op = rg.ops.get(name)
            found = rg.jit(lambda s, op=op: op.call(s, (100,)))(state)
            np.testing.assert_array_equal(found.numpy(), op.kernel(state.data, (100,)))


def test_each_mask_is_a_native_kernel_that_needs_the_first_state_only():
    step = rg.jit(lambda x: functional.dropout(rg.sin(functional.dropout(rg.cos(functional.dropout(x, 0.1)), 0.1)), 0.1))
    step(rg.ones(100))
    kinds = [kernel.kind for kernel in step.explain().kernels]
    assert kinds.count("random") == 3
    assert "library" not in kinds


def test_draws_do_not_wait_for_each_other():
    step = rg.jit(lambda x: x + rg.randn_like(x) * rg.rand_like(x) + rg.randint(0, 9, x.shape, dtype=rg.float32))
    step(rg.ones(100))
    draws = [s for s in step._last_step().program.schedule.steps if s.kernel.name == "random"]
    assert len(draws) == 3
    assert {draw.stage for draw in draws} == {0}


def test_a_seeded_step_of_a_generator_of_a_large_key_goes_on():
    generator = rg.Generator(2**64 - 3)
    step = rg.jit(lambda: rg.randn(5, generator=generator))
    found = [step().numpy() for _ in range(2)]
    generator.manual_seed(2**64 - 3)
    for x in found:
        np.testing.assert_array_equal(x, rg.randn(5, generator=generator).numpy())
    assert generator.get_state().tolist() == [2**64 - 3, 4]


def test_masks_are_the_same_for_any_number_of_threads():
    found = []
    for threads in (1, 2):
        rg.set_num_threads(threads)
        try:
            rg.manual_seed(0)
            found.append(rg.jit(lambda x: functional.dropout(x, 0.5))(rg.ones(200_001)).numpy())
        finally:
            rg.set_num_threads(2)
    np.testing.assert_array_equal(*found)
    assert abs((found[0] == 0).mean() - 0.5) < 0.01


def test_an_inverted_mask_needs_no_call_of_numpy():
    step = rg.jit(lambda x: rg.where(~(x > 0), x, 2.0 * x))
    x = np.array([-1.0, 0.0, 3.0])
    np.testing.assert_array_equal(step(rg.tensor(x)).numpy(), [-1, 0, 6])
    assert "library" not in [kernel.kind for kernel in step.explain().kernels]


@pytest.mark.parametrize("shape", [(100_003,), (20_000, 3), (300, 257), (3, 20_011), (70, 9, 40, 4), (2, 40_000)])
def test_draws_take_turns_with_what_reads_them(shape):
    def f(x):
        coins = rg.dropout(rg.ones(*shape), 0.3)
        low = rg.minimum(rg.randn(*shape, dtype=rg.float64), rg.randint(0, 3, shape)).max()
        return rg.maximum(x, rg.randn_like(x)), rg.maximum(coins, rg.rand(shape[0], *[1] * (len(shape) - 1))), low

    x, step, found, before = rg.zeros(*shape), rg.jit(f), [], rg.get_num_threads()
    rg.manual_seed(6)
    expected = [f(x) for _ in range(2)]
    for threads in (1, 2, 3):
        rg.set_num_threads(threads)
        try:
            rg.manual_seed(6)
            found.append([step(x) for _ in range(2)])
        finally:
            rg.set_num_threads(before)
    for runs in found:
        for ours, theirs in zip(rg.tree.leaves(runs), rg.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_noise_that_is_added_needs_no_memory_of_its_own():
    step = rg.jit(lambda x: x + 0.5 * rg.randn_like(x))
    step(rg.zeros(1_000_000))
    assert step.explain().kernels[0].kind == "rows"
    assert step.explain().arena_bytes < 1_000_000


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_step_of_a_normal_number_is_rounded_in_another_way(dtype):
    text = RandomPlan("random_normal", dtype, 100).unit(Writer(target())).text
    assert "fmul" in text
    assert not [word for word in ("fma", "fmuladd", "fast", "contract", "reassoc", "arcp") if word in text]
