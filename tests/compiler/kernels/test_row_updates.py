"""row updates: rows read at positions, computed with and written back in one pass, as NumPy writes what it has read before."""

from typing import Any

import numpy as np
import pytest

import retrograde as rg
from graphs import called, leaf, schedule_of
from retrograde.compiler.backends import reference
from retrograde.errors import OutOfRangeError

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def kinds_of(step):
    return [kernel.kind for kernel in step.explain().kernels]


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def momentum_step(table, kept):
    """A step that updates rows of two tables of what both hold there, and of more rows."""

    @rg.jit
    def step(i, g):
        mean = kept[i] * 0.5 + g
        table[i] = table[i] - rg.tanh(mean)
        kept[i] = mean

    return step


def momentum_in_numpy(table, kept, i, g):
    mean = kept[i] * np.float32(0.5) + g
    table[i], kept[i] = table[i] - np.tanh(mean), mean


@pytest.mark.parametrize(("shape", "places", "index_dtype"), [
    ((30, 16), (12,), "int64"), ((30, 17), (3, 5), "int32"), ((9, 4, 6), (2, 1, 8), "int64"), ((5000, 33), (400,), "int64"),
    ((40, 100), (1,), "int32"), ((1, 20), (6,), "int64"), ((700, 16), (4000,), "int64")])
def test_rows_are_written_as_in_numpy_the_last_one_of_equal_positions(shape, places, index_dtype):
    table, kept = drawn(*shape), drawn(*shape, seed=1)
    ours, ours_kept = rg.tensor(table.copy()), rg.tensor(kept.copy())
    step, rng = momentum_step(ours, ours_kept), np.random.default_rng(2)
    for number in range(3):
        i, g = rng.integers(-shape[0], shape[0], places).astype(index_dtype), drawn(*places, *shape[1:], seed=3 + number)
        step(rg.tensor(i), rg.tensor(g))
        momentum_in_numpy(table, kept, i, g)
        np.testing.assert_allclose(ours.numpy(), table, rtol=2e-6, atol=2e-6)
        np.testing.assert_allclose(ours_kept.numpy(), kept, rtol=2e-6, atol=2e-6)
    assert kinds_of(step)[-2:] == ["next places", "row update"]


@pytest.mark.parametrize("dtype", ["float64", "int32", "float16", "bfloat16"])
def test_rows_of_any_dtype_of_memory_are_written(dtype):
    table = rg.tensor(np.arange(640).reshape(10, 64)).astype(dtype)
    before, i = table.astype("float64").numpy().copy(), np.array([3, 9, 3])

    @rg.jit
    def step(i):
        table[i] = table[i] + table[i]

    step(rg.tensor(i))
    before[i] *= 2
    np.testing.assert_array_equal(table.astype("float64").numpy(), before)
    assert kinds_of(step)[-1] == "row update"


def test_a_table_is_written_in_place_whether_its_positions_were_checked_or_not():
    sizes = []
    for rows in (1000, 100_000):
        step = momentum_step(rg.zeros((rows, 16)), rg.zeros((rows, 16)))
        step(rg.tensor(np.arange(6)), rg.ones((6, 16)))
        sizes.append(step.explain().arena_bytes)
    assert sizes[0] == sizes[1] < 4096


@pytest.mark.parametrize("wrong", [[0, 50, 1], [-51, 0, 0]])
def test_a_position_out_of_range_leaves_all_tables_as_they_were(wrong):
    table, kept = rg.tensor(drawn(50, 16)), rg.tensor(drawn(50, 16, seed=1))
    step = momentum_step(table, kept)
    step(rg.tensor([1, 2, 3]), rg.ones((3, 16)))
    held = table.numpy().copy(), kept.numpy().copy()
    with pytest.raises(OutOfRangeError):
        step(rg.tensor(wrong), rg.ones((3, 16)))
    np.testing.assert_array_equal(table.numpy(), held[0])
    np.testing.assert_array_equal(kept.numpy(), held[1])


@pytest.mark.parametrize("name", ["another order of rows", "another order of columns", "other positions", "all rows"])
def test_rows_that_are_read_elsewhere_in_the_table_are_those_of_before(name):
    reads = {"another order of rows": lambda x, i, flip: flip(x[i], 0), "another order of columns": lambda x, i, flip: flip(x[i], 1),
             "other positions": lambda x, i, flip: x[i] + x[i - 1], "all rows": lambda x, i, flip: x[i] + x[:40]}
    x, i = drawn(60, 24), np.random.default_rng(4).integers(1, 60, 40)
    table = rg.tensor(x.copy())

    @rg.jit
    def step(i):
        table[i] = table[i] * 0.5 + reads[name](table, i, rg.flip)

    for _ in range(2):
        step(rg.tensor(i))
        x[i] = x[i] * np.float32(0.5) + reads[name](x, i, np.flip)
    np.testing.assert_allclose(table.numpy(), x, rtol=1e-6, atol=1e-6)


def test_a_table_whose_old_rows_are_asked_for_keeps_them():
    table = rg.tensor(drawn(60, 24))
    before, i = table.numpy().copy(), np.array([5, 7, 5])

    @rg.jit
    def step(i):
        old = table * 1
        table[i] = table[i] * 2
        return old, table.sum()

    old, total = step(rg.tensor(i))
    np.testing.assert_array_equal(old.numpy(), before)
    before[i] *= 2
    np.testing.assert_array_equal(table.numpy(), before)
    np.testing.assert_allclose(total.numpy(), before.sum(), rtol=1e-4)


def test_a_row_that_was_computed_and_is_given_out_is_one_for_each_position():
    table, i, g = rg.tensor(drawn(60, 24)), np.array([5, 7, 5]), drawn(3, 24, seed=1)
    before = table.numpy().copy()

    @rg.jit
    def step(i, g):
        rows = table[i] + g
        table[i] = rows
        return rows

    np.testing.assert_array_equal(step(rg.tensor(i), rg.tensor(g)).numpy(), before[i] + g)
    before[i] = before[i] + g
    np.testing.assert_array_equal(table.numpy(), before)


def sums_step(count):
    """A step that takes sums of rows at equal positions from a table, in one pass."""
    table = rg.nn.Embedding(count, 16, sparse=True)
    table.weight.data = np.zeros((count, 16), np.float32)
    optimizer = rg.optim.SGD(table.parameters(), lr=1)

    @rg.jit
    def step(i, g):
        optimizer.zero_grad()
        (table(i) * g).sum().backward()
        optimizer.step()

    return table.weight, step


@pytest.mark.parametrize(("count", "places"), [(1, 7), (3, 1000), (2000, 900), (50, 1)])
def test_sums_of_rows_at_equal_positions_are_those_of_float64(count, places):
    weight, step = sums_step(count)
    i, g = np.random.default_rng(5).integers(0, count, places), drawn(places, 16)
    step(rg.tensor(i), rg.tensor(g))
    wanted = np.zeros((count, 16))
    np.add.at(wanted, i, -g.astype(np.float64))
    np.testing.assert_allclose(weight.detach().numpy(), wanted, rtol=1e-5, atol=2e-5)
    assert kinds_of(step).count("row update") == 1
    assert "scatter" not in kinds_of(step)


def test_two_threads_write_the_same_bits_as_one():
    found = []
    for threads in (1, 2):
        before = rg.get_num_threads()
        rg.set_num_threads(threads)
        try:
            weight, step = sums_step(3000)
            rng = np.random.default_rng(6)
            for _ in range(3):
                step(rg.tensor(rng.integers(0, 3000, 60_000)), rg.tensor(rng.standard_normal((60_000, 16)).astype(np.float32)))
            found.append(weight.detach().numpy())
        finally:
            rg.set_num_threads(before)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize(("count", "high"), [(1, 3), (17, 4), (1000, 2**31 - 1), (3000, 700)])
def test_the_next_of_equal_positions_is_found_and_after_the_last_the_first(dtype, count, high):
    x = np.random.default_rng(2).integers(0, high, count).astype(dtype)
    x[count // 2 :: 7] = x[0]
    step: Any = rg.jit(lambda x: rg.ops.finding.next_places(x))
    wanted = np.empty(count, np.int64)
    for number in set(x.tolist()):
        places = np.flatnonzero(x == number)
        wanted[places] = np.roll(places, -1)
    np.testing.assert_array_equal(step(rg.tensor(x)).numpy(), wanted)
    np.testing.assert_array_equal(rg.ops.finding.next_places(rg.tensor(x)).numpy(), wanted)
    assert kinds_of(step) == ["next places"]


def test_links_that_are_computed_are_followed_from_memory():
    call: Any = rg.ops.get("sum_along_places").call
    function: Any = lambda x, places: call(x * 2, rg.where(places > 2, places - 3, places + 1))
    x, places = drawn(6, 20), np.array([0, 1, 3, 7, 8, 2])
    links = np.where(places > 2, places - 3, places + 1)
    assert sorted(links) == list(range(6))
    found = rg.jit(function)(rg.tensor(x), rg.tensor(places)).numpy()
    np.testing.assert_allclose(found, function(rg.tensor(x), rg.tensor(places)).numpy(), rtol=1e-6, atol=1e-6)


def test_rows_at_other_positions_are_another_pass():
    x, y, i, j = leaf(9, 16), leaf(9, 16), *(called("checked_positions", leaf(5, dtype=np.int64), 9) for _ in range(2))
    last = [called("less_equal", called("next_places", positions), np.arange(5)) for positions in (i, j)]
    put = [called("put_rows", table, called("exp", called("take", table, positions, axis=0)), positions, counts)
           for table, positions, counts in zip((x, y), (i, j), last, strict=True)]
    found = [[root.op.name for root in step.roots] for step in schedule_of(*put).steps if step.kernel.name == "row update"]
    assert found == [["put_rows"], ["put_rows"]]


@pytest.mark.parametrize("place", ["data", "a list", "an array"])
@pytest.mark.parametrize("value", [2, "a row", "a number", "rows of another dtype", "a constant row"])
@pytest.mark.parametrize("shape", [(40, 24), (40,)])
def test_what_is_written_to_state_needs_no_copy_of_it(shape, value, place):
    table, positions = drawn(*shape), {"a list": [3, -1, 3], "an array": np.array([3, -1, 3]), "data": None}[place]
    rows = drawn(3, *shape[1:], seed=1)
    taken = {"a row": lambda y: y[0], "a number": lambda y: y.max(), "rows of another dtype": lambda y: y.astype("int64"),
             "a constant row": lambda y: np.arange(24.0)[:y[0].size]}
    state = rg.tensor(table.copy())

    @rg.jit
    def step(y, i):
        state[i if positions is None else positions] = taken[value](y) if value in taken else value

    i = np.array([3, -1, 3])
    step(rg.tensor(rows), rg.tensor(i))
    table[i] = taken[value](rows) if value in taken else value
    np.testing.assert_array_equal(state.numpy(), table)
    kinds = kinds_of(step)
    assert "library" not in kinds
    assert step.explain().arena_bytes < 2048


def test_known_positions_out_of_range_and_numbers_that_do_not_fit_are_errors():
    state = rg.tensor(drawn(5, 24))
    for index, value in (([1, 5], 0.0), ([-6], 1), ([0, 1], np.zeros(7, np.float32))):
        step: Any = rg.jit(lambda index=index, value=value: state.__setitem__(index, value))
        with pytest.raises((rg.errors.RetrogradeError, IndexError)):
            step()
    np.testing.assert_array_equal(state.numpy(), drawn(5, 24))


def test_numpy_runs_the_same_steps(monkeypatch):
    from retrograde.compiler import backends

    table, kept = drawn(30, 16), drawn(30, 16, seed=1)
    ours, ours_kept = rg.tensor(table.copy()), rg.tensor(kept.copy())
    monkeypatch.setattr(backends, "chosen", lambda: reference.BACKEND)
    i, g = np.array([2, 29, -1, 2]), drawn(4, 16, seed=2)
    momentum_step(ours, ours_kept)(rg.tensor(i), rg.tensor(g))
    momentum_in_numpy(table, kept, i, g)
    np.testing.assert_allclose(ours.numpy(), table, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(ours_kept.numpy(), kept, rtol=2e-6, atol=2e-6)
