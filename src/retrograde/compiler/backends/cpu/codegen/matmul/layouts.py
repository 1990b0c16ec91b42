"""Which layouts: whether tiles read the operands where they lie, or from copies that are packed for them."""

from .spec import BlockPacking, Packing, PairPacking

#: Bytes of one way of a first cache, the same in nearly all processors: as many as a page has.
_WAY = 4096
#: How A is packed, and then found by tiles, where its pairs do not lie side by side.
_LEFT_PAIRS = {"columns": ("columns", "panels"), "any": ("gather", "rows")}


def left_layout(target, problem, column_tiles, item):
    """How A is read, where it lies ("direct") or packed along whichever of its strides is one, and how tiles then find it."""
    row, column = problem.a
    kind = "rows" if column == 1 else "columns" if row == 1 else "any"
    # Rows that the second cache holds are broadcast from as well as a copy of them; columns are too far apart.
    room = target.second_cache if kind == "rows" else target.first_cache
    # A block of A is read once for each column tile: of few of them packing never pays.
    if has_spread_rows(problem, item) or column_tiles <= 4 or problem.m * problem.k * item <= room:
        return "direct", kind
    return {"rows": ("rows", "rows"), "columns": ("columns", "panels"), "any": ("gather", "rows")}[kind]


def has_spread_rows(problem, item):
    """Whether A has contiguous rows that do not all begin at the same place of a way of the first cache: a tile broadcasts from
    these as well as from a copy, however many there are.
    """
    row, column = problem.a
    return column == 1 and row * item % _WAY != 0


def left_layout_of_pairs(target, problem, column_tiles, item):
    """As `left_layout`, of pairs, which must lie side by side: what is read where it lies, or copied as it is, has them so."""
    left, kind = left_layout(target, problem, column_tiles, item)
    return _LEFT_PAIRS[kind] if left == "direct" and kind != "rows" else (left, kind)


def right_layout(target, problem, row_tiles, ragged, item):
    """How B is read: tiles need vectors along its rows."""
    if problem.b[1] == 1:
        can_mask = target.has_masks or not ragged
        is_small = problem.k * problem.n * item <= target.first_cache // 2
        # A panel is read once for each row tile; and what fits half of the first cache is there whatever its order.
        if can_mask and (row_tiles <= 2 or is_small):
            return "direct"
    return packed_layout(problem)


def right_layout_of_pairs(_target, problem, _row_tiles, _ragged, _item):
    """As `right_layout`, of pairs, which tiles find in panels alone."""
    return packed_layout(problem)


def packed_layout(problem):
    """How packing reads B."""
    row, column = problem.b
    return "copy" if column == 1 else "transpose" if row == 1 else "gather"


def packing_of_pairs(dtype, lanes, layout, **size):
    """What packs pairs. Those of rows of A, and of columns of B, lie side by side, and are packed as numbers are."""
    return (Packing if layout in ("rows", "transpose") else PairPacking)(dtype, lanes, layout, **size)


def block_packing(dtype, lanes, blocks, vectors):
    """What packs B that is in `blocks` of quantised weights."""
    layout = "blocks along k" if blocks.is_along_k else "blocks across k"
    return BlockPacking(dtype, lanes, layout, vectors=vectors, blocks=blocks)


def widest_tile(blocks):
    """A number of columns of which tiles are a part: of blocks that lie across k none has columns of two tiles, and no tile ends
    within one.
    """
    return None if blocks is None or blocks.is_along_k else blocks.size
