"""The entry point of a tiled product: which part of C a chunk computes, and the loops over cache blocks around it.

The order of loops and the sizes of blocks follow Goto and van de Geijn (2008) and Van Zee and van de Geijn (2015): a
panel of B stays in the first cache, a block of A in the second, a block of B in the third.
"""

from contextlib import contextmanager
from dataclasses import dataclass

from .. import ir
from . import emit, packing, tiles
from .emit import I64, POINTER, address, offset
from .spec import Descriptor

ENTRY_TYPE = ir.FunctionType(ir.VoidType(), [I64] + [POINTER] * 6)


@dataclass
class Block:
    """A cache block: a range of k with a range of row tiles (A) or of column tiles (B)."""

    first_k: ir.Value
    k: ir.Value
    first_tile: ir.Value | None = None
    end_tile: ir.Value | None = None
    first_row_tile: ir.Value | None = None
    end_row_tile: ir.Value | None = None
    first_row: ir.Value | None = None
    end_row: ir.Value | None = None


class Entry:
    """An entry function under construction, with its arguments by name and its numbers."""

    def __init__(self, module, spec, name):
        self.module, self.spec, self.name = module, spec, name
        self.function = ir.Function(module, ENTRY_TYPE, name)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.index, self.descriptor, self.a, self.b, self.c, self.extra, self.workspace = self.function.args
        if spec.is_swapped:
            self.a, self.b = self.b, self.a
        self.numbers = Descriptor(self.builder, self.descriptor, spec)
        self.batch = I64(0)

    def row_start(self, tile):
        """First row of a row tile: tall tiles come first, the others are one row shorter."""
        numbers = self.numbers
        extra = emit.minimum(self.builder, tile, numbers.tall_tiles)
        return self.builder.add(self.builder.mul(tile, numbers.short_height), extra)

    def height(self, tile):
        """Rows of a row tile."""
        is_tall = self.builder.icmp_signed("<", tile, self.numbers.tall_tiles)
        return self.builder.add(self.numbers.short_height, self.builder.zext(is_tall, I64))

    def column_start(self, tile):
        """First column of a column tile of a product whose column tiles differ by one column."""
        numbers = self.numbers
        extra = emit.minimum(self.builder, tile, numbers.wide_tiles)
        return self.builder.add(self.builder.mul(tile, numbers.short_width), extra)

    def arguments(self, named):
        """The arguments of a tile function in its order; those that it does not read are undefined."""
        return [named.get(label, ir.Constant(kind, ir.Undefined)) for label, kind in tiles.ARGUMENTS.items()]

    def each_column_tile(self, first, end):
        """Run over column tiles as (tile, vectors, is_tail); the body is emitted for full tiles and for the tail."""
        builder, spec, total = self.builder, self.spec, self.numbers.column_tiles
        full = builder.sub(total, I64(1)) if spec.tail else total
        if spec.has_full:
            with emit.loop(builder, first, emit.minimum(builder, end, full)) as tile:
                yield tile.index, spec.vectors, False
        if spec.tail:
            with builder.if_then(builder.icmp_signed("==", end, total)):
                yield full, spec.tail, True

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
        if not self.spec.batch_rank:
            yield
            return
        builder, bases = self.builder, (self.a, self.b, self.c)
        dimensions = [self.numbers.batch_dimension(i) for i in range(self.spec.batch_rank)]
        with emit.loop(builder, first, end) as batch:
            self.batch, rest, moved = batch.index, batch.index, [I64(0)] * 3
            for size, *strides in reversed(dimensions):
                place, rest = self._digit(rest, size)
                moved = [builder.add(x, builder.mul(place, s)) for x, s in zip(moved, strides, strict=True)]
            self.a, self.b, self.c = (address(builder, base, x, self.spec.item) for base, x in zip(bases, moved, strict=True))
            yield
        self.a, self.b, self.c = bases


def build(module, spec, name):
    """Emit the entry function `name` of a tiled product, with the tiles it calls."""
    entry = Entry(module, spec, name)
    functions = _tile_functions(module, spec, name)
    batches, rows, columns = entry.chunk()
    with entry.each_batch(*batches):
        _blocks(entry, functions, rows, columns)
    entry.builder.ret_void()
    return entry.function


def _tile_functions(module, spec, name):
    """Tile functions by (height, is_tail)."""
    widths = [(spec.vectors, False)] if spec.has_full else []
    widths += [(spec.tail, True)] if spec.tail else []
    return {
        (height, is_tail): tiles.build(
            module, spec, f"{name}.{height}x{vectors}{'t' * is_tail}", height, vectors, is_tail and spec.is_tail_masked
        )
        for height in spec.heights
        for vectors, is_tail in widths
    }


def _blocks(entry, functions, rows, columns):
    """Loops over column blocks, blocks of k, and row blocks, packing what the layouts ask for."""
    builder, numbers, spec = entry.builder, entry.numbers, entry.spec
    with emit.loop(builder, columns[0], columns[1], numbers.column_tiles_block) as outer:
        end = emit.minimum(builder, builder.add(outer.index, numbers.column_tiles_block), columns[1])
        # An empty sum still stores its zeros, so there is always a block of k.
        depth = builder.select(builder.icmp_signed(">", numbers.k, I64(0)), numbers.k, I64(1))
        with emit.loop(builder, 0, depth, numbers.k_block) as deep:
            k = emit.minimum(builder, builder.sub(numbers.k, deep.index), numbers.k_block)
            block = Block(deep.index, k, outer.index, end)
            packed, left = _pack_right(entry, block)
            with emit.loop(builder, rows[0], rows[1], numbers.row_tiles_block) as inner:
                row_end = emit.minimum(builder, builder.add(inner.index, numbers.row_tiles_block), rows[1])
                block.first_row_tile, block.end_row_tile = inner.index, row_end
                block.first_row, block.end_row = entry.row_start(inner.index), entry.row_start(row_end)
                if spec.a_layout != "direct":
                    packing.left(entry, block, left)
                _sweep(entry, functions, block, left, packed)


def _pack_right(entry, block):
    """Pack B at the start of the workspace; the answer is where B and where A is packed."""
    if entry.spec.b_layout == "direct":
        return None, entry.workspace
    if entry.spec.b_layout == "panels":
        return _panels(entry, entry.b, block), entry.workspace
    builder = entry.builder
    packing.right(entry, block, entry.workspace)
    tile_numbers = builder.mul(entry.numbers.k_block, I64(entry.spec.width))
    size = builder.mul(entry.numbers.column_tiles_block, tile_numbers)
    return entry.workspace, address(builder, entry.workspace, size, entry.spec.item)


def build_panels(module, spec, name):
    """Emit the entry that packs all of B where C is: block of k after block of k, of these the column tiles of a chunk."""
    entry = Entry(module, spec, name)
    builder, numbers = entry.builder, entry.numbers
    _, _, (first, end) = entry.chunk()
    with emit.loop(builder, 0, numbers.k, numbers.k_block) as deep:
        k = emit.minimum(builder, builder.sub(numbers.k, deep.index), numbers.k_block)
        block = Block(deep.index, k, first, end)
        packing.right(entry, block, _panels(entry, entry.c, block))
    builder.ret_void()
    return entry.function


def _panels(entry, panels, block):
    """Where the panels of a block are among those of all of B."""
    builder, width = entry.builder, I64(entry.spec.width)
    before = builder.mul(builder.mul(block.first_k, entry.numbers.column_tiles), width)
    place = builder.add(before, builder.mul(builder.mul(block.first_tile, block.k), width))
    return address(builder, panels, place, entry.spec.item)


def _sweep(entry, functions, block, left, packed):
    """All tiles of a block: down the rows for each column tile, so that its panel of B stays in the first cache."""
    builder, spec = entry.builder, entry.spec
    for column_tile, _, is_tail in entry.each_column_tile(block.first_tile, block.end_tile):
        with emit.loop(builder, block.first_row_tile, block.end_row_tile) as row_tile:
            arguments = _tile_arguments(entry, block, left, packed, row_tile.index, column_tile)
            tall = functions[max(spec.heights), is_tail]
            if len(spec.heights) == 1:
                builder.call(tall, arguments)
                continue
            is_tall = builder.icmp_signed("<", row_tile.index, entry.numbers.tall_tiles)
            with builder.if_else(is_tall) as (then, otherwise):
                with then:
                    builder.call(tall, arguments)
                with otherwise:
                    builder.call(functions[min(spec.heights), is_tail], arguments)


def _tile_arguments(entry, block, left, packed, row_tile, column_tile):
    """The arguments of a tile function, in its order."""
    builder, numbers, spec = entry.builder, entry.numbers, entry.spec
    row, column = entry.row_start(row_tile), builder.mul(column_tile, I64(spec.width))
    named = {
        "k": block.k,
        "a": _left_start(entry, block, left, row),
        "b": _right_start(entry, block, packed, column_tile, column),
        "c": address(builder, entry.c, offset(builder, row, numbers.c_row, column, numbers.c_column), spec.item),
        "a_row": numbers.a_row if spec.a_layout == "direct" else block.k,
        "a_column": numbers.a_column,
        "b_row": numbers.b_row,
        "c_row": numbers.c_row,
        "c_column": numbers.c_column,
        "row": row,
        "column": column,
        "remaining": builder.sub(numbers.n, column),
        "first_k": block.first_k,
        "is_added": _is_added(entry, block),
        "is_last": builder.icmp_signed(">=", builder.add(block.first_k, block.k), numbers.k),
        "batch": entry.batch,
        "sums": _sums(entry, row_tile),
        "extra": entry.extra,
    }
    return entry.arguments(named)


def _left_start(entry, block, left, row):
    builder, numbers = entry.builder, entry.numbers
    if entry.spec.a_layout == "direct":
        place = offset(builder, row, numbers.a_row, block.first_k, numbers.a_column)
        return address(builder, entry.a, place, entry.spec.item)
    return address(builder, left, builder.mul(builder.sub(row, block.first_row), block.k), entry.spec.item)


def _right_start(entry, block, packed, column_tile, column):
    builder, numbers = entry.builder, entry.numbers
    if entry.spec.b_layout == "direct":
        place = offset(builder, block.first_k, numbers.b_row, column, 1)
        return address(builder, entry.b, place, entry.spec.item)
    panel = builder.mul(builder.sub(column_tile, block.first_tile), builder.mul(block.k, I64(entry.spec.width)))
    return address(builder, packed, panel, entry.spec.item)


def _is_added(entry, block):
    if entry.spec.hooks.accumulate:
        return emit.I1(1)
    return entry.builder.icmp_signed(">", block.first_k, I64(0))


def _sums(entry, row_tile):
    """Where this row tile keeps its column sums."""
    slot = entry.spec.hooks.column_sums
    if slot is None:
        return ir.Constant(POINTER, None)
    builder, numbers = entry.builder, entry.numbers
    where = builder.load(address(builder, entry.extra, slot, POINTER), typ=POINTER)
    line = builder.add(builder.mul(entry.batch, numbers.row_tiles), row_tile)
    return address(builder, where, builder.mul(line, numbers.n), entry.spec.item)
