"""Products whose operands both run along k: short sums of dot products, with vectors along k and nothing packed.

A few rows of A meet a few columns of B in registers; each pair of them has one or more partial sums, which are added up
in a fixed order at the end. Matrix times vector, and results narrower than a vector, are done this way.
"""

from functools import partial

from ..... import cost
from .. import emit
from ..emit import BYTE, I64, address, offset
from ..micro_kernel import Functions, Lines, Tile, added_chains, asking, contiguous, lane_sum
from .part import Part

#: What a tile is handed: rows of A and of C and columns of B and of C are so many bytes apart.
_ARGUMENTS = ("k", "a", "b", "c", "a_row", "b_column", "c_row", "c_column")


def build(module, spec, name):
    """Emit the function of a chunk of a product made of dot products."""
    part = Part(module, name)
    functions = Functions(part.module, part.name, partial(_write, spec))
    batches, rows, columns = part.chunk()
    with part.each_batch(*batches):
        if spec.is_b_packed:
            _pack(part, spec, columns)
        # All rows for each group of columns: what was packed and a vector stay in the first cache.
        with emit.loop(part.builder, *columns) as column_tile, emit.loop(part.builder, *rows) as row_tile:
            _call(part, spec, functions, columns[0], row_tile.index, column_tile.index)
    part.builder.ret_void()
    return part.function


def _pack(part, spec, columns):
    """Copy the columns of B one after the other."""
    builder, numbers = part.builder, part.numbers
    first, end = (part.column_start(tile) for tile in columns)
    with emit.loop(builder, first, end) as column, emit.loop(builder, 0, numbers.k) as k:
        place = offset(builder, k.index, numbers.b_row, column.index, numbers.b_column)
        value = emit.load(builder, address(builder, part.b, place, BYTE), spec.item)
        target = offset(builder, k.index, 1, builder.sub(column.index, first), numbers.k)
        emit.store(builder, value, address(builder, part.workspace, target, spec.item))


def _call(part, spec, functions, first_tile, row_tile, column_tile):
    """Call the function for the sizes of this tile."""
    builder, numbers = part.builder, part.numbers
    row, column = part.row_start(row_tile), part.column_start(column_tile)
    b, first, step = part.b, column, numbers.b_column
    if spec.is_b_packed:
        b, first = part.workspace, builder.sub(column, part.column_start(first_tile))
        step = builder.mul(numbers.k, numbers.item)
    arguments = [
        numbers.k,
        address(builder, part.a, builder.mul(row, numbers.a_row), BYTE),
        address(builder, b, builder.mul(first, step), BYTE),
        address(builder, part.c, offset(builder, row, numbers.c_row, column, numbers.c_column), BYTE),
        numbers.a_row, step, numbers.c_row, numbers.c_column]  # fmt: skip
    is_tall = builder.icmp_signed("<", row_tile, numbers.tall_tiles)
    is_wide = builder.icmp_signed("<", column_tile, numbers.wide_tiles)

    def leaf(height, width):
        functions.call(builder, (height, width), arguments)

    def by_width(height):
        _branch(builder, is_wide, spec.widths, lambda width: leaf(height, width))

    _branch(builder, is_tall, spec.heights, by_width)


def _branch(builder, condition, sizes, action):
    """Do `action` for the first size where the condition holds and for the last elsewhere."""
    if len(sizes) == 1:
        action(sizes[0])
        return
    with builder.if_else(condition) as (then, otherwise):
        with then:
            action(sizes[0])
        with otherwise:
            action(sizes[-1])


def _write(spec, b, arguments, height, width):
    """Write a tile of a few rows by a few columns."""
    numbers = dict(zip(_ARGUMENTS, arguments, strict=True))
    load = contiguous(spec)
    # The next tile reads the columns behind these.
    load_column = asking(load, b.mul(I64(width), numbers["b_column"])) if spec.is_far else load
    sides = [(_lines(b, numbers, "a", "a_row", height), load), (_lines(b, numbers, "b", "b_column", width), load_column)]
    steps = [numbers["c_row"], numbers["c_column"]]
    if height < width:  # a step holds all vectors of the right in registers: those of which there are fewer
        sides.reverse(), steps.reverse()
    tile = Tile(spec.vector, len(sides[0][0]), len(sides[1][0]), spec.is_fused, max(1, cost.CHAINS // (height * width)))
    for place, total in enumerate(_sums(spec, b, tile, sides, numbers["k"])):
        row, column = (I64(x) for x in divmod(place, tile.width))
        where = address(b, numbers["c"], offset(b, row, steps[0], column, steps[1]), BYTE)
        emit.store(b, lane_sum(b, total), where)


def _lines(b, numbers, label, step, count):
    """Where the rows of A, or the columns of B, begin."""
    return [address(b, numbers[label], b.mul(I64(i), numbers[step]), BYTE) for i in range(count)]


def _sums(spec, b, tile, sides, k):
    """A vector of partial sums for each pair of a row and a column."""
    left, right = (Lines(lines, 1, spec.item, load, spec.lanes) for lines, load in sides)
    pace = tile.chains * spec.lanes
    whole = b.sub(k, b.srem(k, I64(pace)))
    sums = tile.over(b, [(I64(0), whole, pace, tile.chains)], left, right, tile.zeros())
    with emit.loop(b, whole, k, spec.lanes, added_chains(b, sums, tile.height * tile.width)) as rest:
        mask, place = emit.lane_mask(b, b.sub(k, rest.index), spec.lanes), (rest.index, 0)  # lanes past the end are zero
        left, right = (Lines(lines, 1, spec.item, contiguous(spec, lambda _: mask)) for lines, _ in sides)
        rest.values = tile.step(b, left.read(b, place), right.read(b, place), rest.values)
    return rest.results
