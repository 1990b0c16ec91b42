"""Products by register tiles of rows by vectors, with packed panels and cache blocks where they pay."""

from collections.abc import Callable
from functools import partial
from math import ceil
from typing import NamedTuple

from .....target import ITEM_BYTES
from .cache_blocks import column_tiles_of_block, k_block, kept_rows, row_tiles_of_block
from .fields import batch_fields, batch_fields_of_pairs, fields, fields_of_pairs
from .layouts import (
    block_packing,
    has_spread_rows,
    left_layout,
    left_layout_of_pairs,
    packing_of_pairs,
    right_layout,
    right_layout_of_pairs,
    widest_tile,
)
from .plan import Plan, aligned
from .spec import IntegerPairTile, Loops, Packing, PairTile, Tile
from .tile_sizes import even_tiles, tile_size


class Panels(NamedTuple):
    """All of B, packed once for tiles of `rows` by `vectors`, `k_block` rows of it after the other."""

    rows: int
    vectors: int
    k_block: int


class Items(NamedTuple):
    """What depends on what a step of k takes of an operand."""

    left_layout: Callable
    right_layout: Callable
    fields: Callable
    batch_fields: Callable
    tile: Callable
    packing: Callable


#: A number.
NUMBERS = Items(left_layout, right_layout, fields, batch_fields, Tile, Packing)
#: A pair of numbers of bfloat16.
PAIRS = Items(left_layout_of_pairs, right_layout_of_pairs, fields_of_pairs, batch_fields_of_pairs, PairTile, packing_of_pairs)
#: A pair of integers of 16 bits.
INTEGER_PAIRS = PAIRS._replace(tile=IntegerPairTile)


def tiled(target, problem, is_swapped, items=NUMBERS, *, panels=None, blocks=None):
    """The plan of a product by register tiles. With `panels` B is packed before, and with `blocks` it is in those of quantised
    weights.
    """
    item, lanes = ITEM_BYTES[problem.dtype], target.lanes(problem.dtype)
    rows, vectors = (panels.rows, panels.vectors) if panels else tile_size(target, lanes, problem.m, problem.n, widest_tile(blocks))
    width = vectors * lanes
    row_tiles, heights, short, tall = even_tiles(problem.m, rows)
    column_tiles, rest = ceil(problem.n / width), problem.n % width
    left, kind = items.left_layout(target, problem, column_tiles, item)
    # Whatever the number of rows, or each would be added up in another order with another number.
    is_streamed = has_spread_rows(problem, item) and not panels
    # All columns of a block of B, which packed rows go by as well.
    is_kept = not panels and (is_streamed or _is_packed(left)) and kept_rows(target, problem, item) is not None
    depth = panels.k_block if panels else k_block(target, problem, width, row_tiles, item, is_streamed=is_streamed, blocks=blocks)
    right = "panels" if panels else "blocks" if blocks else items.right_layout(target, problem, row_tiles, rest % lanes, item)
    panel, column_tiles_block, row_tiles_block = depth * item * width, column_tiles, row_tiles
    if not panels and not is_kept:
        all_left = problem.m * problem.k * item
        column_tiles_block = column_tiles_of_block(target, column_tiles, panel, all_left, is_streamed=is_streamed)
    if not is_streamed:
        right_bytes = column_tiles * panel if is_kept else None
        row_tiles_block = row_tiles_of_block(target, row_tiles, depth * item * rows, right_bytes)
    left_start = column_tiles_block * panel if _is_packed(right) else 0
    left_bytes = (row_tiles_block * rows * depth + 4 * lanes) * item if _is_packed(left) else 0
    numbers = items.fields(
        problem,
        row_tiles=row_tiles,
        short_height=short,
        tall_tiles=tall,
        column_tiles=column_tiles,
        short_width=width,
        full_tiles=problem.n // width,
        k_block=depth,
        row_tiles_block=row_tiles_block,
        column_tiles_block=column_tiles_block,
        left_start=left_start,
        is_right_direct=int(right == "direct"),
        is_right_resident=int(is_streamed or is_kept),
    )
    if blocks:
        numbers |= {"b_row": 0, "b_column": 0}  # what packs it knows where blocks lie
    if panels:
        numbers["b_row"] = column_tiles * width * item  # of a panel's rows, as far as the blocks of k before it go
    read = {"left": kind, "panel": 0 if right == "direct" else width}
    how = {**read, "is_c_contiguous": problem.c[1] == 1, "is_fused": target.has_fma}
    functions = _tiles(partial(items.tile, problem.dtype, lanes, **how), numbers, vectors, lanes)
    if _is_packed(left):
        functions["left"] = items.packing(problem.dtype, lanes, left, height=max(heights) if left == "columns" else 0)
    if blocks:
        functions["right"] = block_packing(problem.dtype, lanes, blocks, vectors)
    elif _is_packed(right):
        functions["right"] = items.packing(problem.dtype, lanes, right, vectors=vectors)
    return Plan(Loops(), functions, numbers, items.batch_fields(problem), is_swapped, aligned(left_start + left_bytes))


def _is_packed(layout):
    """Whether the product packs an operand itself: neither is it read where it lies, nor was it packed before."""
    return layout not in ("direct", "panels")


def _tiles(tile, numbers, vectors, lanes):
    """The tiles that a product needs, by name; `tile` makes one."""
    short, tall, tiles = numbers["short_height"], numbers["tall_tiles"], numbers["row_tiles"]
    heights = {name: height for name, height, count in (("tall", short + 1, tall), ("short", short, tiles - tall)) if count}
    rest, found = numbers["n"] - numbers["full_tiles"] * vectors * lanes, {}
    for name, height in heights.items():
        if numbers["full_tiles"]:
            found[name] = tile(height=height, vectors=vectors, is_masked=False)
        if rest:
            found[f"{name}_tail"] = tile(height=height, vectors=ceil(rest / lanes), is_masked=rest % lanes != 0)
    return found
