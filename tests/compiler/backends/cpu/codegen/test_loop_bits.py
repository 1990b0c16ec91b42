"""Bits of a fused loop: the same wherever in an array an element stands, and whatever stands beside it."""

import numpy as np
import pytest

import retrograde as rg

FORMULAS = {
    "product and sum": lambda x: rg.tanh(x) + (1 + x * x),
    "two products": lambda x: x * rg.exp(x) - rg.sin(x) * rg.cos(x),
    "gradient": rg.grad(lambda x: (rg.sin(x) * rg.exp(-(x**2)) + rg.tanh(x) * rg.log1p(x**2)).sum()),
    "logarithms": lambda x: rg.log(x * x + 1) * x - rg.log1p(x * x) * x,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORMULAS)
def test_an_element_has_the_same_bits_at_every_place(name, dtype):
    compiled = rg.jit(FORMULAS[name])
    values = (np.random.default_rng(0).standard_normal(97) * 3).astype(dtype)
    # Whole vectors, a rest after them, and a rest alone; beside a number that functions treat in a way of their own.
    expected = compiled(rg.tensor(np.tile(values, 64))).numpy()[:97]
    for count in (97, 61, 5):
        assert np.array_equal(compiled(rg.tensor(values[:count])).numpy(), expected[:count])
    odd = values.copy()
    odd[::7] = 1e30
    is_kept = odd == values
    assert np.array_equal(compiled(rg.tensor(odd)).numpy()[is_kept], expected[is_kept])


def test_a_product_that_is_subtracted_is_not_rounded_in_between():
    x = np.float64(1 + 2.0**-30)
    found = rg.jit(lambda x, y: y - x * x)(rg.tensor(np.full(9, x)), rg.tensor(np.full(9, 1 + 2.0**-29)))
    exact = -(2.0**-60)
    assert np.all((found.numpy() == exact) | (found.numpy() == 0))  # 0 where the processor has no fused instruction
    assert np.unique(found.numpy()).size == 1


def test_a_product_that_is_needed_twice_is_one_number():
    x = rg.tensor(np.random.default_rng(1).standard_normal(50))

    def remainder(x):
        product = x * x
        return product - rg.exp(rg.log(product)) * 0 - product

    assert np.all(rg.jit(remainder)(x).numpy() == 0)
