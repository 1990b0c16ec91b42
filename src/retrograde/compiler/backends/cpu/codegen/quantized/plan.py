"""Plans of what is done with quantised weights."""

from dataclasses import dataclass

from ......ops.networks._rounding import BLOCK
from ..... import cost
from ..chunks import InChunks
from ..quantized_blocks import BLOCKS
from ..vectors import InVectors
from .codes import CODES

_TILE = 8


@dataclass(eq=False, repr=False)
class _Quantized(InVectors):
    """Weights in a `format`, `count` to a row, whose numbers are vectors of `lanes`.

    `has_halves` says that the processor widens numbers of 16 bits, `has_tables` that it looks up sixteen numbers at once.
    """

    format: str
    lanes: int
    is_fused: bool
    has_halves: bool
    has_tables: bool
    outputs: int
    count: int

    dtype = "float32"

    @property
    def block(self):
        """How blocks of the format are read."""
        return BLOCKS[self.format]

    @property
    def blocks(self):
        """How many blocks a row has."""
        return self.count // self.block.size


@dataclass(eq=False, repr=False)
class Product(InChunks, _Quantized):
    """Some `rows` times `outputs` rows of quantised weights."""

    rows: int

    @property
    def key(self):
        """What the code depends on."""
        return "quantized product", self.format, self.lanes, self.is_fused, self.has_halves, self.has_tables, self.rows

    @property
    def tile(self):
        """So many rows at most are computed at once, each of which takes a register or two."""
        return min(self.rows, _TILE)

    @property
    def most_together(self):
        """How many outputs are computed at once, for one row: their sums fill the time that each of them waits."""
        return self.block.together

    def together(self, rows):
        """How many outputs are computed at once, for so many rows."""
        return max(1, self.most_together // rows)

    @property
    def units(self):
        """How many outputs there are."""
        return self.outputs

    @property
    def step(self):
        """How many outputs a chunk has: a multiple of those that are computed at once."""
        share = cost.QUANTIZED.share(self.outputs, self.outputs * self.count)
        return -(-share // self.most_together) * self.most_together

    @property
    def words(self):
        """The numbers that the code is handed."""
        return self.outputs, self.blocks, self.step


@dataclass(eq=False, repr=False)
class IntegerProduct(Product):
    """The same of activations of 8 bits, whose products by codes are added up in the `way` of the processor: see `dots`."""

    way: str

    @property
    def key(self):
        """What the code depends on."""
        return ("integer product", self.format, self.lanes, self.is_fused, self.has_halves, self.way, self.rows)

    @property
    def codes(self):
        """How blocks of the format are read as integers."""
        return CODES[self.format]

    @property
    def most_together(self):
        return self.codes.together


@dataclass(eq=False, repr=False)
class Activations(InChunks, InVectors):
    """The integers of 8 bits of `count` numbers, whose code is for a processor with vectors of `lanes`."""

    lanes: int
    count: int

    dtype = "float32"

    @property
    def key(self):
        """What the code depends on."""
        return "activations", self.lanes

    @property
    def units(self):
        """How many blocks there are."""
        return self.count // BLOCK

    @property
    def step(self):
        """How many blocks a chunk has."""
        return cost.LOOPS.share(self.units, self.count)


@dataclass(eq=False, repr=False)
class Unpacking(InChunks, _Quantized):
    """The numbers of `outputs` rows of quantised weights."""

    @property
    def key(self):
        """What the code depends on."""
        return "unpacking", self.format, self.lanes, self.is_fused, self.has_halves, self.has_tables

    @property
    def units(self):
        """How many blocks there are."""
        return self.outputs * self.blocks

    @property
    def step(self):
        """How many blocks a chunk has."""
        return cost.QUANTIZED.share(self.units, self.units * self.block.size)
