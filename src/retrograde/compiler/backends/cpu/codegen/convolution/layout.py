"""The layout of a correlation in scratch memory: how images are laid out with their borders, in bands of rows, and how the
work is cut in tiles.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

from ..... import cost
from .....target import ITEM_BYTES
from ..vectors import InVectors, odd_lines
from .shape import Correlation


@dataclass(eq=False, repr=False)
class Layout(InVectors):
    """A correlation with its bands and tiles; all that its code depends on but the strides of what it reads.

    bands     the result is computed in bands of rows, `tall` ones of `band_rows + 1` rows and then others of `band_rows`
    rows      the greatest number of output channels that a tile holds, `vectors` the vectors of pixels of each
    """

    correlation: Correlation
    dtype: str
    lanes: int
    is_fused: bool
    bands: int
    band_rows: int
    tall: int
    rows: int
    vectors: int

    @property
    def highest(self):
        """Rows of the highest band."""
        return self.band_rows + (self.tall > 0)

    @cached_property
    def pitch(self):
        """Numbers from one row of a plane to the next: the zeros after a row are those before the next one, where both are."""
        width = self.correlation.count[1] + self.correlation.reach[1]
        shared = []
        for plane in self.correlation.planes:
            first, end = inside(plane.columns, self.correlation.image[1], width)
            # Only as many zeros can serve both rows as each of them has.
            shared.append(min(first, width - end))
        return max(width - min(shared), self.correlation.count[1])

    @cached_property
    def plane(self):
        """Numbers from one plane to the next: an odd number of cache lines, since planes are read side by side."""
        rows = self.highest + self.correlation.reach[0]
        # Tiles run on past the last row by up to a tile's width, and must find memory of the plane there.
        return odd_lines(rows * self.pitch + self.correlation.reach[1] + self.vectors * self.lanes, self.dtype)

    @property
    def channel(self):
        """Numbers from one channel to the next."""
        return self.plane * len(self.correlation.planes)

    def offset(self, tap):
        """How far a tap is from the result's place in the first plane."""
        return tap.plane * self.plane + tap.row * self.pitch + tap.column

    def flat(self, grid, rows):
        """How many places there are from the first result of a grid to the last one, in `rows` rows."""
        return (rows - 1) * self.pitch + grid.columns[2]

    @property
    def item_bytes(self):
        """Bytes of one number."""
        return ITEM_BYTES[self.dtype]


def inside(places, size, count):
    """First and end of the numbers n below `count` for which `places[0] + places[1] * n` is below `size` and not negative."""
    first, step = places
    start = min(max(-(first // step), 0), count)
    return start, max(min(-((first - size) // step), count), start)


def banded(correlation, target, dtype, least=1):
    """(bands, rows of a short one, how many have one more) for a correlation, `least` being the fewest bands."""
    rows, columns = correlation.count
    reach = correlation.reach[0]
    line = (columns + correlation.reach[1]) * correlation.inputs * len(correlation.planes) * ITEM_BYTES[dtype]
    # The band's part of all input channels is met by each row of tiles: it had better stay in the second cache.
    by_cache = target.second_cache // 2 // max(line, 1) - reach
    by_size = ceil(cost.BAND / (columns + correlation.reach[1]))
    # Neighbouring bands lay out the rows within reach twice: a band has at least twice as many, so that it does not do most
    # things twice.
    wanted = max(1, min(max(by_cache, reach, 1), max(by_size, 2 * reach, 4)))
    bands = min(max(ceil(rows / wanted), least), rows)
    short, tall = divmod(rows, bands)
    return bands, short, tall


def tile_size(target, lanes, count, width, most=8):
    """(rows, vectors) of the tile that spends the fewest cycles on `count` rows of `width` numbers.

    Each step loads vectors that lie across cache lines and one number for each row.
    """
    vectors = ceil(width / lanes)
    # In registers: the sums, a vector for each column, and one number of the left at a time.
    sizes = [(r, v) for v in range(1, most + 1) for r in range(1, 17) if r * v + v + 1 <= target.registers]
    # Of equal ones the largest tile: more products for each number that is read.
    return min(sizes, key=lambda size: (_cycles(size, count, vectors, lanes), -size[0] * size[1]))


def _cycles(size, count, vectors, lanes):
    rows, width = size
    full, rest = divmod(vectors, width)
    total = 0.0
    for height, tiles in heights(count, rows):
        total += tiles * (full * _step(height, width, lanes) + (rest > 0) * _step(height, rest, lanes))
    return total


def _step(height, vectors, lanes):
    # Of a line's places for a vector nearly half make it lie across the end, which is two loads.
    loads = height + vectors * (1 + (lanes - 1) / (2 * lanes))
    return cost.step_cycles(height, vectors, loads)


def heights(count, largest):
    """`count` rows as (height, how many tiles), the higher ones first; no tile is left nearly empty."""
    # 9 rows in tiles of 8 are 5 and 4, not 8 and 1: a tile of one row waits for its own sums.
    tiles = ceil(count / largest)
    short, tall = divmod(count, tiles)
    return [(h, n) for h, n in ((short + 1, tall), (short, tiles - tall)) if n]


def layout_of(correlation, target, dtype, least=1):
    """The layout of a correlation on a machine."""
    bands, short, tall = banded(correlation, target, dtype, least)
    lanes = target.lanes(dtype)
    width = (short + (tall > 0)) * (correlation.count[1] + correlation.reach[1] // 2)
    rows, vectors = tile_size(target, lanes, correlation.outputs, width)
    return Layout(correlation, dtype, lanes, target.has_fma, bands, short, tall, rows, vectors)
