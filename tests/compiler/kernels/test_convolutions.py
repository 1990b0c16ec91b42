"""Compiled convolutions and their gradients agree with the eager ones, for any sizes, steps and number of threads."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.compiler.backends.cpu.codegen.convolution import layout_of
from retrograde.compiler.backends.cpu.codegen.convolution.layout import heights, inside
from retrograde.compiler.backends.cpu.codegen.convolution.shape import backward_of, forward_of
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.backends.cpu.threads import get_num_threads, set_num_threads
from retrograde.ops.images._convolving import Geometry
from retrograde.ops.images.convolution import conv2d_input, conv2d_weight
from training_steps import training_step

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

#: (batch, channels, height, width), (outputs, height and width of the kernel), stride, padding, dilation, groups.
SIZES = [
    ((2, 3, 8, 9), (5, 3, 3), 1, 1, 1, 1),
    ((1, 1, 28, 28), (32, 3, 3), 1, 0, 1, 1),
    ((3, 2, 5, 4), (3, 1, 1), 1, 0, 1, 1),
    ((2, 9, 6, 7), (13, 1, 1), 1, 0, 1, 1),
    ((2, 4, 7, 7), (8, 3, 2), 1, (1, 0), 1, 2),
    ((2, 4, 11, 10), (6, 3, 3), 2, 1, 1, 1),
    ((2, 4, 11, 10), (6, 2, 3), (2, 3), (1, 0), 1, 2),
    ((2, 4, 11, 13), (4, 3, 3), 1, 2, 2, 4),
    ((2, 8, 13, 34), (8, 3, 3), 2, 1, 1, 8),
    ((2, 4, 12, 12), (12, 3, 3), 1, 1, 1, 4),
    ((2, 5, 9, 9), (5, 5, 5), 1, 2, 1, 1),
    ((1, 3, 3, 3), (2, 5, 5), 1, 1, 1, 1),
    ((1, 3, 40, 41), (7, 7, 7), 2, 3, 1, 1),
    ((1, 3, 90, 90), (7, 3, 3), 1, 1, 1, 1),
    ((2, 3, 70, 70), (7, 3, 3), 3, 1, 2, 1),
    ((2, 3, 5, 5), (2, 1, 1), 2, 0, 1, 1),
    ((2, 3, 5, 5), (2, 1, 1), 1, 3, 1, 1),
    ((2, 3, 1, 17), (4, 1, 4), 1, (0, 5), 1, 1),
    ((1, 2, 17, 1), (3, 4, 1), (3, 1), (2, 0), 1, 1),
    ((5, 1, 4, 4), (1, 4, 4), 1, 0, 1, 1),
    ((2, 2, 6, 6), (2, 2, 2), 4, 0, 1, 1),
    ((1, 40, 30, 50), (9, 3, 3), 1, 1, 1, 1),
    # Few pixels of many channels, which are matrix products.
    ((2, 3, 4, 3), (130, 3, 3), 1, 1, 1, 1),
    ((2, 130, 3, 4), (3, 3, 2), 1, (1, 0), 1, 1),
    ((3, 2, 8, 7), (128, 4, 3), 2, 1, 1, 1),
    ((2, 128, 4, 4), (129, 3, 3), 1, 2, 2, 1),
    ((2, 130, 4, 4), (128, 1, 3), 1, (1, 1), 1, 1),
    ((1, 2, 6, 7), (64, 3, 3), 1, 0, 1, 1),
    ((2, 128, 3, 3), (128, 2, 2), 1, "same", 1, 1),
    # Kernels as high or as wide as the image, which go along a line.
    ((3, 2, 4, 19), (5, 4, 3), 1, 0, 1, 1),
    ((2, 4, 17, 5), (6, 3, 5), (2, 1), (1, 0), (2, 1), 2),
    ((2, 3, 21, 1), (4, 5, 1), 1, "same", 1, 1),
    # Patches side by side, with pixels left over.
    ((2, 3, 13, 10), (5, 4, 3), (4, 3), 0, 1, 1),
    # Kernels that are larger than the result, which are exchanged with it.
    ((3, 4, 12, 13), (5, 9, 10), 1, 0, 1, 1),
    ((2, 5, 16, 17), (3, 4, 5), 1, (1, 0), (2, 3), 1),
    ((2, 4, 21, 22), (3, 11, 16), 2, (0, 1), 1, 1),
    ((2, 6, 9, 20), (4, 3, 18), 1, (1, 0), 1, 1),
    ((2, 6, 20, 9), (4, 18, 6), 1, 1, 1, 1),
]
LIMITS = {np.float32: 2e-6, np.float64: 1e-14}


def arrays(size, dtype, seed=0):
    """Input, weight, bias and a cotangent of the output."""
    shape, (outputs, *kernel), *numbers = size
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(dtype)
    weight = rng.standard_normal((outputs, shape[1] // numbers[-1], *kernel)).astype(dtype)
    bias = rng.standard_normal(outputs).astype(dtype)
    g = rng.standard_normal(rg.conv2d(x, weight, None, *numbers).shape).astype(dtype)
    return x, weight, bias, g


def all_three(x, weight, bias, g, numbers):
    """The convolution and both its gradients."""
    return (rg.conv2d(x, weight, bias, *numbers), conv2d_input(g, weight, x.shape, *numbers),
            conv2d_weight(x, g, weight.shape, *numbers))


def check(found, wanted, dtype):
    for a, b in zip(found, wanted, strict=True):
        a = np.asarray(a)
        assert (a.dtype, a.shape) == (dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=0, atol=LIMITS[dtype] * max(np.abs(b).max(), 1e-3))


def runs_in_kernels(function):
    """Whether the last program of a compiled function has no library call."""
    return all(kernel.kind != "library" for kernel in function.explain().kernels)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("size", "dtype"), [*[(size, np.float32) for size in SIZES], *[(size, np.float64) for size in SIZES[::3]]],
                         ids=str)
def test_a_compiled_convolution_and_its_gradients_are_the_eager_ones(size, dtype):
    numbers, given = size[2:], arrays(size, dtype)
    step = rg.jit(lambda *given: all_three(*given, numbers))
    found = step(*given)
    assert runs_in_kernels(step)
    check(found, all_three(*[a.astype(np.float64) for a in given], numbers), dtype)


def by_definition(x, weight, stride, padding, dilation, groups):
    """The sum over taps of shifted images, one tap at a time."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    outputs, depth, tall, wide = weight.shape
    rows, columns = ((n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(x.shape[2:], (tall, wide), strict=True))
    result = np.zeros((x.shape[0], outputs, rows, columns))
    for o in range(outputs):
        first = o // (outputs // groups) * depth
        for c in range(depth):
            for i in range(tall):
                for j in range(wide):
                    part = x[:, first + c, i * dilation :, j * dilation :]
                    result[:, o] += weight[o, c, i, j] * part[:, : (rows - 1) * stride + 1 : stride, : (columns - 1) * stride + 1 : stride]
    return result


@pytest.mark.parametrize("numbers", [(1, 1, 1, 1), (2, 3, 2, 4)], ids=str)
def test_a_compiled_convolution_is_the_sum_of_shifted_images(numbers):
    x, weight, *_ = arrays(((2, 4, 12, 15), (8, 3, 3), *numbers), np.float64)
    found = rg.jit(lambda x, w: rg.conv2d(x, w, None, *numbers))(x, weight)
    np.testing.assert_allclose(found, by_definition(x, weight, *numbers), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [((6, 8, 20, 21), (12, 3, 3), 1, 1, 1, 1), ((1, 16, 60, 45), (16, 3, 3), 1, 1, 1, 16)], ids=str)
def test_any_number_of_threads_gives_the_same_bits(size):
    before, given, found = get_num_threads(), arrays(size, np.float32), []
    try:
        for threads in (1, 2, 3):
            set_num_threads(threads)
            found.append([np.asarray(a) for a in rg.jit(lambda *given: all_three(*given, size[2:]))(*given)])
    finally:
        set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert a.tobytes() == b.tobytes()


VIEWS = {
    "channels last": lambda x: rg.permute_dims(x, (0, 3, 1, 2)),
    "turned": lambda x: rg.permute_dims(x, (0, 1, 3, 2)),
    "flipped": lambda x: rg.flip(x, axis=(2, 3)),
    "cut": lambda x: x[:, 1:, 2:, :-1],
    "every other": lambda x: x[:, :, ::2, ::2],
    "reshaped": lambda x: rg.reshape(x, (x.shape[0], x.shape[1], x.shape[3], x.shape[2])),
    "repeated": lambda x: rg.broadcast_to(x[:, :1], x.shape),
}


@pytest.mark.parametrize("view", VIEWS)
def test_images_and_weights_are_read_through_views(view):
    change = VIEWS[view]
    rng = np.random.default_rng(2)
    x, weight = rng.standard_normal((2, 8, 9, 8)), rng.standard_normal((8, 8, 6, 7))
    wanted = all_three_of_views(x, weight, change)
    step = rg.jit(lambda x, w: all_three_of_views(x, w, change))
    check(step(x, weight), wanted, np.float64)
    assert runs_in_kernels(step)


def all_three_of_views(x, weight, change):
    x, weight = change(x), change(weight)
    weight = weight[:, : x.shape[1], :3, :2] if x.shape[1] <= weight.shape[1] else weight[:, :, :3, :2]
    x = x[:, : weight.shape[1]]
    y = rg.conv2d(x, weight, None, 1, 1)
    return y, conv2d_input(y, weight, x.shape, 1, 1), conv2d_weight(x, y, weight.shape, 1, 1)


def test_a_sliced_bias_and_a_constant_weight_are_read_where_they_are():
    x, weight, bias, _ = arrays(((2, 3, 8, 9), (5, 3, 3), 1, 1, 1, 1), np.float64)
    twice = np.repeat(bias, 2)
    found = rg.jit(lambda x, b: rg.conv2d(x, weight, b[::2], 1, 1))(x, twice)
    np.testing.assert_allclose(found, rg.conv2d(x, weight, bias, 1, 1), rtol=1e-13, atol=1e-13)


def test_a_training_step_with_convolutions_is_the_eager_one():
    def trained(wrap):
        rng = np.random.default_rng(3)
        model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU(),
                              nn.AvgPool2d(2), nn.Flatten(), nn.Linear(24, 3))
        with rg.no_grad():
            for p in model.parameters():
                p[...] = rng.standard_normal(p.shape).astype(np.float32) * 0.3
        optimizer = optim.SGD(list(model.parameters()), lr=0.1, momentum=0.9)
        x, y = rg.tensor(rng.standard_normal((6, 1, 12, 12)).astype(np.float32)), rg.tensor(rng.integers(0, 3, 6))
        step = wrap(training_step(optimizer, lambda x, y: nn.functional.cross_entropy(model(x), y)))
        return [float(step(x, y)) for _ in range(5)], [np.asarray(p.detach()).copy() for p in model.parameters()]

    found, wanted = trained(rg.jit), trained(lambda f: f)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)
    for a, b in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_number_of_a_result_belongs_to_one_grid_and_no_tap_leaves_its_plane(size):
    shape, (outputs, *kernel), *numbers = size
    geometry = Geometry.of(shape, (outputs, shape[1] // numbers[-1], *kernel), *numbers)
    for correlation in (forward_of(geometry), backward_of(geometry)):
        seen = np.zeros(correlation.result, int)
        for grid in correlation.grids:
            (top, down, rows), (left, right, columns) = grid.rows, grid.columns
            seen[top : top + down * (rows - 1) + 1 : down, left : left + right * (columns - 1) + 1 : right] += 1
        assert (seen == 1).all()
        layout = layout_of(correlation, target(), "float32")
        last = layout.vectors * layout.lanes + layout.highest * layout.pitch
        assert all(layout.offset(tap) - tap.plane * layout.plane + last <= layout.plane + layout.pitch
                   and min(tap.row, tap.column) >= 0 for grid in correlation.grids for tap in grid.taps)
        assert layout.pitch >= correlation.count[1]


def test_numbers_inside_an_image_are_those_that_a_loop_finds():
    for first in range(-5, 6):
        for step in (1, 2, 3):
            for size in (1, 4, 7):
                found = [n for n in range(9) if 0 <= first + step * n < size]
                start, end = inside((first, step), size, 9)
                assert list(range(start, end)) == found


def test_tiles_share_rows_evenly():
    for count in range(1, 40):
        for largest in range(1, 13):
            found = heights(count, largest)
            assert sum(h * n for h, n in found) == count
            assert max(h for h, _ in found) <= largest
            assert max(h for h, _ in found) - min(h for h, _ in found) <= 1


def test_weights_that_are_packed_by_several_threads_are_packed_once():
    x, weight, bias, g = arrays(((1, 150, 4, 5), (90, 3, 3), 1, 1, 1, 1), np.float64)
    before = get_num_threads()
    try:
        set_num_threads(3)
        found = rg.jit(lambda *given: all_three(*given, (1, 1, 1, 1)))(x, weight, bias, g)
    finally:
        set_num_threads(before)
    check(found, all_three(x, weight, bias, g, (1, 1, 1, 1)), np.float64)


def test_a_kernel_larger_than_the_result_is_exchanged_with_it():
    x, weight, bias, g = arrays(((2, 3, 24, 25), (4, 20, 21), 1, 0, 1, 1), np.float32)
    made = {
        "conv2d_weight": rg.jit(lambda: rg.conv2d(rg.tensor(x), weight, bias)),
        "conv2d_input": rg.jit(lambda: conv2d_input(rg.tensor(g), weight, x.shape)),
        "conv2d": rg.jit(lambda: conv2d_weight(rg.tensor(x), g, weight.shape)),
    }
    for name, step in made.items():
        step()
        assert name in str(step.explain())


def test_images_whose_neighbours_lie_apart_are_brought_together_once_for_all_that_read_them():
    x, weight, _, g = arrays(((2, 6, 9, 10), (6, 3, 3), 1, 1, 1, 6), np.float32)
    channels_last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))

    def both(channels_last, weight, g):
        x = rg.permute_dims(channels_last, (0, 3, 1, 2))
        return rg.conv2d(x, weight, None, 1, 1, 1, 6), conv2d_weight(x, g, weight.shape, 1, 1, 1, 6)

    step = rg.jit(both)
    check(step(channels_last, weight, g), both(*[a.astype(np.float64) for a in (channels_last, weight, g)]), np.float32)
    assert [kernel.kind for kernel in step.explain().kernels].count("loop") == 1


def test_the_work_of_a_convolution_is_counted_once_and_what_packs_or_sums_up_for_it_has_none_of_its_own():
    x, weight, *_ = arrays(((2, 6, 16, 16), (8, 3, 3), 1, 1, 1, 1), np.float32)
    step = rg.jit(lambda x, w: rg.conv2d(x, w, None, 1, 1))
    slope = rg.jit(lambda x, g: conv2d_weight(x, g, weight.shape, 1, 1, 1, 1))
    for function, args, kinds in ((step, (x, weight), ["pack", "convolution"]),
                                  (slope, (x, np.asarray(step(x, weight))), ["convolution", "finish"])):
        function(*args)
        kernels = function.explain().kernels
        assert [kernel.kind for kernel in kernels] == kinds
        assert sum(kernel.flops for kernel in kernels) == 2 * 2 * 8 * 6 * 9 * 16 * 16
