"""Which cache blocks: how many rows of B, and how many tiles, are computed on while a cache holds them."""

from math import ceil

#: A block of k is not cut to fewer rows than these so that the second cache holds it and the next one.
_FEWEST_ROWS = 96


def k_block(target, problem, width, row_tiles, item, *, is_resident=False, blocks=None):
    """Rows of B whose panel, of so many columns, fills most of the first cache, or an eighth of the second, if that is where a
    block of B stays; evened out over k, and where weights lie in `blocks` along k, whole ones.
    """
    rows = _rows_of_panel(target, problem, width, row_tiles, item, is_resident)
    return ceil(rows / blocks.size) * blocks.size if blocks is not None and blocks.is_along_k else rows


def _rows_of_panel(target, problem, width, row_tiles, item, is_resident):
    if row_tiles <= 1:
        # Nothing is used twice: a few rows at a time are read from end to end, as memory likes it.
        is_streamed = problem.b[1] == 1 and problem.m <= 4 and problem.k * problem.n * item > target.second_cache // 2
        return 8 if is_streamed else max(problem.k, 1)
    # Not fewer than 64, however small the cache: each block of k reads and writes all of C once more.
    room = target.second_cache / 8 if is_resident else target.first_cache * 0.75
    largest = max(int(room) // (width * item), 64)
    if problem.a[0] == problem.b[1] == 1:
        # Of sums over the rows of both, as gradients of weights are: where the second cache has room for the blocks that are read,
        # those that follow, and C, which goes by. Of others the number of rows is not to say in which order numbers are added.
        rows = target.second_cache // 4 // ((problem.m + problem.n) * item)
        largest = min(largest, rows) if rows >= _FEWEST_ROWS else largest
    count = ceil(problem.k / largest)
    return max(8, ceil(ceil(problem.k / max(count, 1)) / 8) * 8)


def row_tiles_of_block(target, count, tile_bytes):
    """How many of `count` row tiles are one block, whose part of A has so many bytes a tile."""
    # A quarter of the second cache for A, since what is read of B and of C goes through it as well.
    return even_block(count, int(target.second_cache * 0.25) // tile_bytes)


def column_tiles_of_block(target, count, tile_bytes, left_bytes, *, is_resident):
    """How many of `count` column tiles are one block, whose part of B has so many bytes a tile, with an A of `left_bytes`."""
    if is_resident:
        # The block that follows arrives beside the one that is read. An A that the second cache holds is soon gone over for each
        # block; of another one there are to be few blocks.
        room = target.second_cache // (6 if left_bytes <= target.second_cache else 2)
    else:
        # The third cache is shared by all cores, and by other processes.
        room = min(target.third_cache // 8, 4 * 1024 * 1024)
    return even_block(count, room // tile_bytes)


def even_block(total, largest):
    """The block size that cuts `total` in equal blocks of at most `largest`, which counts as 1 if it is less."""
    return max(1, ceil(total / max(1, ceil(total / max(1, largest)))))
