"""Which register tile: the one that spends the fewest cycles on a result."""

from functools import lru_cache
from math import ceil

from ..... import cost


def tile_size(target, lanes, m, n, widest=None):
    """Rows and vectors of the tile that spends the fewest cycles on an m×n result, in multiply-adds and loads; its columns are a
    part of `widest`, if that is given.
    """
    sizes = _tile_sizes(target.registers)
    if widest is not None:
        sizes = tuple([size for size in sizes if widest % (size[1] * lanes) == 0])
    # Another tile than the preferred one has to be clearly better, so that most problems share their code.
    return min(sizes, key=lambda tile: _tile_cost(tile, lanes, m, n) * (1 if tile == sizes[0] else 1.03))


def even_tiles(total, largest):
    """Number of tiles, their sizes, the smaller size, and how many are larger by one: no tile is left nearly empty."""
    count = ceil(total / largest)
    if not count:
        return 0, (1,), 1, 0
    short, tall = divmod(total, count)
    return count, ((short + 1, short) if tall else (short,)), short, tall


@lru_cache
def _tile_sizes(registers):
    """Tiles that fit the registers with their vectors of B and a broadcast of A, preferred ones first."""
    preferred = (6, 2) if registers <= 16 else (12, 2)
    fitting = [(r, v) for v in range(1, 9) for r in range(1, 15) if r * v + v + 1 <= registers]
    # One row by eight vectors, for the product of a vector: it needs one register for A and reads B as it goes.
    return (preferred, *fitting, (1, 8))


def _tile_cost(tile, lanes, m, n):
    row_tiles, _, short, tall = even_tiles(m, tile[0])
    full, rest = divmod(n, tile[1] * lanes)
    cycles = 0
    for height, count in ((short + 1, tall), (short, row_tiles - tall)):
        cycles += count * (full * _cycles(height, tile[1]) + (rest > 0) * _cycles(height, ceil(rest / lanes)))
    return cycles


def _cycles(height, vectors):
    return cost.step_cycles(height, vectors, height + vectors)
