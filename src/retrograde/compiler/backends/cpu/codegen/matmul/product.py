"""The loops around register tiles: one piece of code for every product that is made of tiles.

What differs from product to product stands in its descriptor: sizes, strides, and the addresses of the functions that compute
tiles and pack blocks. The order of loops and the sizes of blocks follow Goto and van de Geijn (2008) and Van Zee and van de
Geijn (2015). Either a panel of B stays in the first cache, a block of A in the second, a block of B in the third ("GEBP"); or a
block of B in the second, and each row of A goes by once for it ("GEPB"), if A is read where it lies, or if that block has all
columns of B.
"""

from typing import NamedTuple

from .. import emit, ir
from ..emit import BYTE, I64, POINTER, address, offset
from .ahead import Ahead
from .part import Part

#: The numbers of a block, which its tiles read.
BLOCK = ("k", "a_row", "a_column", "b_row", "c_row", "c_column", "remaining", "is_added", "ahead", "ahead_step")
TILE = ir.FunctionType(ir.VoidType(), [POINTER] * 4)  # A, B, C, the numbers of the block
PACK = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64, I64, I64, I64, POINTER])


class _Block(NamedTuple):
    """A range of row tiles and one of column tiles in a block of k; how far operands move, in bytes."""

    columns: tuple
    rows: tuple
    left: ir.Value  # where A begins
    left_step: ir.Value  # from row to row
    right: ir.Value  # where B begins
    right_step: ir.Value  # from column tile to column tile


def build(module, name):
    """Emit the function of a chunk of a tiled product."""
    part = Part(module, name)
    batches, rows, columns = part.chunk()
    numbers = part.numbers
    block = emit.scratch(part.builder, ir.ArrayType(I64, len(BLOCK)))
    last = part.builder.mul(numbers.full_tiles, numbers.short_width)
    fixed = {label: getattr(numbers, label) for label in ("a_column", "b_row", "c_row", "c_column")}
    _set(part, block, remaining=part.builder.sub(numbers.n, last), **fixed)
    ahead = Ahead(part)
    with part.each_batch(*batches):
        _blocks(part, block, ahead, rows, columns)
    part.builder.ret_void()
    return part.function


def build_panels(module, name):
    """Emit the function that packs all of B where C is: block of k after block of k, of these the column tiles of a chunk."""
    part = Part(module, name)
    builder, numbers = part.builder, part.numbers
    _, _, columns = part.chunk()
    width = builder.mul(numbers.short_width, numbers.item)
    with emit.loop(builder, 0, numbers.k, numbers.k_block) as deep:
        k = part.depth(deep.index)
        before = builder.add(builder.mul(deep.index, numbers.column_tiles), builder.mul(columns[0], k))
        _pack(part, "right", address(builder, part.c, builder.mul(before, width), BYTE), part.b, (deep.index, k, *columns))
    builder.ret_void()
    return part.function


def _blocks(part, block, ahead, rows, columns):
    """Loops over column blocks, blocks of k, and row blocks, packing what has a function for it."""
    builder, numbers = part.builder, part.numbers
    with emit.loop(builder, *columns, numbers.column_tiles_block) as outer:
        end = emit.minimum(builder, builder.add(outer.index, numbers.column_tiles_block), columns[1])
        # An empty sum still stores its zeros, so there is always a block of k.
        depth = builder.select(builder.icmp_signed(">", numbers.k, I64(0)), numbers.k, I64(1))
        with emit.loop(builder, 0, depth, numbers.k_block) as deep:
            k = part.depth(deep.index)
            right = _right(part, deep.index, k, (outer.index, end))
            ahead.after_block_of_k(deep.index, depth, (outer.index, end), columns[1])
            # The first block of k stores its sums, so that C need not be cleared.
            is_added = builder.zext(builder.icmp_signed(">", deep.index, I64(0)), I64)
            with emit.loop(builder, *rows, numbers.row_tiles_block) as inner:
                row_end = emit.minimum(builder, builder.add(inner.index, numbers.row_tiles_block), rows[1])
                left = _left(part, deep.index, k, (inner.index, row_end))
                ahead.after_rows(deep.index, depth, (inner.index, row_end), rows)
                _set(part, block, k=k, a_row=left[1], is_added=is_added)
                _sweep(part, block, ahead, k, _Block((outer.index, end), (inner.index, row_end), *left, *right))


def _right(part, first_k, k, columns):
    """Where the column tiles of a block read B, packed or not, and how far apart."""
    builder, numbers = part.builder, part.numbers
    width = builder.mul(numbers.short_width, numbers.item)
    is_direct = builder.icmp_signed("!=", numbers.is_right_direct, I64(0))
    step = builder.select(is_direct, width, builder.mul(k, width))
    there = address(builder, part.b, offset(builder, first_k, numbers.b_row, columns[0], step), BYTE)
    is_packed = _pack(part, "right", part.workspace, part.b, (first_k, k, *columns))
    return builder.select(is_packed, part.workspace, there), step


def _left(part, first_k, k, tiles):
    """Where the row tiles of a block read A, packed or not, and how far apart its rows are."""
    builder, numbers = part.builder, part.numbers
    room = address(builder, part.workspace, numbers.left_start, BYTE)
    row = part.row_start(tiles[0])
    there = address(builder, part.a, offset(builder, row, numbers.a_row, first_k, numbers.a_column), BYTE)
    is_packed = _pack(part, "left", room, part.a, (first_k, k, *tiles))
    step = builder.select(is_packed, builder.mul(k, numbers.item), numbers.a_row)
    return builder.select(is_packed, room, there), step


def _pack(part, side, out, source, place):
    """Pack a block of an operand if there is a function for it; whether there is."""
    builder, function = part.builder, part.numbers.function(side)
    is_packed = builder.icmp_signed("!=", function, I64(0))
    with builder.if_then(is_packed):
        _called(builder, function, PACK, [out, source, *place, part.descriptor])
    return is_packed


def _sweep(part, block, ahead, k, at):
    """All tiles of a block. What stays in the second cache is gone over for each tile of the other operand: B's columns for the
    rows of one tile of A, or A's rows for one panel of B.
    """
    builder = part.builder
    with builder.if_else(builder.icmp_signed("!=", part.numbers.is_right_resident, I64(0))) as (row_by_row, column_by_column):
        with row_by_row, emit.loop(builder, *at.rows) as row:
            ahead.after_row_tile(row.index, k, at)
            with emit.loop(builder, *at.columns) as column:
                _tile(part, block, ahead, k, at, (row.index, column.index))
        with column_by_column, emit.loop(builder, *at.columns) as column:
            ahead.after_column_tile(column.index, k, at)
            with emit.loop(builder, *at.rows) as row:
                _tile(part, block, ahead, k, at, (row.index, column.index))


def _tile(part, block, ahead, k, at, tile):
    """One tile of a block: the number of its rows and that of its columns."""
    builder, numbers, (row_tile, column_tile) = part.builder, part.numbers, tile
    is_tail = builder.icmp_signed(">=", column_tile, numbers.full_tiles)
    tall, short = (builder.select(is_tail, numbers.function(f"{size}_tail"), numbers.function(size)) for size in ("tall", "short"))
    right = address(builder, at.right, builder.mul(builder.sub(column_tile, at.columns[0]), at.right_step), BYTE)
    start = builder.mul(column_tile, builder.mul(numbers.short_width, numbers.c_column))
    row = part.row_start(row_tile)
    left = address(builder, at.left, builder.mul(builder.sub(row, part.row_start(at.rows[0])), at.left_step), BYTE)
    result = address(builder, part.c, builder.add(start, builder.mul(row, numbers.c_row)), BYTE)
    is_tall = builder.icmp_signed("<", row_tile, numbers.tall_tiles)
    ahead.ask(k, right, lambda first, step: _set(part, block, ahead=first, ahead_step=step))
    _called(builder, builder.select(is_tall, tall, short), TILE, [left, right, result, block])


def _called(builder, function, kind, arguments):
    """Call the function of a `kind` at an address."""
    builder.call(builder.inttoptr(function, POINTER), arguments, kind=kind)


def _set(part, block, **numbers):
    """Write numbers of a block."""
    for label, number in numbers.items():
        part.builder.store(number, address(part.builder, block, BLOCK.index(label), I64))
