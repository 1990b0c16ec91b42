"""scatter and products: what a pass by itself reads, and lines added at positions as NumPy adds them."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

from retrograde.compiler import cost
from retrograde.compiler.backends.cpu.codegen.positions.scatter import ScatterPlan


def kinds_of(step):
    return [kernel.kind for kernel in step.explain().kernels]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("index_dtype", ["int64", "int32"])
@pytest.mark.parametrize(("shape", "places", "axis"), [
    ((7,), (20,), 0), ((65, 128), (16, 64), 0), ((10, 3), (4,), 0), ((5, 9, 37), (11,), 1), ((6, 200), (3, 50), 1), ((4, 8), (0,), 0),
    ((3001, 67), (40,), 0), ((70000,), (9,), 0), ((2, 1500, 33), (700,), 1)])
def test_gradients_of_rows_that_are_chosen_add_up_as_in_numpy(dtype, index_dtype, shape, places, axis):
    rng = np.random.default_rng(0)
    indices = rng.integers(0, shape[axis], places).astype(index_dtype)
    x = rg.tensor(rng.standard_normal(shape).astype(dtype))
    g = rng.standard_normal((*shape[:axis], *places, *shape[axis + 1 :])).astype(dtype)
    step = rg.jit(rg.grad(lambda x, i: (rg.take(x, i, axis=axis) * rg.tensor(g)).sum()))
    wanted = np.zeros(shape, dtype)
    np.add.at(wanted, (slice(None),) * axis + (indices.astype(np.int64),), g)
    found = step(x, rg.tensor(indices)).numpy()
    np.testing.assert_array_equal(found, wanted)
    if indices.size:
        assert "scatter" in kinds_of(step) and "library" not in kinds_of(step)


def test_negative_positions_count_from_the_end_and_others_are_refused():
    x = rg.tensor(np.zeros((5, 3)))
    step = rg.jit(lambda x, i: rg.segment_sum(rg.ones((3, 3)) + x[:3] * 0, i, 5))
    with pytest.raises(rg.errors.OutOfRangeError):
        step(x, rg.tensor([0, 1, 5]))
    np.testing.assert_array_equal(step(x, rg.tensor([0, 0, 4])).numpy()[:, 0], [2, 0, 0, 0, 1])
    np.testing.assert_array_equal(step(x, rg.tensor([-1, 0, 4])).numpy()[:, 0], [1, 0, 0, 0, 2])


@pytest.mark.parametrize(("lines", "count"), [(40, 5000), (9000, 5000)])
def test_a_scattered_sum_is_the_same_for_any_number_of_threads(lines, count):
    rng = np.random.default_rng(1)
    g, i = rng.standard_normal((count, 300)), rg.tensor(rng.integers(0, lines, count))
    found = []
    for threads in (1, 2):
        rg.set_num_threads(threads)
        try:
            found.append(rg.jit(lambda g, i: rg.segment_sum(g * 2.0, i, lines))(rg.tensor(g), i).numpy())
        finally:
            rg.set_num_threads(2)
    np.testing.assert_array_equal(*found)


def test_positions_out_of_range_are_refused_where_chunks_take_lines():
    step = rg.jit(lambda x, i: rg.segment_sum(x * 2.0, i, 5000))
    x = rg.ones((3, 64))
    with pytest.raises(rg.errors.OutOfRangeError):
        step(x, rg.tensor([0, 1, 5000]))
    np.testing.assert_array_equal(step(x, rg.tensor([-1, 17, 4999])).numpy()[[17, 4999], 0], [2, 4])


def test_a_product_of_a_new_shape_of_a_new_shape_reads_what_is_there():
    """The product reads the memory beneath, which may be a result of its own stage."""
    rng = np.random.default_rng(2)
    x, w = rng.standard_normal((4, 6, 8)), rng.standard_normal((16, 5))

    def function(x):
        y = rg.tanh(x).reshape(24, 8).reshape(12, 16)
        return y @ rg.tensor(w), y.reshape(2, 96), y

    for found, wanted in zip(rg.jit(function)(rg.tensor(x)), function(rg.tensor(x)), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 5, 4), (2, 3, 5, 4)])
def test_batches_that_share_a_matrix_are_one_tall_product(shape):
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal(shape), rng.standard_normal((4, 6))
    np.testing.assert_allclose(rg.jit(lambda x: x @ rg.tensor(w))(rg.tensor(x)).numpy(), x @ w, rtol=1e-12)
    turned = rg.jit(lambda x: rg.swapaxes(x, -1, -2) @ rg.tensor(rng.standard_normal((shape[-2], 3)) * 0 + 1.5))
    np.testing.assert_allclose(turned(rg.tensor(x)).numpy(), np.swapaxes(x, -1, -2) @ np.full((shape[-2], 3), 1.5), rtol=1e-12)


def test_a_product_reads_a_copy_where_a_view_was_given_another_shape():
    rng = np.random.default_rng(4)
    x, w = rng.standard_normal((3, 4, 5, 2)), rng.standard_normal((8, 6))

    def function(x):
        return rg.permute_dims(rg.tanh(x), (0, 2, 1, 3)).reshape(15, 8) @ rg.tensor(w)

    np.testing.assert_allclose(rg.jit(function)(rg.tensor(x)).numpy(), function(rg.tensor(x)).numpy(), rtol=1e-12)


@pytest.mark.parametrize(("shape", "chosen", "axis"), [
    ((40, 30), (40, 12), 1), ((64, 6, 5), (64, 20, 5), 1), ((30, 7), (90, 7), 0), ((5, 7, 40), (5, 7, 9), -1), ((50,), (70,), 0)])
def test_many_numbers_of_each_line_are_added_along_an_axis_by_kernels(shape, chosen, axis):
    rng = np.random.default_rng(sum(shape))
    x, positions = rng.standard_normal(shape), rng.integers(-shape[axis], shape[axis], chosen)
    for power in (1, 3):
        slope = rg.grad(lambda x, positions, power=power: (rg.take_along_axis(x, positions, axis) ** power).sum())
        step = rg.jit(slope)
        np.testing.assert_allclose(step(x, rg.tensor(positions)), slope(x, rg.tensor(positions)), rtol=1e-12, atol=1e-12)
        assert "library" not in {kernel.kind for kernel in step.explain().kernels}


def test_one_of_many_positions_out_of_range_is_told_and_nothing_is_written():
    x, positions = rg.tensor(np.zeros((4, 20))), rg.tensor(np.full((4, 10), 19))
    step = rg.jit(rg.grad(lambda x, positions: (rg.take_along_axis(x, positions, 1) ** 2).sum()))
    step(x, positions)
    with pytest.raises(rg.errors.OutOfRangeError):
        step(x, positions + 1)


@pytest.mark.parametrize("shape", [(300, 40), (50, 30, 9)])
def test_columns_of_many_tables_add_up_for_any_number_of_threads(shape):
    rng, before = np.random.default_rng(0), rg.get_num_threads()
    x, positions = rng.standard_normal(shape), rng.integers(0, shape[1], 100)
    weights = rng.standard_normal((shape[0], 100, *shape[2:]))
    expected = np.zeros_like(x)
    np.add.at(expected, (slice(None), positions), weights)
    for threads in (1, 2, 3):
        rg.set_num_threads(threads)
        found = rg.jit(rg.grad(lambda x, positions, weights: (x[:, positions] * weights).sum()))(x, rg.tensor(positions), weights)
        assert np.array_equal(found, expected)
    rg.set_num_threads(before)


def test_gradient_of_one_element_at_a_traced_position_is_a_number_put_there():
    logits, label = np.array([0.3, -1.2, 2.0]), np.array(1)
    likelihood = rg.jit(rg.grad(lambda t, y: -rg.log_softmax(t)[y]))
    softmax = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(likelihood(logits, label), softmax - np.eye(3)[1], rtol=1e-14)
    np.testing.assert_allclose(likelihood(logits, np.array(-1)), softmax - np.eye(3)[2], rtol=1e-14)
    np.testing.assert_array_equal(rg.jit(rg.grad(lambda x: x[rg.argmax(x)] * 2.0))(np.array([1.0, 7.0, 3.0])), [0, 2, 0])


#: Functions of `x` at positions `i`, whose slopes are constants or are not.
CHOICES = {
    "one": lambda x, i: x[0, 0, i] * 2.0,
    "square": lambda x, i: rg.sum(x[0, 0, i] ** 2),
    "two": lambda x, i: rg.sum(x[0, i, i] * 3.0),
    "three": lambda x, i: rg.sum(x[i, i, i]),
    "apart": lambda x, i: rg.sum(x[i, :, i] * x[i - 1, 0, i][..., None]),
    "beside a slice": lambda x, i: rg.sum(x[i, 1:, ::-1] * 2.0),
    "behind a slice": lambda x, i: rg.sum(x[:2, i] * 2.0),
    "taken": lambda x, i: rg.sum(rg.take(x, i, axis=1) * 2.0),
    "largest": lambda x, i: x[i, i, rg.argmax(x[0, 0])].sum() * 2.0,
    "in a loop": lambda x, i: rg.scan(lambda c, t: (c + x[t, i, t] * 2.0, c), i * 0.0, np.array([0, -1, 1]))[0].sum(),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("positions", [np.array(1), np.array(-2), np.array([1]), np.array([[0, 1], [-1, 1]], np.int32)])
def test_elements_at_traced_positions_have_the_same_derivatives_in_every_form(name, positions):
    choice, x = CHOICES[name], np.random.default_rng(0).standard_normal((3, 3, 3))

    def total(x, i):
        found = choice(x, i)
        return found.sum() if found.shape else found

    def of_two(x, i):
        return rg.vmap(rg.grad(total), in_axes=(0, None))(rg.stack([x, -x]), i)

    for form in (total, rg.grad(total), rg.hessian(total), of_two):
        found, expected = rg.jit(form)(x, positions), form(x, positions)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
        assert found.dtype == expected.dtype


def test_chunks_take_whole_tables_of_many_or_lines_of_few_large_ones():
    plan = ScatterPlan("float32", "int64", 8, outer=1, count=100, size=1 << 20, width=16)
    assert plan.has_many_lines and not plan.has_many_tables
    assert plan.chunk_tables == 1 and plan.chunk_lines == cost.SCATTER_LINES.share(plan.size, plan.work) < plan.size
    many = plan._replace(outer=64, size=1 << 12)
    assert many.has_many_tables and many.chunk_lines == many.size and many.chunk_tables < many.outer
    few = plan._replace(count=1 << 20, size=7)
    assert not few.has_many_lines and few.chunk_lines == 7
