"""Draws in compiled functions: no random number is drawn twice, however many threads draw from one generator."""

import sys

import numpy as np
import pytest

import retrograde as rg
from together import in_threads


@pytest.fixture
def hasty_threads():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.parametrize("size", [4, 20000])
def test_functions_that_draw_from_one_generator_in_two_threads_get_other_numbers(size):
    generator, count = rg.Generator(3), 150
    draws = [
        rg.jit(lambda: rg.rand(size, generator=generator)),
        rg.jit(lambda: rg.rand(size, generator=generator).sum() * 0 + rg.rand(size, generator=generator)),
        lambda: rg.rand(size, generator=generator),
    ]
    for draw in draws:
        draw()
    generator.manual_seed(3)
    found = [[], [], []]

    def work(k):
        for _ in range(count):
            found[k].append(draws[k]()[0].item())

    in_threads(work, [(k,) for k in range(3)])
    single = rg.Generator(3)
    alone = [rg.rand(size, generator=single)[0].item() for _ in range(4 * count)]
    seen = [x for numbers in found for x in numbers]
    assert len(set(seen)) == 3 * count and set(seen) <= set(alone)
    np.testing.assert_array_equal(generator.get_state(), single.get_state())


def _seeded(x):
    rg.manual_seed(3)
    state = rg.get_rng_state()
    first = x + rg.randn(2)
    rg.set_rng_state(state)
    return first, rg.randn(2), rg.scan(_turn, x, length=2)[0]


def _turn(carried, _):
    rg.manual_seed(1)
    return carried + rg.rand(2), None


@pytest.mark.parametrize("wrapped", [_seeded, rg.vmap(_seeded)])
def test_a_generator_that_is_seeded_in_a_jitted_function_is_seeded_at_each_call(wrapped):
    x = rg.zeros(3, 2)[0] if wrapped is _seeded else rg.zeros(3, 2)
    compiled = rg.jit(wrapped)
    expected, after = wrapped(x), rg.rand(2)
    for _ in range(2):
        for a, b in zip(compiled(x), expected, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
        np.testing.assert_array_equal(rg.rand(2).numpy(), after.numpy())
