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
