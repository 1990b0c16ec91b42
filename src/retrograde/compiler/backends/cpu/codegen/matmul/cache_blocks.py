"""Which cache blocks: how many rows of B, and how many tiles, are computed on while a cache holds them."""

from math import ceil

#: A block of k is not cut to fewer rows than these so that the second cache holds it.
_FEWEST_ROWS = 96
#: Rows of such a block that are worth one pass more over C.
_KEPT_ROWS = 256


def k_block(target, problem, width, row_tiles, item, *, is_streamed=False, blocks=None):
    """Rows of B whose panel, of so many columns, fills most of the first cache, or an eighth of the second, if a block of B stays
    there while rows of A go by; evened out over k, and where weights lie in `blocks` along k, whole ones.
    """
    rows = _rows_of_panel(target, problem, width, row_tiles, item, is_streamed)
    return ceil(rows / blocks.size) * blocks.size if blocks is not None and blocks.is_along_k else rows


def _rows_of_panel(target, problem, width, row_tiles, item, is_streamed):
    if row_tiles <= 1:
        # Nothing is used twice: a few rows at a time are read from end to end, as memory likes it.
        return 8 if problem.b[1] == 1 and problem.m <= 4 and is_large(target, problem, item) else max(problem.k, 1)
    kept = kept_rows(target, problem, item)
    # Not fewer than 64, however small the cache: each block of k reads and writes all of C once more.
    room = target.second_cache / 8 if is_streamed else target.first_cache * 0.75
    largest = max(int(room) // (width * item), 64)
    count = ceil(problem.k / (largest if kept is None else min(largest, kept)))
    return max(8, ceil(ceil(problem.k / max(count, 1)) / 8) * 8)


def kept_rows(target, problem, item):
    """Rows of a block of k of which the second cache keeps all columns of B, where that pays; else None."""
    if problem.b[1] != 1:
        return None
    cache = target.second_cache
    right = int(cache * 0.4) // (max(problem.n, 1) * item)
    if problem.a[0] == 1:
        # Sums over the rows of both operands, as gradients of weights are: rows of both, if there is room for a fair number of
        # them, for those that follow, and for C, which goes by.
        both = cache // 4 // (max(problem.m + problem.n, 1) * item)
        rows = both if both >= _FEWEST_ROWS else right
        return rows if rows >= _FEWEST_ROWS else None
    # Of others the number of rows is not to say in which order numbers are added. A few columns of a large B lie far apart.
    return _KEPT_ROWS if is_large(target, problem, item) and right >= _KEPT_ROWS else None


def is_large(target, problem, item):
    """Whether the second cache does not hold B, with room for others."""
    return problem.k * problem.n * item > target.second_cache // 2


def row_tiles_of_block(target, count, tile_bytes, right_bytes=None):
    """How many of `count` row tiles are one block, whose part of A has so many bytes a tile, beside a block of B of so many
    `right_bytes` if that stays in the second cache.
    """
    # Half of the second cache for both, or a quarter for A, since what is read of B and of C goes through it as well.
    room = target.second_cache // 4 if right_bytes is None else target.second_cache // 2 - right_bytes
    return even_block(count, room // tile_bytes)


def column_tiles_of_block(target, count, tile_bytes, left_bytes, *, is_streamed):
    """How many of `count` column tiles are one block, whose part of B has so many bytes a tile, with an A of `left_bytes`."""
    if is_streamed:
        # The block that follows arrives beside the one that is read, and nothing hides the first one. An A that the second cache
        # holds is soon gone over for each block; the larger it is, the fewer blocks there are to be.
        share = 6 if left_bytes <= target.second_cache else 4 if left_bytes <= 2 * target.second_cache else 2
        room = target.second_cache // share
    else:
        # The third cache is shared by all cores, and by other processes.
        room = min(target.third_cache // 8, 4 * 1024 * 1024)
    return even_block(count, room // tile_bytes)


def even_block(total, largest):
    """The block size that cuts `total` in equal blocks of at most `largest`, which counts as 1 if it is less."""
    return max(1, ceil(total / max(1, ceil(total / max(1, largest)))))
