"""Which kernel, which tile, which layouts and which blocks for which problem on which machine."""

from functools import lru_cache, partial
from math import ceil
from typing import NamedTuple

from ..... import cost
from .....target import ITEM_BYTES
from .plan import Plan, aligned
from .spec import BlockPacking, Dots, Loops, Packing, PairPacking, PairTile, Stream, Tile

#: A product with fewer rows, columns or steps is had as float32.
_FEWEST_PAIRED = 16


def choose(target, problem):
    """The plan of a problem."""
    problem = problem.normal()
    for plan, fits in ((_dots, _fits_dots), (_stream, _fits_stream), (_tiled, _fits_narrow)):
        # C = A B is Cᵀ = Bᵀ Aᵀ: what fits the one way round may fit the other.
        for is_swapped, candidate in ((False, problem), (True, problem.swapped())):
            if fits(target, candidate):
                return plan(target, candidate, is_swapped)
    # Vectors run along columns of C, so these should be contiguous.
    is_swapped = problem.c[1] != 1 and problem.c[0] == 1
    return _tiled(target, problem.swapped() if is_swapped else problem, is_swapped)


def choose_blocks(target, problem, blocks):
    """The plan of a product whose second operand is in `blocks` of quantised weights, of which panels of numbers are packed."""
    return _tiled(target, problem.normal(), False, blocks=blocks)


def choose_panels(target, problem, counts, blocks=None):
    """How to compute a product some rows at a time: the plan that packs all of B in panels, in the place of C, and for each of
    `counts` the plan of so many rows, which reads these panels. B may be in `blocks` of quantised weights.
    """
    problem = problem.normal()
    lanes, item = target.lanes(problem.dtype), ITEM_BYTES[problem.dtype]
    rows, vectors = tile_size(target, lanes, max(counts), problem.n, _widest(blocks))
    panels = Panels(rows, vectors, _in_blocks(_k_block(target, problem, vectors * lanes, 2, item), blocks))
    plans = [_tiled(target, problem._replace(m=m), False, panels) for m in counts]
    packing = {"right": _right_packing(problem, lanes, _packed(problem), vectors, blocks)}
    strides = dict(zip(("b_row", "b_column"), [x * item for x in problem.b], strict=True))
    numbers = {**plans[0].numbers, **strides, "m": 1, "row_tiles": 1}
    return Plan(Loops(), packing, numbers, (), False, 0), plans


def choose_pairs(target, problem):
    """The plan of a product of bfloat16 by the instruction for pairs, None where there is none or another one of float32 is better.
    The strides of operands are in numbers of theirs, those of the result in float32.
    """
    problem = problem.normal()
    if not target.has_bfloat16 or problem.k % 2 or min(problem.m, problem.n, problem.k) < _FEWEST_PAIRED or problem.c[1] != 1:
        return None
    # Half of k, in items of four bytes: a step over a pair goes over two numbers.
    return _tiled(target, problem._replace(k=problem.k // 2), False, pairs=True)


class Panels(NamedTuple):
    """All of B, packed once for tiles of `rows` by `vectors`, `k_block` rows of it after the other."""

    rows: int
    vectors: int
    k_block: int


def _fits_dots(target, problem):
    """Rows of A contiguous, and a result so narrow that sums of lanes cost less than idle lanes or packing."""
    lanes = target.lanes(problem.dtype)
    if problem.a[1] != 1 or problem.k < 4 * lanes:
        return False
    if problem.b[0] == 1:
        return problem.n <= lanes // 2 or (problem.m <= 8 and problem.k >= 8 * lanes)
    return problem.n <= lanes // 2 and problem.m >= 8


def _dots(target, problem, is_swapped):
    """Groups of rows of A by groups of columns of B, vectors along k."""
    # Sums in registers, which leaves some for rows of A and columns of B.
    budget = 12 if target.registers <= 16 else 24
    column_tiles, widths, short_width, wide = _even_tiles(problem.n, 4)
    row_tiles, heights, short, tall = _even_tiles(problem.m, max(1, min(8, budget // max(widths))))
    is_b_packed = problem.b[0] != 1 or problem.n == 0
    numbers = _numbers(
        problem,
        row_tiles=row_tiles,
        short_height=short,
        tall_tiles=tall,
        column_tiles=column_tiles,
        short_width=short_width,
        wide_tiles=wide,
        k_block=max(1, problem.k),
        row_tiles_block=max(1, row_tiles),
        column_tiles_block=max(1, column_tiles),
    )
    spec = Dots(problem.dtype, target.lanes(problem.dtype), heights, widths, is_b_packed, target.has_fma)
    room = column_tiles * problem.k * max(widths) * numbers["item"] if is_b_packed else 0
    return Plan(spec, {}, numbers, _batch(problem), is_swapped, aligned(room))


def _fits_stream(target, problem):
    """One row, and a matrix of contiguous rows that the second cache does not hold."""
    is_large = problem.k * problem.n * ITEM_BYTES[problem.dtype] > target.second_cache // 2
    is_laid_out = problem.b[1] == 1 and problem.c[1] == 1 and problem.n >= 8 * target.lanes(problem.dtype)
    can_mask = target.has_masks or problem.n % target.lanes(problem.dtype) == 0
    return problem.m == 1 and is_large and is_laid_out and can_mask


def _stream(target, problem, is_swapped):
    """Column tiles of two vectors, as many in a block as keep the row of C in the first cache."""
    lanes = target.lanes(problem.dtype)
    column_tiles, rest = ceil(problem.n / (2 * lanes)), problem.n % (2 * lanes)
    numbers = _numbers(
        problem,
        row_tiles=1,
        short_height=1,
        tall_tiles=0,
        column_tiles=column_tiles,
        short_width=2 * lanes,
        k_block=max(1, problem.k),
        row_tiles_block=1,
        column_tiles_block=_even(column_tiles, target.first_cache // 2 // (2 * target.vector_bytes)),
    )
    has_full = column_tiles > (1 if rest else 0)
    spec = Stream(problem.dtype, lanes, 2, ceil(rest / lanes), rest % lanes != 0, has_full, target.has_fma)
    return Plan(spec, {}, numbers, _batch(problem), is_swapped, 0)


def _fits_narrow(_, problem):
    """A short wide result of contiguous rows of B, stored wherever C wants it."""
    return problem.b[1] == 1 and problem.m <= 2 and problem.n > 2 * problem.m


def _widest(blocks):
    """A number of columns of which tiles are a part: of blocks that lie across k none has columns of two tiles, and no tile ends
    within one.
    """
    return None if blocks is None or blocks.is_along_k else blocks.size


def _in_blocks(k_block, blocks):
    """Rows of B that are packed together, whole blocks where they lie along k."""
    return k_block if blocks is None or not blocks.is_along_k else ceil(k_block / blocks.size) * blocks.size


def _right_packing(problem, lanes, layout, vectors, blocks):
    """What packs B."""
    if blocks is None:
        return Packing(problem.dtype, lanes, layout, vectors=vectors)
    layout = "blocks along k" if blocks.is_along_k else "blocks across k"
    return BlockPacking(problem.dtype, lanes, layout, vectors=vectors, blocks=blocks)


def _tiled(target, problem, is_swapped, panels=None, pairs=False, blocks=None):
    """Register tiles of rows by vectors, with packed panels and cache blocks where they pay; with `panels` B is packed before, with
    `pairs` an item is a pair of numbers of bfloat16, and with `blocks` B is in those.
    """
    item, lanes = ITEM_BYTES[problem.dtype], target.lanes(problem.dtype)
    rows, vectors = (panels.rows, panels.vectors) if panels else tile_size(target, lanes, problem.m, problem.n, _widest(blocks))
    width = vectors * lanes
    row_tiles, heights, short, tall = _even_tiles(problem.m, rows)
    column_tiles, rest = ceil(problem.n / width), problem.n % width
    k_block = panels.k_block if panels else _in_blocks(_k_block(target, problem, width, row_tiles, item), blocks)
    left, kind = _left_layout(target, problem, column_tiles, item)
    right = "panels" if panels else _right_layout(target, problem, row_tiles, rest % lanes, item)
    if pairs:
        # What tiles read where it lies, and what is copied as it is, has pairs side by side.
        left, kind = _LEFT_PAIRS[kind] if left == "direct" and kind != "rows" else (left, kind)
        right = _packed(problem)
    if blocks:
        right = "blocks"
    # A quarter of the second cache for A, since what is read of B and of C goes through it as well.
    row_block = max(1, int(target.second_cache * 0.25) // (k_block * item * rows))
    # The third cache is shared by all cores, and by other processes.
    column_block = max(1, min(target.third_cache // 8, 4 * 1024 * 1024) // (k_block * item * width))
    row_tiles_block = _even(row_tiles, row_block)
    column_tiles_block = column_tiles if panels else _even(column_tiles, column_block)
    left_start = column_tiles_block * k_block * width * item if right not in ("direct", "panels") else 0
    left_bytes = (row_tiles_block * rows * k_block + 4 * lanes) * item if left != "direct" else 0
    numbers = (_numbers_of_pairs if pairs else _numbers)(
        problem,
        row_tiles=row_tiles,
        short_height=short,
        tall_tiles=tall,
        column_tiles=column_tiles,
        short_width=width,
        full_tiles=problem.n // width,
        k_block=k_block,
        row_tiles_block=row_tiles_block,
        column_tiles_block=column_tiles_block,
        left_start=left_start,
        is_right_direct=int(right == "direct"),
    )
    if panels:
        numbers["b_row"] = column_tiles * width * item  # of a panel's rows, as far as the blocks of k before it go
    panel = 0 if right == "direct" else width
    how = {"left": kind, "panel": panel, "is_c_contiguous": problem.c[1] == 1, "is_fused": target.has_fma}
    tile = partial(PairTile if pairs else Tile, problem.dtype, lanes, **how)
    functions = _tiles(tile, numbers, vectors, lanes)
    if left != "direct":
        spec = PairPacking if pairs and left != "rows" else Packing
        functions["left"] = spec(problem.dtype, lanes, left, height=max(heights) if left == "columns" else 0)
    if right not in ("direct", "panels"):
        functions["right"] = _right_packing(problem, lanes, right, vectors, blocks)
        if pairs and right != "transpose":
            functions["right"] = PairPacking(problem.dtype, lanes, right, vectors=vectors)
    batch = _batch_of_pairs(problem) if pairs else _batch(problem)
    return Plan(Loops(), functions, numbers, batch, is_swapped, aligned(left_start + left_bytes))


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


def _numbers(problem, **parts):
    """The run-time numbers of a problem, by field."""
    names, item = ("a_row", "a_column", "b_row", "b_column", "c_row", "c_column"), ITEM_BYTES[problem.dtype]
    strides = dict(zip(names, [x * item for x in problem.a + problem.b + problem.c], strict=True))
    sizes = {"m": problem.m, "n": problem.n, "k": problem.k, "batch": problem.batch_size, "rank": len(problem.batch), "item": item}
    return {**_NONE, **sizes, **strides, **parts}


def _numbers_of_pairs(problem, **parts):
    """As `_numbers`: an operand goes on by two bytes from number to number, and along k by two numbers."""
    item = ITEM_BYTES[problem.dtype]
    (a_row, a_column), (b_row, b_column) = problem.a, problem.b
    strides = {"a_row": a_row * item // 2, "a_column": a_column * item, "b_row": b_row * item, "b_column": b_column * item // 2}
    return {**_numbers(problem, **parts), **strides}


def _batch_of_pairs(problem):
    item = ITEM_BYTES[problem.dtype]
    return tuple((size, a * item // 2, b * item // 2, c * item) for size, a, b, c in problem.batch)


#: How A is packed, and then found by tiles, where its pairs do not lie side by side.
_LEFT_PAIRS = {"columns": ("columns", "panels"), "any": ("gather", "rows")}
#: Numbers that only some kinds of product have.
_NONE = dict.fromkeys(("wide_tiles", "full_tiles", "left_start", "is_right_direct"), 0)


def _batch(problem):
    """The dimensions of a batch, with steps in bytes."""
    item = ITEM_BYTES[problem.dtype]
    return tuple((size, *[step * item for step in steps]) for size, *steps in problem.batch)


def tile_size(target, lanes, m, n, widest=None):
    """Rows and vectors of the tile that spends the fewest cycles on an m×n result, in multiply-adds and loads; its columns are a
    part of `widest`, if that is given.
    """
    sizes = _tile_sizes(target.registers)
    if widest is not None:
        sizes = tuple([size for size in sizes if widest % (size[1] * lanes) == 0])
    # Another tile than the preferred one has to be clearly better, so that most problems share their code.
    return min(sizes, key=lambda tile: _tile_cost(tile, lanes, m, n) * (1 if tile == sizes[0] else 1.03))


@lru_cache
def _tile_sizes(registers):
    """Tiles that fit the registers with their vectors of B and a broadcast of A, preferred ones first."""
    preferred = (6, 2) if registers <= 16 else (12, 2)
    fitting = [(r, v) for v in range(1, 9) for r in range(1, 15) if r * v + v + 1 <= registers]
    # One row by eight vectors, for the product of a vector: it needs one register for A and reads B as it goes.
    return (preferred, *fitting, (1, 8))


def _tile_cost(tile, lanes, m, n):
    row_tiles, _, short, tall = _even_tiles(m, tile[0])
    full, rest = divmod(n, tile[1] * lanes)
    cycles = 0
    for height, count in ((short + 1, tall), (short, row_tiles - tall)):
        cycles += count * (full * _cycles(height, tile[1]) + (rest > 0) * _cycles(height, ceil(rest / lanes)))
    return cycles


def _cycles(height, vectors):
    return cost.step_cycles(height, vectors, height + vectors)


def _even_tiles(total, largest):
    """Number of tiles, their sizes, the smaller size, and how many are larger by one: no tile is left nearly empty."""
    count = ceil(total / largest)
    if not count:
        return 0, (1,), 1, 0
    short, tall = divmod(total, count)
    return count, ((short + 1, short) if tall else (short,)), short, tall


def _k_block(target, problem, width, row_tiles, item):
    """Rows of B whose panel fills most of the first cache, evened out over k."""
    if row_tiles <= 1:
        # Nothing is used twice: a few rows at a time are read from end to end, as memory likes it.
        is_streamed = problem.b[1] == 1 and problem.m <= 4 and problem.k * problem.n * item > target.second_cache // 2
        return 8 if is_streamed else max(problem.k, 1)
    # Not fewer than 64, however small the cache: each block of k reads and writes all of C once more.
    largest = max(int(target.first_cache * 0.75) // (width * item), 64)
    blocks = ceil(problem.k / largest)
    return max(8, ceil(ceil(problem.k / max(blocks, 1)) / 8) * 8)


def _left_layout(target, problem, column_tiles, item):
    """How A is read, where it lies ("direct") or packed along whichever of its strides is one, and how tiles then find it."""
    row, column = problem.a
    kind = "rows" if column == 1 else "columns" if row == 1 else "any"
    # Rows that the second cache holds are broadcast from as well as a copy of them; columns are too far apart.
    room = target.second_cache if kind == "rows" else target.first_cache
    # A block of A is read once for each column tile: of few of them packing never pays.
    if column_tiles <= 4 or problem.m * problem.k * item <= room:
        return "direct", kind
    return {"rows": ("rows", "rows"), "columns": ("columns", "panels"), "any": ("gather", "rows")}[kind]


def _right_layout(target, problem, row_tiles, ragged, item):
    """How B is read: tiles need vectors along its rows."""
    if problem.b[1] == 1:
        can_mask = target.has_masks or not ragged
        is_small = problem.k * problem.n * item <= target.first_cache // 2
        # A panel is read once for each row tile; and what fits half of the first cache is there whatever its order.
        if can_mask and (row_tiles <= 2 or is_small):
            return "direct"
    return _packed(problem)


def _packed(problem):
    """How packing reads B."""
    row, column = problem.b
    return "copy" if column == 1 else "transpose" if row == 1 else "gather"


def _even(total, largest):
    """The block size that cuts `total` in equal blocks of at most `largest`."""
    return max(1, ceil(total / max(1, ceil(total / largest))))
