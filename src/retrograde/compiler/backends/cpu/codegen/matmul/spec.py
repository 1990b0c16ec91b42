"""What functions of a product are generated from, and the numbers that they are handed at run time."""

from dataclasses import dataclass
from typing import NamedTuple

from .....target import ITEM_BYTES
from .. import emit
from ..quantized_blocks import BLOCKS
from ..vectors import InVectors
from . import integer_pairs, pairs

#: The functions whose addresses come before the numbers; 0 where a product has none.
FUNCTIONS = ("tall", "short", "tall_tail", "short_tail", "left", "right")
#: The numbers of a product; strides are in bytes.
FIELDS = (
    "m", "n", "k",
    "a_row", "a_column", "b_row", "b_column", "c_row", "c_column",
    "row_tiles", "short_height", "tall_tiles", "column_tiles", "short_width", "wide_tiles", "full_tiles",
    "k_block", "row_tiles_block", "column_tiles_block", "left_start", "is_right_direct", "is_right_resident", "item",
    "grid_batch", "grid_rows", "grid_columns", "batch", "rank",
)  # fmt: skip
#: The numbers of each dimension of a batch, the innermost first.
BATCH_FIELDS = ("size", "a", "b", "c")
_PLACES = {name: place for place, name in enumerate((*FUNCTIONS, *FIELDS))}


class Descriptor:
    """Reads the numbers of a product from memory, each where a function begins."""

    def __init__(self, builder, pointer):
        self._builder, self._pointer = builder, pointer

    def __getattr__(self, name):
        if name not in _PLACES:
            raise AttributeError(name)
        # In the first block, which comes before all others: each number is loaded once, however often and wherever it is asked
        # for.
        with self._builder.goto_entry_block():
            number = self.word(_PLACES[name])
        setattr(self, name, number)
        return number

    def function(self, name):
        """The address of one of the functions, as a number."""
        return self.word(_PLACES[name])

    def dimension(self, number):
        """Size and strides of one dimension of the batch, counted from the innermost."""
        start = self._builder.mul(number, emit.I64(len(BATCH_FIELDS)))
        return [self.word(self._builder.add(start, emit.I64(len(_PLACES) + i))) for i in range(len(BATCH_FIELDS))]

    def word(self, place):
        """The number at `place`."""
        return self._builder.load(emit.address(self._builder, self._pointer, place, emit.I64), typ=emit.I64)


class Loops(NamedTuple):
    """The loops around register tiles, the same code for all products that are made of tiles: see `product`."""


@dataclass(eq=False, repr=False)
class Tile(InVectors):
    """A register tile of `height` rows by `vectors`: see `tiles`.

    left   how A is read: "rows" that are contiguous, contiguous "columns", packed "panels" as high as the tile, or "any"
    panel  columns of a packed panel of B, 0 where B is read where it lies
    """

    dtype: str
    lanes: int
    height: int
    vectors: int
    is_masked: bool  # C ends within the last vector
    left: str
    panel: int
    is_c_contiguous: bool
    is_fused: bool

    #: Adds products in another way than one by one, if there is one.
    add_products = None

    def added(self, b, x, y):
        """The sum of two vectors of sums."""
        return b.fadd(x, y)

    @property
    def item_bytes(self):
        """Bytes of one number."""
        return ITEM_BYTES[self.dtype]


class PairTile(Tile):
    """A tile whose steps each take two numbers of bfloat16 of k, which lie where one of float32 would: see `pairs`."""

    @property
    def add_products(self):
        """How products are added."""
        return pairs.products_added


class IntegerPairTile(Tile):
    """A tile whose steps each take two integers of 16 bits of k, and whose sums are integers: see `integer_pairs`."""

    @property
    def add_products(self):
        """How products are added."""
        return integer_pairs.products_added

    def added(self, b, x, y):
        return integer_pairs.added(b, x, y)


@dataclass(eq=False, repr=False)
class Packing(InVectors):
    """What packs a block of A, whole rows or panels `height` high, or of B, panels so many `vectors` wide: see `packing`."""

    dtype: str
    lanes: int
    layout: str  # of A "rows", "columns" or "gather", of B "copy", "transpose" or "gather"
    height: int = 0
    vectors: int = 0

    #: Whether the two numbers of a pair lie apart in the operand: see `pairs`.
    has_pairs = False

    @property
    def is_right(self):
        """Whether it packs B."""
        return self.vectors > 0

    @property
    def width(self):
        """Columns of a panel of B."""
        return self.vectors * self.lanes


class PairPacking(Packing):
    """What packs a block of bfloat16 whose neighbours along k do not lie side by side: it makes pairs of them."""

    has_pairs = True


class Blocks(NamedTuple):
    """Weights in blocks of a quantised `format`, which lie along k or across it; see `quantized.plan` for the others."""

    format: str
    lanes: int
    is_fused: bool
    has_halves: bool
    has_tables: bool
    is_along_k: bool

    @property
    def size(self):
        """How many numbers a block has."""
        return BLOCKS[self.format].size


@dataclass(eq=False, repr=False)
class BlockPacking(Packing):
    """What packs a block of B of the numbers of quantised weights: see `unpacking`."""

    blocks: Blocks | None = None


@dataclass(eq=False, repr=False)
class Dots(InVectors):
    """A product made of dot products: see `dots`. Tiles have `heights` rows and `widths` columns."""

    dtype: str
    lanes: int
    heights: tuple
    widths: tuple
    is_b_packed: bool
    is_fused: bool
    is_far: bool  # B is in no cache that is near: columns of the next tile are asked for


@dataclass(eq=False, repr=False)
class Stream(InVectors):
    """One row times a matrix that no cache holds: see `stream`. Tiles are so many `vectors` wide, the last one `tail`, if any."""

    dtype: str
    lanes: int
    vectors: int
    tail: int
    is_tail_masked: bool
    has_full: bool
    is_fused: bool

    @property
    def width(self):
        """Columns of a full tile."""
        return self.vectors * self.lanes
