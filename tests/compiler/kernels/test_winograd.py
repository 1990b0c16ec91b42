"""Convolutions by Winograd's tiles are the sums that they stand for, within the errors that are promised, where they pay."""

import re
from fractions import Fraction

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu.codegen.winograd import matrices
from retrograde.compiler.backends.cpu.host import target
from retrograde.errors import ArgumentError
from retrograde.ops.images import _convolving_winograd
from retrograde.ops.images._convolving import Geometry
from retrograde.ops.images.convolution import conv2d_input, conv2d_weight

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

#: (batch, channels, height, width), output channels, padding (height, width), groups: of one tile, of part of a tile, of
#: several images at a time, of bands of one image, of more channels than a vector has lanes, of an image that padding makes or
#: leaves out, of rows that go on from one to the next within a vector.
SIZES = [
    ((1, 1, 7, 8), 1, (0, 0), 1),
    ((3, 5, 3, 7), 2, (1, 0), 1),
    ((2, 9, 7, 5), 11, (1, 1), 1),
    ((35, 3, 5, 6), 4, (1, 1), 1),
    ((2, 3, 39, 41), 5, (1, 1), 1),
    ((1, 2, 90, 17), 3, (2, 3), 1),
    ((2, 6, 11, 13), 9, (0, 2), 3),
    ((2, 17, 9, 10), 19, (3, 1), 1),
    ((3, 18, 4, 4), 33, (1, 1), 1),
    ((2, 16, 7, 3), 16, (2, 2), 1),
]
LIMITS = {("high", np.float32): 2e-6, ("high", np.float64): 4e-15, ("medium", np.float32): 2e-5, ("medium", np.float64): 4e-14}


@pytest.fixture
def level(request):
    """A level of precision for one test."""
    before = rg.get_convolution_precision()
    rg.set_convolution_precision(request.param)
    yield request.param
    rg.set_convolution_precision(before)


@pytest.fixture
def everywhere(monkeypatch):
    """The largest tiles that are allowed, whether they pay or not. Sizes here are in no other test, since programs are kept on
    disk.
    """
    monkeypatch.setattr(_convolving_winograd, "_work", lambda name, geometry, results: -results)


def drawn(size, dtype=np.float32, seed=0):
    """Images, kernels, bias and a cotangent of the result."""
    (batch, channels, height, width), outputs, padding, groups = size
    rng = np.random.default_rng(seed)
    shapes = ((batch, channels, height, width), (outputs, channels // groups, 3, 3), (outputs,),
              (batch, outputs, height + 2 * padding[0] - 2, width + 2 * padding[1] - 2))
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def windows(x, padding):
    """All patches of 3x3 of images with a border: (batch, channels, rows, columns, 3, 3)."""
    x = np.pad(np.asarray(x, np.float64), ((0, 0), (0, 0), *[(n, n) for n in padding]))
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))


def by_definition(x, weight, bias, g, padding, groups):
    """The convolution and both gradients, by sums over patches in float64."""
    results, inputs, weights = [], [], []
    turned = np.asarray(weight, np.float64)[:, :, ::-1, ::-1]
    rows, columns = (slice(n, n + size) for n, size in zip(padding, x.shape[2:], strict=True))
    for part in range(groups):
        i, o = (slice(part * n // groups, (part + 1) * n // groups) for n in (x.shape[1], len(weight)))
        patches = windows(x[:, i], padding)
        results.append(np.einsum("ncyxij,ocij->noyx", patches, weight[o].astype(np.float64), optimize=True))
        inputs.append(np.einsum("noyxij,ocij->ncyx", windows(g[:, o], (2, 2)), turned[o], optimize=True)[:, :, rows, columns])
        weights.append(np.einsum("ncyxij,noyx->ocij", patches, g[:, o].astype(np.float64), optimize=True))
    return np.concatenate(results, 1) + bias[:, None, None], np.concatenate(inputs, 1), np.concatenate(weights, 0)


def all_three(x, weight, bias, g, padding, groups=1):
    """The convolution and both its gradients."""
    numbers = 1, padding, 1, groups
    return rg.conv2d(x, weight, bias, *numbers), conv2d_input(g, weight, x.shape, *numbers), conv2d_weight(x, g, weight.shape, *numbers)


def kinds(function):
    """The kernels of the last program of a compiled function, without what packs, finishes and copies."""
    return [kernel.kind for kernel in function.explain().kernels if kernel.kind in ("winograd", "convolution", "matmul", "library")]


@pytest.mark.parametrize("results", [2, 4])
def test_the_matrices_give_the_sums_of_a_filter_exactly(results):
    image, kernel, result = matrices(results)
    rng = np.random.default_rng(0)
    d, g = ([Fraction(int(n)) for n in rng.integers(-9, 10, size)] for size in (results + 2, 3))
    sums = lambda matrix, vector: [sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix]
    products = [a * b for a, b in zip(sums(image, d), sums(kernel, g), strict=True)]
    assert sums(result, products) == [sum(g[k] * d[i + k] for k in range(3)) for i in range(results)]


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("level", ["high", "medium"], indirect=True)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_convolution_and_both_gradients_are_their_sums(size, dtype, level):
    given, numbers = drawn(size, dtype), size[2:]
    step = rg.jit(lambda *given: all_three(*given, *numbers))
    for found, wanted in zip(step(*given), by_definition(*given, *numbers), strict=True):
        found = np.asarray(found)
        assert (found.dtype, found.shape) == (dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=LIMITS[level, dtype] * np.abs(wanted).max())
    assert kinds(step) == ["winograd"] * 3


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("view", ["channels last", "cut", "every other", "turned"])
def test_images_and_kernels_are_read_through_views(view):
    change = {"channels last": lambda x: rg.permute_dims(x, (0, 3, 1, 2)), "cut": lambda x: x[:, 1:, 2:, :-1],
              "every other": lambda x: x[:, :, ::2, ::2], "turned": lambda x: rg.permute_dims(x, (0, 1, 3, 2))}[view]
    rng = np.random.default_rng(1)
    x, weight = rng.standard_normal((3, 10, 12, 14)), rng.standard_normal((6, 14, 6, 14))
    step = rg.jit(lambda x, weight, bias, g: all_three(change(x), change(weight)[:, : change(x).shape[1], :3, :3], bias, g, (1, 1)))
    seen, kernel = (np.asarray(change(rg.tensor(a))) for a in (x, weight))
    kernel = kernel[:, : seen.shape[1], :3, :3]
    bias, g = rng.standard_normal(len(kernel)), rng.standard_normal((3, len(kernel), *seen.shape[2:]))
    wanted = by_definition(seen[:, : kernel.shape[1]], kernel, bias, g, (1, 1), 1)
    assert seen.shape[1] == kernel.shape[1]
    for a, b in zip(step(x, weight, bias, g), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=4e-15 * np.abs(b).max())
    assert kinds(step) == ["winograd"] * 3


@pytest.mark.parametrize("size", [((3, 40, 30, 31), 44, (1, 1), 1), ((5, 64, 9, 9), 260, (1, 1), 1)], ids=str)
def test_any_number_of_threads_gives_the_same_bits(size):
    before, given, found = rg.get_num_threads(), drawn(size), []
    try:
        for threads in (1, 2, 3):
            rg.set_num_threads(threads)
            step = rg.jit(lambda *given: all_three(*given, size[2]))
            found.append([np.asarray(a).tobytes() for a in step(*given)])
    finally:
        rg.set_num_threads(before)
    assert "winograd" in kinds(step)
    assert found[0] == found[1] == found[2]


def test_errors_are_at_most_three_times_those_of_the_sums_themselves_and_thirty_times_with_larger_tiles():
    size = ((2, 96, 24, 24), 96, (1, 1), 1)
    given, numbers = drawn(size, seed=3), size[2:]
    wanted, errors, before = by_definition(*given, *numbers), {}, rg.get_convolution_precision()
    try:
        for name in ("highest", "high", "medium"):
            rg.set_convolution_precision(name)
            found = rg.jit(lambda *given: all_three(*given, *numbers))(*given)
            errors[name] = np.array([np.sqrt(np.mean((np.asarray(a) - b) ** 2)) for a, b in zip(found, wanted, strict=True)])
    finally:
        rg.set_convolution_precision(before)
    # The more lanes add up the sums themselves, all places in one for each weight, the less they lose.
    of_weights = 3 if target().lanes("float32") == 16 else 2
    assert (errors["high"] < np.array([2, 2, of_weights]) * errors["highest"]).all()
    assert (errors["medium"] < 30 * errors["highest"]).all()
    assert (errors["medium"][:2] > 2 * errors["high"][:2]).all()  # else these were not the larger tiles


def found_by(level, x, weight):
    """A convolution by a level, large enough to be compiled."""
    before = rg.get_convolution_precision()
    rg.set_convolution_precision(level)
    try:
        return rg.conv2d(rg.tensor(x), rg.tensor(weight), None, 1, 1).numpy()
    finally:
        rg.set_convolution_precision(before)


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_so_and_only_larger_tiles_hand_it_on(special):
    x, weight, *_ = drawn(((1, 64, 24, 26), 64, (1, 1), 1))
    for row, column in ((0, 0), (7, 8), (8, 9), (13, 25), (23, 11)):
        bad = x.copy()
        bad[0, 5, row, column] = special
        wanted = ~np.isfinite(found_by("highest", bad, weight))
        assert wanted.any()
        np.testing.assert_array_equal(~np.isfinite(found_by("high", bad, weight)), wanted)
        spread = ~np.isfinite(found_by("medium", bad, weight))
        assert (wanted <= spread).all()
        near = np.zeros_like(spread)
        near[:, :, max(row - 4, 0) : row + 5, max(column - 4, 0) : column + 5] = True
        assert (spread <= near).all()


@pytest.mark.parametrize(("level", "largest"), [("high", 1e37), ("medium", 1e36)])
def test_large_numbers_overflow_only_where_the_guide_says_so_and_small_ones_keep_their_digits(level, largest):
    x, weight, *_ = drawn(((2, 64, 24, 30), 64, (1, 1), 1))
    limit = {"high": 2e-6, "medium": 2e-5}[level] * abs(found_by("highest", x, weight)).max()
    weight *= 2.0**-10
    for scale in (largest, 1e-30, 1e-36):
        scale = 2.0 ** np.floor(np.log2(scale))
        wanted = found_by("highest", x, weight).astype(np.float64) * 2.0**10
        found = found_by(level, x * np.float32(scale), weight).astype(np.float64) * 2.0**10 / scale
        assert abs(found - wanted).max() < limit


def tile(name, level, channels, outputs, size, batch=8, **numbers):
    """The tile that a convolution is computed by."""
    before = rg.get_convolution_precision()
    try:
        rg.set_convolution_precision(level)
        sizes = {"stride": 1, "padding": 1, "dilation": 1, "groups": 1, **numbers}
        return _convolving_winograd.tile_of(name, Geometry.of((batch, channels, *size), (outputs, channels // sizes["groups"], 3, 3),
                                                              *sizes.values()))
    finally:
        rg.set_convolution_precision(before)


@pytest.mark.parametrize("name", ["conv2d", "conv2d_input", "conv2d_weight"])
def test_tiles_are_used_where_there_are_channels_and_images_enough_and_kernels_meet_neighbours(name):
    assert tile(name, "high", 64, 64, (32, 32)) == 2
    assert tile(name, "highest", 64, 64, (32, 32)) == 0
    assert tile(name, "medium", 128, 128, (32, 32)) == 4
    assert tile(name, "high", 3, 64, (32, 32)) == tile(name, "high", 64, 64, (32, 32), groups=64) == 0
    assert tile(name, "high", 64, 64, (32, 32), stride=2) == tile(name, "high", 64, 64, (32, 32), dilation=2) == 0
    # Few pixels of many channels do not pay for the transforms of as many kernels.
    assert tile(name, "high", 512, 512, (4, 4), batch=1) == 0
    assert tile(name, "high", 0, 4, (8, 8)) == tile(name, "high", 64, 64, (32, 32), batch=0) == 0


def test_a_new_level_holds_from_the_next_call_on_and_the_old_programs_are_kept():
    x, weight, *_ = drawn(((2, 64, 23, 25), 64, (1, 1), 1))
    step, before, found = rg.jit(lambda x, weight: rg.conv2d(x, weight, None, 1, 1)), rg.get_convolution_precision(), []
    try:
        for name in ("high", "highest", "high", "highest"):
            rg.set_convolution_precision(name)
            for _ in range(3):
                step(x, weight)
            found.append(kinds(step))
    finally:
        rg.set_convolution_precision(before)
    assert found == [["winograd"], ["convolution"]] * 2
    assert step.traces == 2


def test_eager_convolutions_follow_the_level():
    x, weight, *_ = drawn(((2, 64, 22, 25), 64, (1, 1), 1))
    before, found = rg.get_convolution_precision(), {}
    try:
        for name in ("highest", "high"):
            rg.set_convolution_precision(name)
            found[name] = rg.conv2d(rg.tensor(x), rg.tensor(weight), None, 1, 1).numpy()
    finally:
        rg.set_convolution_precision(before)
    assert not np.array_equal(found["highest"], found["high"])
    np.testing.assert_allclose(found["highest"], found["high"], rtol=0, atol=3e-6 * np.abs(found["high"]).max())


@pytest.mark.parametrize("level", ["low", None, ["high"]])
def test_an_unknown_level_is_an_error_and_changes_nothing(level):
    before = rg.get_convolution_precision()
    with pytest.raises(ArgumentError, match=re.escape(f"must be one of highest, high, medium, got {level!r}")):
        rg.set_convolution_precision(level)
    assert rg.get_convolution_precision() == before == "high"
