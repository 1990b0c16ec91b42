"""positions: lines written over others as NumPy writes them, in place where that is right, and positions that are the same."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def kinds_of(step):
    return [kernel.kind for kernel in step.explain().kernels]


@pytest.mark.parametrize(("shape", "places", "dtype", "index_dtype"), [
    ((7,), (20,), "float32", "int64"), ((65, 128), (16, 4), "float64", "int32"), ((10, 3), (4,), "int32", "int64"),
    ((3001, 67), (40,), "float32", "int32"), ((20000, 33), (900,), "float64", "int64"), ((6, 5, 7), (3,), "float32", "int64")])
def test_lines_are_written_as_in_numpy_the_last_one_of_equal_positions(dtype, index_dtype, shape, places):
    rng = np.random.default_rng(0)
    indices = rng.integers(-shape[0], shape[0], places).astype(index_dtype)
    x, y = ((rng.standard_normal(s) * 9).astype(dtype) for s in (shape, (*places, *shape[1:])))

    @rg.jit
    def step(x, y, i):
        x = x + 1
        x[i] = y + 1
        return x

    wanted = x + np.ones((), dtype)
    wanted[indices] = y + np.ones((), dtype)
    np.testing.assert_array_equal(step(rg.tensor(x), rg.tensor(y), rg.tensor(indices)).numpy(), wanted)
    assert "written" in kinds_of(step)


def state_step(state, read_before=False, read_after=False, is_checked=False):
    @rg.jit
    def step(y, i):
        i = rg.ops.gathering.checked_positions(i, state.shape[0]) if is_checked else i
        before = state.sum() if read_before else rg.zeros(())
        old = state * 1 if read_after else rg.zeros(())
        state[i] = y * 2
        return before, old, y.sum()

    return step


@pytest.mark.parametrize(("read_before", "read_after", "is_checked"), [
    (False, False, True), (True, False, True), (True, True, True), (True, True, False)])
def test_state_is_written_in_place_or_copied_and_holds_the_same(read_before, read_after, is_checked):
    rng = np.random.default_rng(1)
    table = rng.standard_normal((5000, 8)).astype(np.float32)
    state, wanted = rg.tensor(table), table.copy()
    step = state_step(state, read_before, read_after, is_checked)
    for _ in range(3):
        y, i = rng.standard_normal((6, 8)).astype(np.float32), rng.integers(0, 5000, 6)
        before, old, _ = step(rg.tensor(y), rg.tensor(i))
        if read_before:
            np.testing.assert_allclose(before.numpy(), wanted.sum(), rtol=1e-3, atol=1e-2)
        if read_after:
            np.testing.assert_array_equal(old.numpy(), wanted)
        wanted[i] = y * 2
        np.testing.assert_array_equal(state.numpy(), wanted)


def test_what_is_written_in_place_needs_no_memory_of_the_size_of_the_table():
    sizes = []
    for rows in (1000, 100_000):
        step = state_step(rg.zeros((rows, 8)), is_checked=True)
        step(rg.ones((6, 8)), rg.tensor(np.arange(6)))
        sizes.append(step.explain().arena_bytes)
    assert sizes[0] == sizes[1] < 4096


@pytest.mark.parametrize("is_checked", [False, True])
def test_a_position_out_of_range_leaves_the_state_as_it_was(is_checked):
    state = rg.ones((50, 4))
    step = state_step(state, is_checked=is_checked)
    step(rg.ones((3, 4)), rg.tensor([1, 2, 3]))
    held = state.numpy().copy()
    for wrong in ([0, 50, 1], [-51, 0, 0]):
        with pytest.raises(rg.errors.OutOfRangeError):
            step(rg.zeros((3, 4)), rg.tensor(wrong))
        np.testing.assert_array_equal(state.numpy(), held)


def test_lines_of_the_state_itself_are_written_as_they_were_before():
    state = rg.tensor(np.arange(12.0, dtype=np.float32).reshape(6, 2))

    @rg.jit
    def step(i):
        state[i] = rg.flip(state, axis=0)

    step(rg.tensor([0, 1, 2, 3, 4, 5]))
    np.testing.assert_array_equal(state.numpy(), np.arange(12.0).reshape(6, 2)[::-1])


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize(("count", "high"), [(1, 3), (17, 4), (1000, 2**31 - 1), (3000, 700)])
def test_the_first_of_equal_positions_is_found(dtype, count, high):
    x = np.random.default_rng(2).integers(0, high, count).astype(dtype)
    x[count // 2 :: 7] = x[0]
    step = rg.jit(lambda x: rg.ops.finding.first_places(x))
    wanted = [np.flatnonzero(x == number)[0] for number in x]
    np.testing.assert_array_equal(step(rg.tensor(x)).numpy(), wanted)
    np.testing.assert_array_equal(rg.ops.finding.first_places(rg.tensor(x)).numpy(), wanted)
    assert kinds_of(step) == ["first places"]


def test_lines_are_written_over_one_of_several_results():
    def function(x, i):
        q = rg.linalg.qr(x)[0]
        return rg.ops.get("set_at").call(q, q[i] * 2, i)

    x, i = np.arange(1.0, 13.0).reshape(4, 3), np.array([2, 0])
    np.testing.assert_allclose(rg.jit(function)(rg.tensor(x), rg.tensor(i)).numpy(), function(rg.tensor(x), rg.tensor(i)).numpy(), rtol=1e-12)
