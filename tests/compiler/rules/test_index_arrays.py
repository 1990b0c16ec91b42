"""positions: elements chosen by arrays of positions, and their gradients, are kernels with NumPy's values."""

import numpy as np
import pytest

import retrograde as rg
from graphs import leaf
from retrograde.compiler.rules.index import Index

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

X = np.random.default_rng(0).standard_normal((6, 5, 4))
ROWS, COLUMNS = np.array([[0, 2], [5, -1]]), np.array([[3, -2], [1, 0]])
LABELS = np.array([0, 4, 2, -1, 3, 1])

#: A function of an array and of positions, and whether its gradient is made of kernels as well.
CASES = {
    "rows": (lambda x, i, j: x[i], True),
    "the middle axis": (lambda x, i, j: x[:, j], True),
    "the last axis": (lambda x, i, j: x[..., abs(j)], True),
    "rows of a part": (lambda x, i, j: x[i, 1:3, ::2], False),
    "two axes": (lambda x, i, j: x[i, j], True),
    "three axes": (lambda x, i, j: x[i, j, j], True),
    "axes apart": (lambda x, i, j: x[i, :, j], False),
    "one of each row": (lambda x, i, j: x[:, :, 0][np.arange(6), LABELS], True),
    "some rows by a list": (lambda x, i, j: x[[0, 2, 0]], True),
}


def _compiled(function, *args):
    step = rg.jit(function)
    return np.asarray(step(*args)), {kernel.kind for kernel in step.explain().kernels}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_the_eager_ones(name):
    function, is_native = CASES[name]
    for derived in (function, rg.grad(lambda x, i, j: (function(x, i, j) ** 2).sum())):
        got, kinds = _compiled(derived, X, ROWS, COLUMNS)
        wanted = np.asarray(derived(*map(rg.tensor, (X, ROWS, COLUMNS))))
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
        assert not is_native or "library" not in kinds


def test_cross_entropy_written_by_hand_is_made_of_loops():
    def loss(x, labels):
        return -rg.log_softmax(x[:, :, 0], axis=1)[np.arange(6), labels].mean()

    got, kinds = _compiled(rg.grad(loss), X, LABELS)
    np.testing.assert_allclose(got, np.asarray(rg.grad(loss)(rg.tensor(X), rg.tensor(LABELS))), rtol=1e-12)
    assert kinds == {"loop"}


@pytest.mark.parametrize("name", ["rows", "two axes"])
@pytest.mark.parametrize("further", [6, -12])
def test_a_position_out_of_range_is_an_error(name, further):
    with pytest.raises(rg.errors.OutOfRangeError):
        rg.jit(CASES[name][0])(X, ROWS + further, COLUMNS)


@pytest.mark.parametrize("length", [3, 9, 40])
def test_constant_positions_in_a_part_of_an_array_are_read_within_its_bounds(length):
    places = np.random.default_rng(0).integers(-length, length, 2 * length + 1)
    x = np.random.default_rng(1).standard_normal((5, length))

    def joined(x):
        return rg.concat([x[:, places] * 2, x, x[:, places[:1]]], axis=1) ** 2

    def stacked(x):
        return rg.concat([x[:, places], rg.ones((2, len(places)), dtype=x.dtype)], axis=0) ** 2

    for function in (joined, stacked):
        for derived in (function, rg.grad(lambda x, function=function: function(x).sum())):
            got, _ = _compiled(derived, x)
            np.testing.assert_allclose(got, np.asarray(derived(rg.tensor(x))), rtol=1e-12)


def test_constant_positions_out_of_range_are_an_error():
    with pytest.raises(rg.errors.OutOfRangeError):
        rg.jit(lambda x: x[:, np.arange(5)])(X[..., 0, :])


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_the_gradient_of_a_border_chooses_what_comes_to_each_place(mode):
    x = np.random.default_rng(0).standard_normal((2, 7, 9))
    gradient = rg.grad(lambda x: (rg.pad(x, ((0, 0), (2, 1), (3, 2)), mode) ** 3).sum())
    got, kinds = _compiled(gradient, x)
    np.testing.assert_allclose(got, np.asarray(gradient(rg.tensor(x))), rtol=1e-12)
    assert kinds == {"loop"}


#: Slices with steps of an array of shape (6, 9, 8): along one axis, several, the last one, backwards, with integers.
STEPS = {
    "rows": lambda x: x[::2],
    "a later start": lambda x: x[1::3, 4:9:4],
    "the last axis": lambda x: x[..., 1::3],
    "backwards": lambda x: x[::-2, :, 6:1:-3],
    "with integers": lambda x: x[1::2, 3, ::2],
    "one place": lambda x: x[::7, :, 5::9],
    "all quarters": lambda x: rg.concat([x[a::2, :8][:, b::2] for a in (0, 1) for b in (0, 1)], axis=-1),
    "quarters of an odd number": lambda x: rg.concat([x[:, b:8:2, ::2] * (b + 1) for b in (0, 1)], axis=0),
    "one part twice": lambda x: x[::2] * x[::2] + x[1::2],
}


@pytest.mark.parametrize("name", STEPS)
def test_the_gradient_of_a_slice_with_steps_is_made_of_loops(name):
    x = np.random.default_rng(0).standard_normal((6, 9, 8))
    gradient = rg.grad(lambda x: (STEPS[name](x) ** 3).sum())
    got, kinds = _compiled(gradient, x)
    np.testing.assert_allclose(got, np.asarray(gradient(rg.tensor(x))), rtol=1e-12)
    assert kinds == {"loop"}


@pytest.mark.parametrize("given", [{"stride": 1}, {"stride": 2, "padding": 1}, {"stride": 3}, {"stride": 2, "dilation": 2}], ids=str)
def test_patches_are_put_back_by_loops(given):
    x = np.random.default_rng(0).standard_normal((2, 3, 13, 12))
    patches = rg.nn.functional.unfold(x, 3, **given)

    def back(patches):
        return rg.nn.functional.fold(patches, (13, 12), 3, **given)

    got, kinds = _compiled(back, patches)
    np.testing.assert_allclose(got, back(patches), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose((got * x).sum(), (patches**2).sum(), rtol=1e-12)
    assert kinds == {"loop"}


def test_equal_sums_at_constant_positions_are_one():
    places = np.array([2, 0, 1, 1, 3, 2, 0, 1, 1, 1])

    def twice(x, g):
        return [rg.vjp(lambda x: x[:, places], x)[1](g)[0] ** 2 for _ in range(2)]

    x, g = np.zeros((3, 4)), np.random.default_rng(0).standard_normal((3, 10))
    step = rg.jit(twice)
    first, second = step(x, g)
    np.testing.assert_array_equal(first, second)
    assert "take×5 " in str(step.explain())


def test_many_positions_of_few_places_are_not_chosen_one_by_one():
    places = np.random.default_rng(0).integers(0, 4, 500)
    x = np.random.default_rng(1).standard_normal((3, 4))
    got, kinds = _compiled(rg.grad(lambda x: (x[:, places] ** 2).sum()), x)
    np.testing.assert_allclose(got, 2 * x * np.bincount(places, minlength=4), rtol=1e-12)
    assert "scatter" in kinds


@pytest.mark.parametrize("count", [2, 20])
@pytest.mark.parametrize(("x", "shape", "positions", "axis"), [
    (("k", 3), (4, 3), ("k", 3), 0), (("k", 1), (4, 3), ("k", 1), 0), ((1, "k"), (3, 4), (3, "k"), 1), (("k", 3), (4, 1), ("k", 3), -2)])
def test_what_is_added_along_lines_may_be_repeated_for_others(x, shape, positions, axis, count):
    x, positions = ([count if n == "k" else n for n in sizes] for sizes in (x, positions))
    rng = np.random.default_rng(0)
    x, positions = rng.standard_normal(x), rng.integers(-4, 4, positions)
    wanted = np.zeros(shape)
    grid = [np.arange(n).reshape([-1 if i == j else 1 for i in range(2)]) for j, n in enumerate(shape)]
    grid[axis] = positions
    np.add.at(wanted, tuple(grid), x)
    got, _ = _compiled(lambda x, positions: rg.add_along_axis(x, shape, positions, axis), x, positions)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)


def test_an_index_of_one_of_each_row_has_all_rows_in_order_and_as_many_columns():
    columns, shape = np.array([1, 0, 2]), (3, 4)
    is_each_row = lambda *parts, shape=shape: Index.of(parts, len(shape)).is_each_row(shape)
    assert is_each_row(np.arange(3), columns)
    assert not is_each_row(np.arange(3)[::-1], columns) and not is_each_row(np.arange(2), columns[:2])
    assert not is_each_row(slice(None), columns) and not is_each_row(np.arange(3), columns, shape=(3, 4, 5))
    positions = leaf(3, dtype=np.dtype(np.int64))
    assert not is_each_row(positions, columns)
