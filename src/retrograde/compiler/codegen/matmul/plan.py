"""A kernel together with the numbers of one problem, and how its work is cut in chunks."""

from functools import lru_cache
from math import ceil
from typing import NamedTuple

from .emit import item_bytes
from .spec import FIELDS, Spec

_ALIGN = 64


class Plan(NamedTuple):
    """A kernel with the numbers that one problem hands it."""

    spec: Spec
    numbers: dict
    batch: tuple
    workspace_bytes: int  # for each chunk that runs at the same time, aligned to 64

    @property
    def chunks(self):
        """The largest number of chunks that can all have something to do."""
        return max(1, self.numbers["batch"] * self.numbers["row_tiles"] * self.numbers["column_tiles"])

    @property
    def panel_bytes(self):
        """Bytes of all of B in panels, with room for the last store to write a vector too much."""
        numbers, spec = self.numbers, self.spec
        return (numbers["k"] * numbers["column_tiles"] * spec.width + spec.lanes) * item_bytes(spec.item)

    @property
    def column_sum_shape(self):
        """Shape of the array that `Hooks.column_sums` fills."""
        return self.numbers["batch"], self.numbers["row_tiles"], self.numbers["n"]

    def descriptor(self, count=1):
        """The words that the entry reads when work is cut in `count` chunks; the values of C do not depend on it."""
        numbers = dict(self.numbers)
        numbers["grid_batch"], numbers["grid_rows"], numbers["grid_columns"] = self.grid(count)
        return [numbers[name] for name in FIELDS] + [word for dimension in self.batch for word in dimension]

    def grid(self, count):
        """How `count` chunks are laid over batches, row tiles and column tiles."""
        return min(_grids(count), key=self._chunk_cost)

    def _chunk_cost(self, grid):
        numbers, spec = self.numbers, self.spec
        batch = ceil(numbers["batch"] / grid[0])
        rows = ceil(numbers["row_tiles"] / grid[1]) * max(spec.heights)
        columns = ceil(numbers["column_tiles"] / grid[2]) * max(spec.widths)
        # Packing is paid again by each chunk that shares a row or column of the grid.
        return batch * (rows * columns + 4 * (rows + columns)), grid


@lru_cache(maxsize=256)
def _grids(count):
    divisors = [x for x in range(1, count + 1) if count % x == 0]
    return tuple((x, y, count // (x * y)) for x in divisors for y in divisors if count % (x * y) == 0)


def workspace_bytes(spec, numbers):
    """Bytes of packed panels, with room for the last store of a panel to write a vector too much."""
    size, item = 0, item_bytes(spec.item)
    if spec.b_layout not in ("direct", "panels"):
        size += numbers["column_tiles_block"] * numbers["k_block"] * max(spec.widths) * item
    if spec.a_layout != "direct":
        size += numbers["row_tiles_block"] * spec.rows * numbers["k_block"] * item + 4 * spec.lanes * item
    return ceil(size / _ALIGN) * _ALIGN
