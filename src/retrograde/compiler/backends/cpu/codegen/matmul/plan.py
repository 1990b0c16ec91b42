"""How a problem is computed: by which code, with which numbers, and how its work is cut in chunks."""

from functools import lru_cache
from math import ceil
from typing import NamedTuple

from .....target import CACHE_LINE
from .spec import FIELDS, FUNCTIONS, Dots, Loops, Stream


class Plan(NamedTuple):
    """The code of a product, and the numbers that one problem hands it.

    entry       the spec whose code is called
    functions   the specs of the functions that the loops around tiles call, by name
    is_swapped  whether A and B change places: the transposed product is computed
    """

    entry: Loops | Dots | Stream
    functions: dict
    numbers: dict
    batch: tuple
    is_swapped: bool
    workspace_bytes: int  # for each chunk that runs at the same time, aligned to 64

    @property
    def specs(self):
        """All specs whose code it needs."""
        return [self.entry, *self.functions.values()]

    @property
    def panel_bytes(self):
        """Bytes of all of B in panels, with room for the last store to write a vector too much."""
        numbers = self.numbers
        return (numbers["k"] * numbers["column_tiles"] + 1) * numbers["short_width"] * numbers["item"]

    def descriptor(self, count=1, address=lambda spec: spec):
        """The words that the entry reads when work is cut in `count` chunks, the first ones what `address` makes of the specs of
        the functions. The values of C do not depend on the count.
        """
        numbers = dict(self.numbers)
        numbers["grid_batch"], numbers["grid_rows"], numbers["grid_columns"] = self.grid(count)
        functions = [address(self.functions[name]) if name in self.functions else 0 for name in FUNCTIONS]
        batch = [word for dimension in reversed(self.batch) for word in dimension]
        return [*functions, *[numbers[name] for name in FIELDS], *batch]

    def grid(self, count):
        """How `count` chunks are laid over batches, row tiles and column tiles."""
        return min(_grids(count), key=self._chunk_cost)

    def _chunk_cost(self, grid):
        numbers = self.numbers
        batch = ceil(numbers["batch"] / grid[0])
        rows = ceil(numbers["row_tiles"] / grid[1]) * (numbers["short_height"] + (numbers["tall_tiles"] > 0))
        columns = ceil(numbers["column_tiles"] / grid[2]) * (numbers["short_width"] + (numbers["wide_tiles"] > 0))
        # Packing is paid again by each chunk that shares a row or column of the grid.
        return batch * (rows * columns + 4 * (rows + columns)), grid


@lru_cache(maxsize=256)
def _grids(count):
    divisors = [x for x in range(1, count + 1) if count % x == 0]
    return tuple((x, y, count // (x * y)) for x in divisors for y in divisors if count % (x * y) == 0)


def aligned(nbytes):
    """Bytes of memory whose end is aligned."""
    return ceil(nbytes / CACHE_LINE) * CACHE_LINE
