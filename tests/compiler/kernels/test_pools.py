"""Compiled pooling agrees with the eager ops, to the place of each greatest element."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu.threads import get_num_threads, set_num_threads
from retrograde.ops.images.pooling import avg_pool2d_input, max_pool2d_input, max_pool2d_with_taps

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

SHAPES = [(3, 7, 9), (2, 3, 17, 34)]
#: Kernel, stride, padding, dilation, whether a last window may stick out.
WINDOWS = [(2, None, 0, 1, False), (2, 2, 0, 1, True), (2, 2, 1, 1, False), (3, 2, 1, 1, False), ((2, 3), 1, 1, 1, False),
           (3, 3, 0, 1, True), (2, 1, 0, 2, False), ((3, 2), (3, 2), (1, 1), 1, True), ((1, 2), (2, 2), 0, 1, False),
           (5, 2, 2, 1, False), (2, 3, 0, 1, False), (1, 1, 0, 1, False)]


CASES = [*[(shape, window, np.float32) for shape in SHAPES for window in WINDOWS], ((2, 3, 8, 8), WINDOWS[0], np.float32),
         ((1, 1, 20, 70), WINDOWS[0], np.float64), *[(SHAPES[1], window, np.float64) for window in WINDOWS[3:6]]]


def image(shape, dtype):
    """An image in which many elements are equal, with NaN and infinity where there is room."""
    rng = np.random.default_rng(0)
    x = np.round(rng.standard_normal(shape), 1).astype(dtype)
    if x.size > 2000:
        x[..., 3, 3:5], x[..., 5, :] = np.nan, -np.inf
    return x


def compiled(function, *args):
    """What a compiled function gives; it must run in kernels of its own."""
    step = rg.jit(function)
    found = step(*args)
    assert all(kernel.kind != "library" for kernel in step.explain().kernels)
    return [np.asarray(z) for z in rg.tree.leaves(found)]


@pytest.mark.parametrize(("shape", "window", "dtype"), CASES, ids=str)
def test_the_greatest_elements_and_their_places_are_the_eager_ones(shape, window, dtype):
    x = image(shape, dtype)
    wanted = max_pool2d_with_taps(x, *window)
    found = compiled(lambda x: max_pool2d_with_taps(x, *window), x)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("shape", "window", "dtype"), CASES, ids=str)
def test_cotangents_go_where_the_eager_op_puts_them(shape, window, dtype):
    x = image(shape, dtype)
    z, taps = max_pool2d_with_taps(x, *window)
    g = np.random.default_rng(1).integers(-50, 50, z.shape).astype(dtype)  # whole numbers, whose sums are exact
    found = compiled(lambda g, taps: max_pool2d_input(g, taps, shape, *window), g, taps)
    np.testing.assert_array_equal(found[0], max_pool2d_input(g, taps, shape, *window))


@pytest.mark.parametrize(("shape", "window", "counted"), [
    *[(SHAPES[1], w, (False, None)) for w in WINDOWS if w[3] == 1], *[(SHAPES[0], w, (True, None)) for w in WINDOWS[:6]],
    (SHAPES[0], WINDOWS[3], (True, 3))], ids=str)
def test_means_and_their_gradients_are_the_eager_ones(shape, window, counted):
    kernel, stride, padding, _, sticks_out = window
    numbers = (kernel, stride, padding, sticks_out, *counted)
    x = np.random.default_rng(2).standard_normal(shape)
    z = rg.avg_pool2d(x, *numbers)
    np.testing.assert_allclose(compiled(lambda x: rg.avg_pool2d(x, *numbers), x)[0], z, rtol=1e-13, atol=1e-15)
    found = compiled(lambda g: avg_pool2d_input(g, shape, *numbers), z)
    np.testing.assert_allclose(found[0], avg_pool2d_input(z, shape, *numbers), rtol=1e-13, atol=1e-15)


def test_one_of_the_two_results_alone_is_the_same():
    x = image((2, 3, 17, 34), np.float32)
    values, taps = max_pool2d_with_taps(x, 3, 2, 1)
    np.testing.assert_array_equal(compiled(lambda x: rg.max_pool2d(x, 3, 2, 1), x)[0], values)
    np.testing.assert_array_equal(compiled(lambda x: max_pool2d_with_taps(x, 3, 2, 1)[1], x)[0], taps)


def test_places_that_are_in_no_window_are_ignored():
    taps = np.array([[[0, 3, 9], [1, 2, 255]]], np.uint8)
    g = np.ones((1, 2, 3))
    for window in ((2,), (3, 2, 1)):
        shape = (1, 4, 6)
        found = compiled(lambda g, taps, w=window, s=shape: max_pool2d_input(g, taps, s, *w), g, taps)
        np.testing.assert_array_equal(found[0], max_pool2d_input(g, taps, shape, *window))


def test_a_view_is_pooled_as_a_copy_of_it():
    x = image((2, 9, 8, 3), np.float64)
    for change in (lambda x: rg.permute_dims(x, (0, 3, 1, 2)), lambda x: x[:, 1:, ::2], lambda x: rg.reshape(x, (6, 8, 9))):
        wanted = rg.max_pool2d(np.asarray(change(rg.tensor(x))), 2)
        np.testing.assert_array_equal(compiled(lambda x, change=change: rg.max_pool2d(change(x), 2), x)[0], wanted)


def test_pooling_gives_the_same_bits_on_any_number_of_threads():
    x = np.random.default_rng(4).standard_normal((8, 16, 30, 30)).astype(np.float32)
    before, found = get_num_threads(), []
    try:
        for threads in (1, 2):
            set_num_threads(threads)
            z, taps = compiled(lambda x: max_pool2d_with_taps(x, 3, 2, 1), x)
            found.append((z, taps, *compiled(lambda z, t: max_pool2d_input(z, t, x.shape, 3, 2, 1), z, taps)))
    finally:
        set_num_threads(before)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*found, strict=True))
