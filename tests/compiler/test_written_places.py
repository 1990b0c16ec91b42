"""Rolling an array and writing to a part of it, inside jit: loops that choose, no calls of NumPy."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.testing import assert_close

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

X = np.random.default_rng(0).standard_normal((4, 5, 6))
PLACES = [0, -1, (slice(None), 0), (slice(1, 3), slice(None), -1), (..., slice(2, 4)), slice(None), (2, ..., slice(-3, None))]


def assigned(x):
    y = x * 1.0
    y[:, 0] = y[:, 1]
    y[..., -1] = 0.0
    return y


CASES = {
    "rolled": lambda x: rg.roll(x, 2, 1) * 2, "rolled along two axes": lambda x: rg.roll(x, (1, -2), (0, 2)),
    "rolled in the order of memory": lambda x: rg.roll(x, 7), "rolled so twice": lambda x: rg.roll(x, (1, 2)),
    "rolled by all": lambda x: rg.roll(x, 5, 1) + 1,
    "assigned": assigned,
    **{f"a number at {place}": lambda x, place=place: rg.set_at(x, 3.0, place) * x for place in PLACES},
    **{f"an array at {place}": lambda x, place=place: rg.set_at(x, (x * x)[place], place) * 2 for place in PLACES},
    "a line for each line": lambda x: rg.set_at(x, rg.sin(x[0, 0, 2:4]), (slice(1, 3), slice(None), slice(2, 4))),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_eager_mode(name):
    function, x = CASES[name], rg.tensor(X)
    compiled = rg.jit(function)
    np.testing.assert_array_equal(compiled(x).numpy(), function(x).numpy())
    assert "library" not in {kernel.kind for kernel in compiled.explain().kernels}

    def slopes(x):
        return rg.grad(lambda x: rg.cosh(function(x)).sum())(x)

    assert_close(rg.jit(slopes)(x), slopes(x))


@pytest.mark.parametrize("place", [slice(None, None, 2), slice(3, 1), (None, 0), np.array([0, 2])])
def test_other_places_are_written_as_numpy_writes_them(place):
    x = rg.tensor(X)
    np.testing.assert_array_equal(rg.jit(lambda x: rg.set_at(x, 2.0, place))(x).numpy(), rg.set_at(x, 2.0, place).numpy())


def test_a_value_that_does_not_fit_its_place_is_refused():
    with pytest.raises(ValueError, match="broadcast"):
        rg.jit(lambda x: rg.set_at(x, x[0, 0], (slice(None), slice(None), 0)))(rg.tensor(X))


@pytest.mark.parametrize(("count", "axis"), [((6, 1), 1), ((6, 3), -1), ((2, 10), 0), ((6, 8), 1), ((6, 9), 1)])
def test_numbers_added_at_a_few_positions_of_each_line_are_found_there_by_a_loop(count, axis):
    rng = np.random.default_rng(0)
    x, size = rng.standard_normal((6, 10)), (6, 10)[axis]
    positions = rng.integers(-size, size, count)
    slope = rg.grad(lambda x, positions: (rg.take_along_axis(x, positions, axis) ** 3).sum())
    step = rg.jit(slope)
    np.testing.assert_allclose(step(x, positions), slope(x, positions), rtol=1e-12)
    assert any(kernel.kind == "scatter" for kernel in step.explain().kernels) == (count[axis] > 8)
