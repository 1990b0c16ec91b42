"""row dependences: a pass may run block by block of rows only if a row meets none of another one; found again by going to each element."""

from itertools import product as every
from types import SimpleNamespace

import numpy as np
import pytest

from graphs import leaf
from retrograde.compiler.cost import TILED_NUMBERS as LEAST
from retrograde.compiler.index.box import Box, Store
from retrograde.compiler.index.expression import Load
from retrograde.compiler.index.problem import Problem
from retrograde.compiler.index.row_dependences import is_worth_rows, met_by_loops, met_by_product, row_counts


def elements(start, steps, lengths, row):
    """The elements that a load meets in one round of the first loop."""
    return {start + row * steps[0] + sum(step * i for step, i in zip(steps[1:], inner, strict=True))
            for inner in every(*map(range, lengths[1:]))}


def is_in_its_rows(start, steps, lengths, size):
    """Whether each round of the first loop meets what belongs to it alone of a buffer of so many numbers."""
    length = size // lengths[0]
    return all(set(range(row * length, (row + 1) * length)) >= elements(start, steps, lengths, row) for row in range(lengths[0]))


@pytest.mark.parametrize("seed", range(60))
def test_a_loop_meets_strangers_if_an_element_of_another_row_is_among_those_that_it_reads_or_writes(seed):
    generator = np.random.default_rng(seed)
    rows, inner = int(generator.integers(2, 5)), int(generator.integers(2, 5))
    length = int(generator.integers(inner, 3 * inner))
    # Steps that cannot be joined, so that the box stays as it is.
    parts = [(SimpleNamespace(size=rows * length), int(generator.integers(-2, 4)), (length, int(generator.choice([-1, 1, 1, 2])))) for _ in range(3)]
    if length == inner:
        parts = [(buffer, start, (length, -1)) for buffer, start, _ in parts]
    # A step from row to row that is not the row's own length leaves the rows sooner or later; it is not looked at more closely.
    off = int(generator.integers(0, 4))
    parts = [(buffer, start, (steps[0] + (number == off), steps[1])) for number, (buffer, start, steps) in enumerate(parts)]
    (target, at, moves), *read = parts
    box = Box((rows, inner), (False, False), tuple([Load(buffer, start, steps, "float32") for buffer, start, steps in read]),
              (Store(target, 0, at, moves, "float32"),))
    met = met_by_loops(box, rows)
    if met is not None:
        wanted = {id(buffer) for buffer, start, steps in parts
                  if steps[0] != length or not is_in_its_rows(start, steps, (rows, inner), buffer.size)}
        assert (met.read, met.strangers, met.parts) == ({id(buffer) for buffer, *_ in read}, wanted, set())


def test_what_all_rows_share_is_a_stranger_and_the_sum_of_all_rows_is_there_in_parts():
    x, shared, total = (SimpleNamespace(size=n) for n in (40000, 100, 100))
    loads = Load(x, 0, (100, 1), "float32"), Load(shared, 0, (0, 1), "float32")
    met = met_by_loops(Box((400, 100), (True, False), loads, (Store(total, 0, 0, (0, 1), "float32", "sum"),)), 400)
    assert (met.read, met.strangers, met.parts) == ({id(x), id(shared)}, {id(shared)}, {id(total)})
    met = met_by_loops(Box((400, 100), (False, True), loads, (Store(SimpleNamespace(size=400), 0, 0, (1, 0), "float32", "sum"),)), 400)
    assert met.parts == set()


def test_loops_that_do_not_go_over_so_many_rows_meet_nothing_that_is_known():
    x = SimpleNamespace(size=60)
    box = Box((6, 10), (False, False), (Load(x, 0, (10, 1), "float32"),), (Store(SimpleNamespace(size=60), 0, 0, (10, 1), "float32"),))
    assert met_by_loops(box, 6) is not None
    assert met_by_loops(box, 12) is not None
    assert met_by_loops(box, 7) is None
    long = box._replace(entries=box.entries * 65)
    assert met_by_loops(long, 6) is None
    assert met_by_loops(box._replace(entries=box.entries * 64), 6) is not None


def multiplied(a, start, rows, height, k, size):
    """What a product meets whose A has these strides, and so many numbers in all."""
    left, right = SimpleNamespace(size=size), SimpleNamespace(size=k * 3)
    problem = Problem("float32", rows * height, 3, k, a, (3, 1), (3, 1))
    met = met_by_product(SimpleNamespace(problem=problem, a=(left, start), b=(right, 0)), rows)
    assert met.read == {id(left), id(right)}
    assert met.parts == set()
    assert id(right) in met.strangers
    return id(left) in met.strangers


@pytest.mark.parametrize(("row", "column", "start", "k"), list(every((4, 8), (-1, 0, 1, 2), (-1, 0, 1), (1, 4))))
@pytest.mark.parametrize("height", [1, 2])
@pytest.mark.parametrize("more", [0, 1])
def test_a_product_meets_strangers_if_a_row_of_its_first_operand_reads_elements_of_another(row, column, start, k, height, more):
    rows, size = 3, 3 * (row * height + more)
    read = [{start + (r * height + h) * row + i * column for h in range(height) for i in range(k)} for r in range(rows)]
    length = size // rows
    is_apart = all(set(range(r * length, (r + 1) * length)) >= found for r, found in enumerate(read))
    is_stranger = multiplied((row, column), start, rows, height, k, size)
    # Operands that are read backwards, or of which each row has more numbers than it reads, are not looked at closely.
    assert is_stranger is not is_apart or (is_stranger and (column < 0 or more > 0))
    assert is_stranger or not more


def test_a_product_whose_rows_are_not_so_many_is_no_pass_over_them():
    problem = Problem("float32", 10, 3, 4, (4, 1), (3, 1), (3, 1))
    x = SimpleNamespace(size=40)
    assert met_by_product(SimpleNamespace(problem=problem, a=(x, 0), b=(x, 0)), 3) is None
    assert met_by_product(SimpleNamespace(problem=problem, a=(x, 0), b=(x, 0)), 5) is not None


def test_a_pass_over_rows_has_them_as_its_outermost_loop_and_their_sum_in_order_is_had_by_none():
    x = SimpleNamespace(size=60)
    loads, out = (Load(x, 0, (10, 1), "float32"),), SimpleNamespace(size=10)
    folded = lambda combine: Box((6, 10), (True, False), loads, (Store(out, 0, 0, (0, 1), "float32", combine),))
    assert met_by_loops(folded("sum"), 6).parts == {id(out)}
    assert met_by_loops(folded("prod"), 6) is None
    # The sum of all, for which the first loop is a reduced one that is not kept row by row.
    wide = Box((6, 40000), (True, False), (Load(SimpleNamespace(size=240000), 0, (40000, 1), "float32"),),
               (Store(SimpleNamespace(size=40000), 0, 0, (0, 1), "float32", "sum"),))
    assert not wide.keeps_rows(1)
    assert met_by_loops(wide, 6) is None


@pytest.mark.parametrize(("domain", "counts"), [
    ((), []), ((1, 5), []), ((6,), [6]), ((6, 5), [30, 6]), ((6, 1, 5), [30, 6]), ((2, 3, 4), [24, 6, 2]),
])
def test_rows_are_counted_by_the_first_axes(domain, counts):
    assert row_counts(domain) == counts


@pytest.mark.parametrize(("sizes", "changes", "is_worth"), [
    ((3000, 30, 20), {}, True), ((3000, 30, 20), {"batch": ((2, 0, 0, 0),)}, False), ((3000, 30, 20), {"c": (1, 3000)}, False),
    ((LEAST // 64, 32, 32), {}, True), ((LEAST // 64 - 1, 32, 32), {}, False),
    ((600, 256, 256), {}, True), ((2000, 257, 256), {}, False),  # a matrix of 256 kB at most
    ((512, 256, 256), {}, True), ((511, 256, 256), {}, False),  # a fourth of the rows
    ((8192, 5, 256), {}, True), ((8192, 4, 256), {}, False), ((20000, 4, 255), {}, True),
])
def test_a_product_is_one_of_rows_if_these_are_many_and_share_a_small_matrix(sizes, changes, is_worth):
    m, n, k = sizes
    problem = Problem("float32", m, n, k, (k, 1), (n, 1), (n, 1))._replace(**changes)
    made = SimpleNamespace(op="add")
    assert is_worth_rows(SimpleNamespace(problem=problem, a=(made, 0))) is is_worth


def test_a_narrow_product_of_what_is_handed_in_is_made_of_dot_products():
    problem = Problem("float32", 20000, 4, 100, (100, 1), (4, 1), (4, 1))
    assert is_worth_rows(SimpleNamespace(problem=problem, a=(SimpleNamespace(op="add"), 0)))
    assert not is_worth_rows(SimpleNamespace(problem=problem, a=(leaf(20000, 100), 0)))
    assert not is_worth_rows(SimpleNamespace(problem=problem, a=(np.ones(2), 0)))
