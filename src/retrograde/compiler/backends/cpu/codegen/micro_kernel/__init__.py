"""The micro-kernel: a register tile with its inner loop, which products of matrices, attention, linear algebra and convolutions
share. See `tile` for the sums, `loaders` for how operands are read, `epilogue` for what is done with the sums.
"""

from .epilogue import added_chains, lane_sum, lane_sums, loaded_if, store
from .functions import Functions, each_height
from .loaders import Ahead, Blocks, Lines, Paces, Panels, Rows, Table, Walk, asking, broadcast, contiguous, from_registers, minus
from .tile import Tile, unrolled

__all__ = [
    "Ahead",
    "Blocks",
    "Functions",
    "Lines",
    "Paces",
    "Panels",
    "Rows",
    "Table",
    "Tile",
    "Walk",
    "added_chains",
    "asking",
    "broadcast",
    "contiguous",
    "each_height",
    "from_registers",
    "lane_sum",
    "lane_sums",
    "loaded_if",
    "minus",
    "store",
    "unrolled",
]
