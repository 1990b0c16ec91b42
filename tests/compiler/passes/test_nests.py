"""nests: passes over the same rows run block by block, with the numbers that they give one after the other."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

F = nn.functional


def normalised(x):
    d = x - x.mean(axis=-1, keepdims=True)
    return d / rg.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5)


def softmax(x):
    return F.softmax(x, dim=-1)


def attended(x):
    """Rows of rows, with a mask that belongs to the inner ones."""
    n = x.shape[-1]
    mask = rg.tril(rg.ones((x.shape[-2], n)), 0)
    return F.softmax(rg.where(mask > 0, x * 0.3, -1e9), dim=-1)


def both_axes(x):
    return (x - x.max(axis=(-2, -1), keepdims=True)) / rg.exp(x).sum(axis=(-2, -1), keepdims=True)


def shifted(x):
    """What a row needs of the row before it keeps passes apart."""
    y = softmax(x)
    return y - rg.roll(y.sum(axis=-1, keepdims=True) * y, 1, -2)


def across(x):
    """A sum over all rows in the middle."""
    y = normalised(x)
    return y * y.mean(axis=-2, keepdims=True)


def nests_of(step):
    steps = step._last_step().program.schedule.steps
    return list(dict.fromkeys(s.nest for s in steps if s.nest is not None))


def gradient_of(function):
    return lambda x: rg.value_and_grad(lambda x: (function(x) * rg.sin(x)).sum())(x)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(300, 257), (1000, 130), (7, 9, 40, 40), (2, 3, 5, 3000), (20000, 3), (3, 20011)])
@pytest.mark.parametrize("function", [normalised, softmax, attended, both_axes, shifted, across])
def test_compiled_rows_equal_eager_ones_with_their_gradients_for_any_number_of_threads(function, shape):
    x = rg.tensor(np.random.default_rng(0).standard_normal(shape))
    wanted, wanted_gradient = gradient_of(function)(x)
    found = []
    for threads in (1, 2):
        rg.set_num_threads(threads)
        try:
            found.append(rg.jit(gradient_of(function))(x))
        finally:
            rg.set_num_threads(2)
    np.testing.assert_allclose(found[0][0].numpy(), wanted.numpy(), rtol=1e-9)
    scale = np.abs(wanted_gradient.numpy()).max()
    np.testing.assert_allclose(found[0][1].numpy(), wanted_gradient.numpy(), atol=1e-11 * scale)
    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("function", [normalised, softmax])
def test_the_passes_of_a_row_are_one_nest_whose_values_have_no_memory_of_their_own(function):
    x = rg.tensor(np.random.default_rng(0).standard_normal((4, 256, 256), np.float32))
    step = rg.jit(function)
    step(x)
    (nest,) = nests_of(step)
    assert len(nest.steps) > 2 and nest.local
    assert step.explain().arena_bytes < x.numpy().nbytes
    assert [kernel.kind for kernel in step.explain().kernels] == ["rows"]


@pytest.mark.parametrize("rows", [256, 300])
def test_a_sum_of_all_rows_that_is_read_row_by_row_is_complete_first(rows):
    x = np.random.default_rng(3).standard_normal((rows, rows))
    np.testing.assert_allclose(rg.jit(lambda x: x - x.sum(axis=0)[:, None])(x), x - x.sum(axis=0)[:, None], rtol=1e-12, atol=1e-12)


def test_what_a_nest_hands_on_and_what_is_asked_for_as_well_is_kept():
    def function(x):
        powers = rg.exp(x - x.max(axis=1, keepdims=True))
        total = powers.sum(axis=1, keepdims=True)
        return powers, total, powers / total

    x = np.random.default_rng(1).standard_normal((400, 300))
    for wanted, found in zip(function(rg.tensor(x)), rg.jit(function)(rg.tensor(x)), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-13)


def test_a_tensor_that_is_read_and_updated_by_passes_of_one_nest_is_read_as_it_was():
    start = np.random.default_rng(2).standard_normal((300, 200))
    eager, compiled = rg.tensor(start), rg.tensor(start)

    def step(p):
        total = p.sum(axis=1, keepdims=True)
        q = rg.exp(p - p.max(axis=1, keepdims=True))
        p[...] = p * 0.5 + q / total
        return (q * p).sum(axis=1)

    fast = rg.jit(lambda: step(compiled))
    for _ in range(3):
        np.testing.assert_allclose(fast().numpy(), step(eager).numpy(), rtol=1e-10)
    np.testing.assert_allclose(compiled.numpy(), eager.numpy(), rtol=1e-10)


def test_cross_entropy_goes_over_a_row_in_one_nest():
    rng = np.random.default_rng(3)
    x, y = rg.tensor(rng.standard_normal((500, 400))), rg.tensor(rng.integers(0, 400, 500))
    step = rg.jit(rg.value_and_grad(F.cross_entropy))
    value, gradient = step(x, y)
    wanted, wanted_gradient = rg.value_and_grad(F.cross_entropy)(x, y)
    np.testing.assert_allclose(value.item(), wanted.item(), rtol=1e-12)
    np.testing.assert_allclose(gradient.numpy(), wanted_gradient.numpy(), rtol=1e-9, atol=1e-15)
    assert len(nests_of(step)) == 1
    with pytest.raises(rg.errors.OutOfRangeError):
        step(x, rg.tensor(np.full(500, 400)))
