"""The loop of a kernel that runs in vectors, by what it costs to reach memory and to compute along each of them."""

import numpy as np

import retrograde as rg
from retrograde.compiler.index.box import Box, Store
from retrograde.compiler.index.expression import Load


def box_of(lengths, loads, store, combine=None):
    """A box that reads `loads` (steps for each loop) and stores the first of them."""
    is_reduced = tuple(bool(combine) and step == 0 for step in store)
    entries = tuple(Load(object(), 0, steps, "float32") for steps in loads)
    return Box(lengths, is_reduced, entries, (Store(object(), 0, 0, store, "float32", combine),))


def test_many_small_arrays_do_not_outvote_the_large_one_that_lies_in_order():
    channel = (0, 1, 0)
    box = box_of((16, 128, 512), [(65536, 512, 1), *[channel] * 5], (65536, 512, 1))
    assert box.vector_loop() == 2


def test_a_loop_along_which_most_is_the_same_is_not_chosen_over_one_that_reads_in_order():
    assert box_of((64, 64), [(64, 1), (1, 0), (1, 0)], (64, 1)).vector_loop() == 1


def test_lines_that_are_far_apart_are_not_written_to_one_after_the_other():
    small = (1, 128, 0, 1280)
    box = box_of((128, 10, 16, 32), [small] * 5 + [(0, 16, 1, 160)] * 6, (5120, 512, 32, 1))
    assert box.vector_loop() != 0


def test_a_reduction_over_rows_runs_along_the_array_that_is_too_large_for_caches():
    box = box_of((32, 10, 128, 16), [(1, 512, 5120, 32), (128, 0, 1, 0)], (160, 16, 0, 1), "sum")
    assert box.vector_loop() == 0


def test_rows_at_positions_that_are_data_are_summed_along_the_row():
    position, row = Load(object(), 0, (1, 0), "int64"), Load(object(), 0, (0, 1), "float32", depends=(1, 1), chosen=((0, 64, 5000, False),))
    box = Box((2048, 64), (False, True), (position, row), (Store(object(), 1, 0, (1, 0), "float32", "sum"),))
    assert box.vector_loop() == 1


def test_a_box_without_loops_has_none_to_run_in_vectors():
    assert Box((), (), (), ()).vector_loop() is None


def test_normalising_channels_before_the_last_axis_gives_what_numpy_gives():
    random = np.random.default_rng(0)
    x, mean, variance, scale, shift = (random.random(shape, np.float32) + 0.5 for shape in [(4, 24, 40), *[(24, 1)] * 4])
    compiled = rg.jit(lambda x, m, v, s, b: rg.relu((x - m) / rg.sqrt(v + 1e-5) * s + b))
    found = compiled(*map(rg.tensor, (x, mean, variance, scale, shift))).numpy()
    np.testing.assert_allclose(found, np.maximum((x - mean) / np.sqrt(variance + 1e-5) * scale + shift, 0), rtol=2e-6, atol=1e-6)


def test_rows_are_folded_into_memory_only_where_the_outermost_loop_is_folded():
    tall = box_of((64, 8, 32), [(256, 32, 1)], (0, 32, 1), "sum")
    inner = box_of((64, 8, 32), [(256, 32, 1)], (32, 0, 1), "sum")
    assert tall.keeps_rows(2) and not inner.keeps_rows(2)
    assert inner.order(2) == (0, 2, 1) and not inner.is_folded_in_parts(2)
