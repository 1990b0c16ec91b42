"""What the code of attention depends on: sizes, steps of arrays, and how the work is cut in tiles and blocks."""

from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from ..... import cost
from .....target import ITEM_BYTES
from .. import ir
from ..vectors import InVectors, odd_lines


class Operand(NamedTuple):
    """The steps of an array in elements: of its leading axes, of its rows and of its columns."""

    batch: tuple
    row: int
    column: int


class Sizes(NamedTuple):
    """Leading axes, queries and keys, None where their numbers are operands, and the lengths of a query and of a value."""

    batch: tuple
    queries: int
    keys: int
    depth: int
    width: int


@dataclass(eq=False, repr=False)
class Attending(InVectors):
    """Attention over arrays that lie in memory in any way.

    rows, vectors   the tile in registers
    mask            None where there is none; of booleans, or of numbers that are added
    """

    dtype: str
    lanes: int
    vectors: int
    rows: int
    is_fused: bool
    first_cache: int
    sizes: Sizes
    query: Operand
    key: Operand
    value: Operand
    mask: Operand | None
    has_booleans: bool
    is_causal: bool
    scale: float

    @property
    def mask_item(self):
        """The LLVM type of one element of the mask."""
        return ir.IntType(8) if self.has_booleans else self.item

    @property
    def tile(self):
        """How many queries or keys lie side by side in a tile."""
        return self.lanes * self.vectors

    @property
    def fitting_keys(self):
        """So many keys and their values half fill the first cache."""
        # The other half is for weights and the tile of queries.
        fitting = self.first_cache // (2 * ITEM_BYTES[self.dtype] * (self.sizes.depth + self.sizes.width))
        return min(max(fitting, cost.FEWEST_KEYS), 2 * cost.QUERIES)

    @property
    def key_block(self):
        """Keys of a block, in whole tiles."""
        wanted = min(self.fitting_keys, self.sizes.keys)
        # Where all keys fit, one block has all of them, rounded up; else whole tiles, so that only the last block has one that
        # is cut.
        return max(1, wanted // self.tile) * self.tile if wanted < self.sizes.keys else ceil(wanted / self.tile) * self.tile


@dataclass(eq=False, repr=False)
class Forward(Attending):
    """The forward pass, tile by tile of queries: where the `result` is, whose numbers follow each other, and whether the sums of
    exponentials are wanted.
    """

    result: Operand = field(kw_only=True)
    has_sums: bool = True

    @property
    def can_hide_all(self):
        """Whether a query may see none of a block of keys."""
        return self.mask is not None

    @property
    def tiles(self):
        """Tiles of queries in a block."""
        return min(max(1, cost.QUERIES // self.tile), ceil(self.sizes.queries / self.tile))

    @property
    def query_block(self):
        """Queries of a block."""
        return self.tiles * self.tile

    @property
    def blocks(self):
        """Blocks of queries."""
        return ceil(self.sizes.queries / self.query_block)

    @property
    def parts(self):
        """Numbers of each part of the scratch memory: queries, results, weights; greatest products, sums."""
        sizes, tile = self.sizes, self.tile
        lengths = (self.tiles * sizes.depth, self.tiles * sizes.width, self.key_block, self.tiles, self.tiles)
        return [odd_lines(length * tile, self.dtype) for length in lengths]


@dataclass(eq=False, repr=False)
class Prompt(Forward):
    """The forward pass of new positions of texts, whose keys are in a cache and among the new ones: see `prompt`.

    Operands are those of one text, by head. `group` heads share keys. How many positions there are does not count.
    """

    group: int = field(kw_only=True)
    window: int | None = field(kw_only=True)

    @property
    def can_hide_all(self):
        """Whether a query may see none of a block of keys."""
        return self.window is not None

    @property
    def tiles(self):
        """Tiles of positions in a block."""
        return max(1, cost.QUERIES // self.tile)

    @property
    def key_block(self):
        """Keys of a block: the same whatever the number of positions, since sums are taken block by block."""
        pair = 2 * self.lanes
        return max(1, self.fitting_keys // pair) * pair


@dataclass(eq=False, repr=False)
class Single(Attending):
    """The forward pass for one query, with keys and values whose numbers follow each other."""

    has_sums: bool = True

    @property
    def blocks(self):
        """Tasks of each matrix."""
        return 1

    @property
    def line(self):
        """Numbers of a query: whole vectors."""
        return ceil(self.sizes.depth / self.lanes) * self.lanes

    @property
    def rounded(self):
        """Keys, and as many more as fill a vector."""
        return ceil(self.sizes.keys / self.lanes) * self.lanes

    @property
    def parts(self):
        """Numbers of each part of the scratch memory: the query, and weights."""
        return [odd_lines(length, self.dtype) for length in (self.line, self.rounded)]


@dataclass(eq=False, repr=False)
class Backward(Attending):
    """The backward pass, tile by tile of keys.

    group      how many of the last leading axis share keys and values; 1 if none do
    shares     parts that the keys are dealt to, each with slopes of all queries of its own
    """

    cotangent: Operand = field(kw_only=True)
    sums: Operand = field(kw_only=True)
    means: Operand = field(kw_only=True)
    group: int = field(kw_only=True)
    shares: int = field(kw_only=True)

    @property
    def batch(self):
        """The leading axes along which keys differ."""
        return self.sizes.batch[:-1] if self.group > 1 else self.sizes.batch

    @property
    def tiles(self):
        """Tiles of keys in a block."""
        return self.key_block // self.tile

    @property
    def blocks(self):
        """Blocks of keys."""
        return ceil(self.sizes.keys / self.key_block)

    @property
    def query_block(self):
        """Queries of a block."""
        return cost.QUERIES

    @property
    def line(self):
        """Numbers of a query's slopes: whole vectors."""
        return ceil(self.sizes.depth / self.lanes) * self.lanes

    @property
    def is_direct(self):
        """Whether the slopes of queries are added up where they belong."""
        return self.shares == 1 and self.line == self.sizes.depth

    @property
    def parts(self):
        """Numbers of each part of the scratch memory: keys and values in tiles, keys in rows, slopes of both; weights, slopes."""
        sizes = self.sizes
        lengths = [self.key_block * n for n in (sizes.depth, sizes.width, self.line, sizes.depth, sizes.width)]
        lengths += [self.query_block * self.tile, self.query_block * self.key_block]
        return [odd_lines(length, self.dtype) for length in lengths]
