"""Tiles, layouts and chunk grids chosen for problems and machines, and the modules made from them."""

from types import SimpleNamespace

import llvmlite.binding as llvm
import pytest

from retrograde.compiler.backends.cpu.codegen.matmul import choose, choose_panels
from retrograde.compiler.backends.cpu.codegen.matmul.cache_blocks import k_block
from retrograde.compiler.backends.cpu.codegen.matmul.layouts import left_layout, right_layout
from retrograde.compiler.backends.cpu.codegen.matmul.spec import Dots, Loops, PairTile, Tile
from retrograde.compiler.backends.cpu.codegen.matmul.tile_sizes import tile_size
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.backends.cpu.writer import Writer
from retrograde.compiler.index.problem import Problem
from retrograde.compiler.kernels.matmul import part_unit
from retrograde.compiler.target import cache_sizes, describe

CACHES = (32 * 1024, 512 * 1024, 32 * 1024 * 1024)
MACHINES = {
    "avx2": describe("x", "x86_64", {"avx": True, "fma": True}, CACHES),
    "avx512": describe("x", "x86_64", {"avx": True, "avx512f": True, "avx512vl": True, "fma": True}, CACHES),
    "neon": describe("x", "aarch64", {}, CACHES),
    "plain": describe("x", "x86_64", {}, CACHES),
}


def problem(m, n, k, dtype="float32"):
    return Problem(dtype, m, n, k, (k, 1), (n, 1), (n, 1))


@pytest.mark.parametrize(
    ("name", "dtype", "lanes", "tile"),
    [("avx2", "float32", 8, (6, 2)), ("avx2", "float64", 4, (6, 2)), ("avx512", "float32", 16, (12, 2))],
)
def test_large_products_use_the_tile_that_fills_the_registers(name, dtype, lanes, tile):
    assert MACHINES[name].lanes(dtype) == lanes
    assert tile_size(MACHINES[name], lanes, 1200, 3200) == tile


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(
    ("m", "n", "k"), [(512, 512, 512), (20, 20, 20), (1, 300, 300), (1, 900, 900), (300, 1, 300), (127, 63, 5)]
)
def test_code_for_every_machine_passes_the_verifier(name, m, n, k):
    for spec in choose(MACHINES[name], problem(m, n, k)).specs:
        llvm.parse_assembly(part_unit(Writer(MACHINES[name]), spec).text).verify()


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("m", [1, 5, 13, 100, 129])
def test_row_tiles_cover_the_rows_evenly(name, m):
    plan = choose(MACHINES[name], problem(m, 640, 64))
    numbers = plan.numbers
    assert numbers["row_tiles"] * numbers["short_height"] + numbers["tall_tiles"] == m
    heights = {tile.height for label, tile in plan.functions.items() if label.startswith(("tall", "short"))}
    assert heights <= {numbers["short_height"], numbers["short_height"] + 1}


def test_products_share_their_loops_their_tiles_and_what_packs():
    square, tall = (choose(MACHINES["avx2"], problem(m, 640, 900)) for m in (127, 901))
    assert square.entry == tall.entry == Loops()
    assert square.functions["right"] == tall.functions["right"]
    transposed = choose(MACHINES["avx2"], Problem("float32", 127, 640, 900, (900, 1), (1, 900), (640, 1)))
    assert transposed.functions["short"] == square.functions["short"] and transposed.functions["right"] != square.functions["right"]


def test_packing_is_the_same_code_for_products_that_differ_elsewhere():
    rows, columns = problem(512, 640, 64), Problem("float32", 512, 640, 900, (1, 512), (1, 900), (640, 1))
    packings = [choose_panels(MACHINES["avx2"], p, (p.m,))[0] for p in (rows._replace(b=(1, 64)), columns)]
    assert packings[0].specs == packings[1].specs
    assert packings[0].numbers != packings[1].numbers


def test_results_that_columns_keep_contiguous_are_computed_transposed():
    flipped = Problem("float32", 100, 200, 300, (300, 1), (200, 1), (1, 100))
    assert choose(MACHINES["avx2"], flipped).is_swapped
    assert not choose(MACHINES["avx2"], problem(100, 200, 300)).is_swapped


def test_narrow_results_are_dot_products():
    assert isinstance(choose(MACHINES["avx2"], problem(1000, 1, 1000)).entry, Dots)
    assert isinstance(choose(MACHINES["avx2"], problem(1000, 1000, 1000)).entry, Loops)


@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_a_grid_has_as_many_cells_as_chunks(count):
    batch, rows, columns = choose(MACHINES["avx2"], problem(300, 200, 100)).grid(count)
    assert batch * rows * columns == count


def test_small_products_need_no_workspace():
    assert choose(MACHINES["avx2"], problem(32, 32, 32)).workspace_bytes == 0
    assert choose(MACHINES["avx2"], problem(512, 512, 512)).workspace_bytes > 0


def test_the_host_has_a_vector_and_caches():
    assert target().vector_bytes in (16, 32, 64)
    assert all(size > 0 for size in cache_sizes())


def _small_caches(first=32768, second=524288, *, has_masks=True):
    return SimpleNamespace(first_cache=first, second_cache=second, has_masks=has_masks)


@pytest.mark.parametrize(("k", "first_cache", "expected"), [
    (1000, 32768, 336),  # three blocks of at most 384 rows, in eights
    (384, 32768, 384), (385, 32768, 200), (5, 32768, 8), (0, 32768, 8),
    (200, 1024, 56),  # however small the cache, not fewer than 64 rows are aimed at
])
def test_blocks_of_k_fill_the_first_cache_evenly(k, first_cache, expected):
    assert k_block(_small_caches(first_cache), problem(60, 600, k), 16, 10, 4) == expected


@pytest.mark.parametrize(("k", "second_cache", "expected"), [
    (1000, 524288, 1000), (1024, 524288, 1024), (1025, 524288, 520), (1000, 1024, 64), (5, 524288, 8),
])
def test_blocks_of_k_of_a_block_that_stays_in_the_second_cache_are_an_eighth_of_it(k, second_cache, expected):
    assert k_block(_small_caches(second=second_cache), problem(60, 600, k), 16, 10, 4, is_streamed=True) == expected


def test_of_rows_that_are_read_where_they_lie_the_other_operand_stays_in_the_second_cache():
    plan = choose(MACHINES["avx2"], problem(600, 768, 576))
    numbers = plan.numbers
    assert numbers["is_right_resident"] and "left" not in plan.functions
    assert numbers["row_tiles_block"] == numbers["row_tiles"]
    assert numbers["column_tiles_block"] * numbers["k_block"] * 16 * 4 <= MACHINES["avx2"].second_cache // 2
    assert not choose(MACHINES["avx2"], problem(600, 768, 1024)).numbers["is_right_resident"]  # a row ends where a way does


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("k", [576, 1024, 1536, 2048, 4096])
@pytest.mark.parametrize("n", [200, 2048])
def test_rows_are_added_up_in_the_same_order_whatever_their_number(machine, k, n):
    # Prompts are read in pieces of 16 rows at least, and must not depend on how they are cut.
    assert len({choose(MACHINES[machine], problem(m, n, k)).numbers["k_block"] for m in (16, 64, 256, 1000)}) == 1


def _gradient(m, n, k):
    """Of a weight of m by n, over k rows."""
    return problem(m, n, k)._replace(a=(1, m))


@pytest.mark.parametrize(("given", "has_all_rows"), [
    (_gradient(150, 150, 2000), True), (_gradient(2000, 400, 500), False), (_gradient(20000, 200, 500), False),  # over rows
    (problem(600, 200, 1500), True), (problem(600, 200, 2048), False),  # read in place, packed
])
def test_the_second_cache_keeps_a_block_of_all_columns_where_rows_of_them_are_worth_it(given, has_all_rows):
    machine = MACHINES["avx2"]
    numbers = choose(machine, given).numbers
    assert numbers["is_right_resident"] and numbers["column_tiles_block"] == numbers["column_tiles"]
    assert numbers["k"] > numbers["k_block"] >= 96
    right = numbers["k_block"] * numbers["column_tiles"] * numbers["short_width"] * 4
    left = numbers["k_block"] * numbers["row_tiles_block"] * (numbers["short_height"] + 1) * 4
    assert right <= machine.second_cache * 0.45
    assert (numbers["row_tiles_block"] == numbers["row_tiles"]) == has_all_rows
    assert has_all_rows or right + left <= machine.second_cache * 0.6


@pytest.mark.parametrize("given", [
    _gradient(2000, 600, 500), problem(600, 300, 1536),  # of which the second cache has room for a few rows only
    problem(600, 200, 200),  # of which it has room for all
    problem(600, 200, 1536)._replace(b=(1, 1536)),  # of which a few columns lie together
])
def test_a_block_of_all_columns_is_not_kept_where_it_does_not_pay(given):
    numbers = choose(MACHINES["avx2"], given).numbers
    assert not numbers["is_right_resident"] or numbers["column_tiles_block"] < numbers["column_tiles"] or numbers["k_block"] >= given.k


@pytest.mark.parametrize(("m", "n", "k", "b", "expected"), [
    (6, 1000, 1001, (1000, 1), 1001), (5, 1000, 1001, (1000, 1), 1001), (4, 1000, 1001, (1000, 1), 8), (4, 1000, 1001, (1, 1001), 1001),
    (4, 10, 1001, (10, 1), 1001), (4, 10, 0, (10, 1), 1),
])
def test_one_row_of_tiles_reads_all_of_k_at_once_or_a_large_matrix_as_it_lies(m, n, k, b, expected):
    assert k_block(_small_caches(), problem(m, n, k)._replace(b=b), 16, 1, 4) == expected


@pytest.mark.parametrize(("a", "m", "k", "column_tiles", "expected"), [
    ((1025, 1), 10000, 1025, 5, ("direct", "rows")),  # rows that spread over the first cache
    ((1024, 1), 128, 1024, 5, ("direct", "rows")), ((1024, 1), 129, 1024, 5, ("rows", "rows")), ((1024, 1), 129, 1024, 4, ("direct", "rows")),
    ((1, 128), 128, 64, 5, ("direct", "columns")), ((1, 128), 129, 64, 5, ("columns", "panels")), ((1, 128), 129, 64, 4, ("direct", "columns")),
    ((7, 3), 128, 64, 5, ("direct", "any")), ((7, 3), 129, 64, 5, ("gather", "rows")),
])
def test_a_is_packed_where_the_cache_that_it_is_read_through_does_not_hold_it_for_many_tiles(a, m, k, column_tiles, expected):
    assert left_layout(_small_caches(), problem(m, 600, k)._replace(a=a), column_tiles, 4) == expected


@pytest.mark.parametrize(("b", "n", "k", "row_tiles", "ragged", "has_masks", "expected"), [
    ((64, 1), 64, 64, 9, 0, True, "direct"), ((65, 1), 65, 64, 9, 0, True, "copy"), ((65, 1), 65, 64, 2, 0, True, "direct"),
    ((65, 1), 65, 64, 3, 0, True, "copy"), ((64, 1), 64, 64, 9, 1, True, "direct"), ((64, 1), 64, 64, 9, 1, False, "copy"),
    ((64, 1), 64, 64, 9, 0, False, "direct"), ((1, 64), 64, 64, 2, 0, True, "transpose"), ((7, 3), 64, 64, 2, 0, True, "gather"),
])
def test_b_is_packed_where_tiles_cannot_read_it_or_read_it_often_from_afar(b, n, k, row_tiles, ragged, has_masks, expected):
    assert right_layout(_small_caches(has_masks=has_masks), problem(60, n, k)._replace(b=b), row_tiles, ragged, 4) == expected


def test_plans_are_equal_if_their_class_and_their_fields_are_and_keys_show_both():
    fields = ("float32", 8, 6, 2, False, "rows", 0, True, True)
    tile, same, other, pair = Tile(*fields), Tile(*fields), Tile(*fields[:2], 5, *fields[3:]), PairTile(*fields)
    assert tile == same and hash(tile) == hash(same) and repr(tile) == repr(same)
    assert tile not in (other, pair) and len({tile, same, other, pair}) == 3
    assert len({repr(plan) for plan in (tile, other, pair)}) == 3
