"""prefetch: rows of large tables are asked for some iterations before they are needed, and no others."""

from typing import Any

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu.codegen.prefetch import rows_ahead

ROWS, WIDTH = 5000, 24


def hints(step):
    """For each kernel of a compiled function the rows that it asks for."""
    return [kernel.llvm.count('call void @"llvm.prefetch') for kernel in step.explain().kernels]


def table(rows, width=WIDTH):
    return rg.tensor(np.random.default_rng(0).standard_normal((rows, width)).astype(np.float32))


def twice(t, i):
    return rg.take(t, i, 0) * 2


@pytest.mark.parametrize(("places", "checked"), [((40,), False), ((9, 5), True), ((3,), True), ((1,), False)])
def test_rows_of_a_large_table_are_asked_for_and_are_those_of_numpy(places, checked):
    x = table(ROWS)
    positions = np.random.default_rng(1).integers(0 if checked else -ROWS, ROWS, places)
    check = (lambda i: rg.ops.gathering.checked_positions(i, ROWS)) if checked else (lambda i: i)
    step: Any = rg.jit(lambda t, i: twice(t, check(i)))
    np.testing.assert_array_equal(step(x, rg.tensor(positions)).numpy(), x.numpy()[positions] * 2)
    if positions.size > 1:
        assert sum(hints(step)) == 2  # 96 bytes are two lines


def test_rows_of_a_table_that_stays_in_the_second_cache_are_not_asked_for():
    step: Any = rg.jit(twice)
    step(table(100), rg.tensor(np.arange(40)))
    assert sum(hints(step)) == 0


def test_many_lines_of_one_row_are_left_to_the_processor_from_the_ninth_on():
    step: Any = rg.jit(twice)
    step(table(500, 1024), rg.tensor(np.arange(40)))
    assert sum(hints(step)) == 8


def test_each_table_read_at_the_same_positions_is_asked_for():
    step: Any = rg.jit(lambda s, t, i: twice(s, i) + rg.take(t, i, 0))
    step(table(ROWS), table(ROWS), rg.tensor(np.arange(40)))
    assert sum(hints(step)) == 4


@pytest.mark.parametrize("rows", [100, ROWS])
def test_lines_that_are_written_or_added_to_are_asked_for_in_large_tables(rows):
    positions, y = np.random.default_rng(2).integers(-rows, rows, 70), table(70)
    added: Any = rg.jit(lambda y, i: rg.scatter_add(y, (rows, WIDTH), (i,)))
    wanted = np.zeros((rows, WIDTH), np.float32)
    np.add.at(wanted, positions, y.numpy())
    np.testing.assert_allclose(added(y, rg.tensor(positions)).numpy(), wanted, rtol=1e-6)

    state, copy = table(rows), table(rows).numpy().copy()

    @rg.jit
    def written(y, i):
        state[i] = y

    written(y, rg.tensor(positions))
    copy[positions] = y.numpy()
    np.testing.assert_array_equal(state.numpy(), copy)
    assert [sum(hints(step)) for step in (added, written)] == [int(rows == ROWS)] * 2


@pytest.mark.parametrize("tables", [1, 3])
def test_rows_that_are_computed_where_they_are_written_are_asked_for_once(tables):
    states, positions = [table(ROWS) for _ in range(tables)], np.random.default_rng(3).integers(0, ROWS, 40)

    @rg.jit
    def updated(i):
        for state in states:
            state[i] = state[i] * 2

    @rg.jit
    def cleared(i):
        for state in states:
            state[i] = 0.0

    for step in (updated, cleared):
        step(rg.tensor(positions))
        assert sum(hints(step)) == 2 * tables  # 96 bytes are two lines
    assert not any(state.numpy()[positions].any() for state in states)


def test_of_several_tables_fewer_rows_are_on_their_way():
    assert [rows_ahead([256] * tables) for tables in (1, 3, 100)] == [16, 5, 2]
