"""Functions of a product under construction: which part of C a chunk computes, and where tiles begin."""

from contextlib import contextmanager

from .. import emit, ir
from ..emit import BYTE, I64, POINTER, address
from .spec import Descriptor


class Numbered:
    """A function that is handed a descriptor, with its `builder` and the `numbers`."""

    def __init__(self, module, name, kinds, descriptor):
        self.module, self.name = module, name
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.descriptor = self.function.args[descriptor]
        self.numbers = Descriptor(self.builder, self.descriptor)

    def row_start(self, tile):
        """First row of a row tile: tall tiles come first, the others are one row shorter."""
        return self._start(tile, self.numbers.short_height, self.numbers.tall_tiles)

    def column_start(self, tile):
        """First column of a column tile: wide tiles come first, the others are one column narrower."""
        return self._start(tile, self.numbers.short_width, self.numbers.wide_tiles)

    def _start(self, tile, size, larger):
        return self.builder.add(self.builder.mul(tile, size), emit.minimum(self.builder, tile, larger))

    def depth(self, first_k):
        """Rows of B in the block of k that begins at `first_k`."""
        return emit.minimum(self.builder, self.builder.sub(self.numbers.k, first_k), self.numbers.k_block)

    def height(self, tile):
        """Rows of a row tile."""
        is_tall = self.builder.icmp_signed("<", tile, self.numbers.tall_tiles)
        return self.builder.add(self.numbers.short_height, self.builder.zext(is_tall, I64))


class Part(Numbered):
    """The function `void(i64 chunk, ptr descriptor, A, B, C, workspace)`, which computes one chunk of C."""

    KINDS = (I64, *[POINTER] * 5)

    def __init__(self, module, name):
        super().__init__(module, name, self.KINDS, 1)
        self.function.linkage = "internal"
        self.index, _, self.a, self.b, self.c, self.workspace = self.function.args

    def share(self, index, parts, total):
        """First and end of part `index` of `parts` of a range."""
        builder = self.builder
        first = builder.sdiv(builder.mul(index, total), parts)
        return first, builder.sdiv(builder.mul(builder.add(index, I64(1)), total), parts)

    def chunk(self):
        """Ranges of batches, row tiles and column tiles of this chunk."""
        numbers = self.numbers
        column, rest = self._digit(self.index, numbers.grid_columns)
        row, batch = self._digit(rest, numbers.grid_rows)
        return (
            self.share(batch, numbers.grid_batch, numbers.batch),
            self.share(row, numbers.grid_rows, numbers.row_tiles),
            self.share(column, numbers.grid_columns, numbers.column_tiles),
        )

    def _digit(self, index, size):
        return self.builder.srem(index, size), self.builder.sdiv(index, size)

    @contextmanager
    def each_batch(self, first, end):
        """Run over batches, with `a`, `b` and `c` moved to the matrices of each."""
        builder, bases = self.builder, (self.a, self.b, self.c)
        with emit.loop(builder, first, end) as batch:
            # A loop over the axes at run time, so that one piece of code serves batches of any rank.
            with emit.loop(builder, 0, self.numbers.rank, 1, (batch.index, *bases)) as dimension:
                size, *strides = self.numbers.dimension(dimension.index)
                place, rest = self._digit(dimension.values[0], size)
                moved = [
                    address(builder, p, builder.mul(place, s), BYTE) for p, s in zip(dimension.values[1:], strides, strict=True)
                ]
                dimension.values = [rest, *moved]
            _, self.a, self.b, self.c = dimension.results
            yield
        self.a, self.b, self.c = bases
