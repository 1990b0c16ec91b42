"""Arrays that are read across: transposed in squares of registers, for any sizes, strides and neighbours."""

from itertools import permutations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
import retrograde as rg
from retrograde.compiler.index.box import Box, Store
from retrograde.compiler.index.expression import Load


def drawn(*shape, dtype="float32"):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def box_of(lengths, loads, store):
    entries = tuple(Load(object(), 0, steps, "float32") for steps in loads)
    return Box(lengths, (False,) * len(lengths), entries, (Store(object(), 0, 0, store, "float32"),))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(8, 8), (16, 16), (9, 33), (40, 17), (300, 70), (64, 257), (7, 100), (600, 520)])
def test_a_transposed_array_meets_one_that_is_not(shape, dtype):
    x, y, rows = drawn(*shape, dtype=dtype), drawn(*shape[::-1], dtype=dtype), drawn(shape[1], 1, dtype=dtype)
    found = rg.jit(lambda x, y, rows: (x.T * rows - y, rg.exp(y) + 1))(*map(rg.tensor, (x, y, rows)))
    np.testing.assert_allclose(found[0].numpy(), x.T * rows - y, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1].numpy(), np.exp(y) + 1, rtol=1e-6)


@pytest.mark.parametrize("axes", list(permutations(range(3))))
@pytest.mark.parametrize("shape", [(3, 20, 33), (16, 8, 40), (2, 128, 65)])
def test_axes_in_any_order(shape, axes):
    x, scale = drawn(*shape), drawn(shape[axes[-1]])
    found = rg.jit(lambda x, scale: rg.relu(rg.permute(x, axes)) * scale)(rg.tensor(x), rg.tensor(scale))
    assert np.array_equal(found.numpy(), np.maximum(x.transpose(axes), 0) * scale)


def test_views_that_are_turned_round_or_leave_numbers_out():
    x = drawn(64, 96)
    for view in (lambda x: x[::-1].T, lambda x: x[:, ::-1].T, lambda x: x[::2].T, lambda x: x[3:60, 5:90].T, lambda x: x[:, ::3].T):
        found = rg.jit(lambda x, view=view: view(x) * 2 + 1)(rg.tensor(x))
        assert np.array_equal(found.numpy(), view(x) * np.float32(2) + 1)


def test_numbers_of_several_sizes_are_read_across():
    x, y = drawn(48, 80), drawn(48, 80, dtype="float64")
    found = rg.jit(lambda x, y: x.T.astype("float64") + y.T)(rg.tensor(x), rg.tensor(y))
    assert np.array_equal(found.numpy(), x.T.astype("float64") + y.T)


def test_a_matrix_and_its_transpose_are_the_same_for_any_number_of_threads():
    x, found = rg.tensor(drawn(1100, 1100)), []
    before = rg.get_num_threads()
    for threads in (1, 2, 3):
        rg.set_num_threads(threads)
        found.append(rg.jit(lambda x: rg.sin(x) + x.T * 0.5)(x).numpy())
    rg.set_num_threads(before)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    np.testing.assert_allclose(found[0], np.sin(x.numpy()) + x.numpy().T * 0.5, rtol=1e-5, atol=1e-6)


def test_one_program_serves_other_sizes_with_other_rests():
    step = rg.jit(lambda x: x.T + 1)
    for n in (300, 301, 308, 316, 1000):
        x = drawn(n, 300)
        assert np.array_equal(step(rg.tensor(x)).numpy(), x.T + 1)


def test_what_is_read_across_is_read_in_whole_lines():
    box = box_of((64, 128), [(1, 64), (128, 1)], (128, 1))
    assert (box.vector_loop(), box.crossing(1), box.order(1)) == (1, 0, (1, 0))


def test_results_lie_side_by_side_though_more_is_read_across():
    box = box_of((64, 128), [(1, 64)] * 3, (128, 1))
    assert box.vector_loop() == 1


def test_short_loops_and_reductions_are_not_crossed():
    assert box_of((4, 128), [(1, 4)], (128, 1)).crossing(1) is None
    across = box_of((64, 128), [(1, 64)], (1, 0))
    assert across._replace(is_reduced=(False, True)).crossing(1) is None
