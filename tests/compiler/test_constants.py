"""Constants of graphs: arrays from outside, and arrays of equal elements."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.constants import as_constant, constant_key

COUNT = 5000


def constants_of(step):
    """The arrays that a step's graph holds."""
    nodes = step._last_step().program.schedule.nodes
    return [a for node in nodes for a in node.args if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("make", [np.zeros, lambda n, dtype: np.arange(n).astype(dtype)], ids=["equal", "unlike"])
def test_large_array_from_outside_is_what_it_was_when_the_function_was_traced(make):
    outside = make(COUNT, np.float32)
    step = rg.jit(lambda x: x + outside)
    before = outside.copy()
    step(rg.ones((COUNT,), dtype="float32"))
    outside[:] = 7
    np.testing.assert_array_equal(step(rg.ones((COUNT,), dtype="float32")).numpy(), before + 1)


@pytest.mark.parametrize("loss", [lambda y: (y**2).mean(), lambda y: (y**3).sum(), lambda y: (rg.nn.functional.softmax(y, -1) * 2).sum()])
def test_slope_of_a_mean_is_a_number_in_the_code_and_no_array_in_memory(loss):
    step = rg.jit(rg.grad(loss))
    x = np.random.default_rng(0).standard_normal((80, 64)).astype(np.float32)
    found = step(rg.tensor(x))
    np.testing.assert_allclose(found.numpy(), rg.grad(loss)(rg.tensor(x)).numpy(), rtol=2e-5, atol=1e-6)
    assert not [a for a in constants_of(step) if a.size > 1 and any(a.strides)]


def test_zeros_of_both_signs_are_not_equal_elements():
    zeros = np.zeros(COUNT, np.float32)
    zeros[COUNT // 3] = -0.0
    kept = as_constant(zeros)
    assert np.signbit(kept).sum() == 1
    assert constant_key(kept) != constant_key(as_constant(np.zeros(COUNT, np.float32)))


def test_equal_constants_have_one_key_whatever_memory_they_had():
    ones = np.ones((COUNT, 2), np.float32)
    assert constant_key(as_constant(ones)) == constant_key(np.broadcast_to(np.float32(1), (COUNT, 2)))
    assert as_constant(np.asfortranarray(ones)).strides == (0, 0)


def test_read_only_array_is_kept_without_a_copy():
    shown = np.arange(COUNT)
    shown.flags.writeable = False
    assert as_constant(shown) is shown
