"""What products ask for before it is needed: the loops call functions that only record what they are handed."""

import ctypes
from itertools import product as pairs_of

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

from matmul_harness import Bound, operand

from retrograde.compiler.backends.cpu.codegen import ir
from retrograde.compiler.backends.cpu.codegen.matmul import choose, entries
from retrograde.compiler.backends.cpu.codegen.matmul.choose import choose_blocks
from retrograde.compiler.backends.cpu.codegen.matmul.product import BLOCK
from retrograde.compiler.backends.cpu.codegen.matmul.spec import FUNCTIONS, Blocks
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.cost import TILE_STEPS
from retrograde.compiler.index.problem import problem_of
from retrograde.compiler.target import CACHE_LINE

_TILE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
_PACK = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 4, ctypes.c_void_p)
#: Words of a launch of a product before its descriptor: four buffers, where each begins, and the bytes of its workspace.
_BEFORE = 8


class Recorded:
    """A product whose tiles and packing compute nothing: the lines that have been asked for, and, for each block that is packed, its
    side and the lines of it that had not been asked for until then.
    """

    def __init__(self, a, b, c):
        self.asked, self.blocks = set(), []
        # The launch is made for the plan, so that its functions are there; then others take their places.
        bound = Bound(a, b, c)
        self.plan, words = bound.plan, bound._words
        tile = _TILE(self._tile)
        packing = {side: _PACK(lambda *block, side=side: self._pack(side, *block)) for side in ("left", "right")}
        self._matrices = (b.T, a.T) if self.plan.is_swapped else (a, b)
        for place, name in enumerate(FUNCTIONS):
            if name in self.plan.functions:
                words[_BEFORE + place] = ctypes.cast(packing.get(name, tile), ctypes.c_void_p).value
        bound()

    def _tile(self, _a, _b, _c, block):
        numbers = dict(zip(BLOCK, (ctypes.c_int64 * len(BLOCK)).from_address(block), strict=True))
        for line in range(numbers["k"] // TILE_STEPS):
            self.asked.add((numbers["ahead"] + line * numbers["ahead_step"]) // CACHE_LINE)

    def _pack(self, side, _out, _source, first_k, k, first, end, _descriptor):
        numbers, along = self.plan.numbers, slice(first_k, first_k + k)
        if side == "right":
            across = slice(first * numbers["short_width"], min(end * numbers["short_width"], numbers["n"]))
            needed = _lines(self._matrices[1][along, across])
        else:
            row = lambda tile: tile * numbers["short_height"] + min(tile, numbers["tall_tiles"])
            needed = _lines(self._matrices[0][row(first) : row(end), along])
        self.blocks.append((side, len(needed - self.asked), len(needed)))


def _lines(matrix):
    """The cache lines of a matrix."""
    places = [range(size) for size in matrix.shape]
    start, strides = matrix.__array_interface__["data"][0], matrix.strides
    return {(start + i * strides[0] + j * strides[1]) // CACHE_LINE for i, j in pairs_of(*places)}


def _recorded(m, n, k, layouts):
    generator = np.random.default_rng(m + n + k)
    a, b = operand(generator, m, k, "float32", layouts[0]), operand(generator, k, n, "float32", layouts[1])
    return Recorded(a, b, np.zeros((m, n), np.float32))


@pytest.mark.parametrize("layouts", [("row", "row"), ("row", "column"), ("column", "row"), ("column", "column")], ids="-".join)
def test_each_block_but_the_first_has_been_asked_for_when_it_is_packed(layouts):
    k = max(512, target().second_cache // 2048)
    product = _recorded(300, 500, k, layouts)
    for side in {side for side, *_ in product.blocks}:
        (_, first, _), *later = [block for block in product.blocks if block[0] == side]
        assert first > 0 and later and not sum(missing for _, missing, _ in later), side
    assert len(product.blocks) > 1


def test_rows_of_the_next_tile_are_asked_for_where_they_are_read_in_place():
    generator = np.random.default_rng(0)
    a, b = operand(generator, 64, 100, "float32"), operand(generator, 100, 128, "float32")
    product = Recorded(a, b, np.zeros((64, 128), np.float32))
    # One block of B, or it would be more urgent.
    assert "left" not in product.plan.functions and [side for side, *_ in product.blocks] == ["right"]
    first = product.plan.numbers["short_height"] + (product.plan.numbers["tall_tiles"] > 0)
    assert _lines(a[first:]) <= product.asked


def test_weights_in_blocks_are_not_asked_for_where_numbers_would_lie():
    blocks = Blocks("Q8_0", target().lanes("float32"), True, True, True, True)
    problem = problem_of(np.zeros((64, 96), "f4"), np.zeros((128, 96), "f4").T, np.zeros((64, 128), "f4"))
    numbers = choose_blocks(target(), problem, blocks).numbers
    # With no step of a number there are no runs of numbers.
    assert numbers["b_row"] == numbers["b_column"] == 0


def test_a_vector_asks_for_the_next_columns_of_a_large_matrix_alone():
    def asks(n):
        vector, matrix = np.zeros((1, 512), "f4"), np.zeros((n, 512), "f4").T
        spec = choose(target(), problem_of(vector, matrix, np.zeros((1, n), "f4"))).entry
        module = ir.Module("tested", target())
        entries.write(module, "tested", spec)
        return "llvm.prefetch" in str(module)

    large = target().second_cache // (512 * 4)
    assert asks(large) and not asks(large // 4)
