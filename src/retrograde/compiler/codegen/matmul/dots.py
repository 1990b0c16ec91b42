"""Products whose operands both run along k: short sums of dot products, with vectors along k and nothing packed.

A few rows of A meet a few columns of B in registers; each pair of them has one or more partial sums, which are added up
in a fixed order at the end. Matrix times vector, and results narrower than a vector, are done this way.
"""

from .. import emit, ir
from ..emit import BYTE, I64, POINTER, address, offset
from .part import Part

_CHAINS = 8
#: What a tile is handed: rows of A and of C and columns of B and of C are so many bytes apart.
_ARGUMENTS = {"k": I64, "a": POINTER, "b": POINTER, "c": POINTER, "a_row": I64, "b_column": I64, "c_row": I64, "c_column": I64}


def build(module, spec, name):
    """Emit the function of a chunk of a product made of dot products."""
    part = Part(module, name)
    functions = {(height, width): _tile(part, spec, height, width) for height in spec.heights for width in spec.widths}
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
        builder.call(functions[height, width], arguments)

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


class _Tile:
    """The function of `height` rows by `width` columns under construction."""

    def __init__(self, part, spec, height, width):
        self.spec, self.height, self.width = spec, height, width
        kind = ir.FunctionType(ir.VoidType(), list(_ARGUMENTS.values()))
        self.function = ir.Function(part.module, kind, f"{part.name}.{height}x{width}")
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.k, self.a, self.b, self.c, self.a_row, self.b_column, self.c_row, self.c_column = self.function.args


def _tile(part, spec, height, width):
    tile = _Tile(part, spec, height, width)
    for place, total in enumerate(_product(tile)):
        row, column = (I64(x) for x in divmod(place, width))
        where = address(tile.builder, tile.c, offset(tile.builder, row, tile.c_row, column, tile.c_column), BYTE)
        emit.store(tile.builder, _horizontal(tile, total), where)
    tile.builder.ret_void()
    return tile.function


def _product(tile):
    """One vector of partial sums for each pair of a row and a column."""
    builder, lanes = tile.builder, tile.spec.lanes
    pairs = tile.height * tile.width
    unrolled = max(1, _CHAINS // pairs)
    whole = builder.sub(tile.k, builder.srem(tile.k, I64(unrolled * lanes)))
    start = [emit.zeros(tile.spec.vector)] * (pairs * unrolled)
    with emit.loop(builder, 0, whole, unrolled * lanes, start) as main:
        for copy in range(unrolled):
            k = builder.add(main.index, I64(copy * lanes))
            sums = slice(copy * pairs, (copy + 1) * pairs)
            main.values[sums] = _step(tile, k, main.values[sums], None)
    sums = [_pairwise(builder, main.results[pair::pairs]) for pair in range(pairs)]
    with emit.loop(builder, whole, tile.k, lanes, sums) as rest:
        mask = emit.lane_mask(builder, builder.sub(tile.k, rest.index), lanes)
        rest.values = _step(tile, rest.index, rest.values, mask)
    return rest.results


def _step(tile, k, sums, mask):
    """One vector of each row times one of each column; lanes past the end are zero."""
    left = [_vector(tile, tile.a, i, tile.a_row, k, mask) for i in range(tile.height)]
    right = [_vector(tile, tile.b, j, tile.b_column, k, mask) for j in range(tile.width)]
    pairs = [(x, y) for x in left for y in right]
    is_fused = tile.spec.is_fused
    return [emit.multiply_add(tile.builder, x, y, total, is_fused) for (x, y), total in zip(pairs, sums, strict=True)]


def _vector(tile, pointer, number, step, k, mask):
    line = address(tile.builder, pointer, tile.builder.mul(I64(number), step), BYTE)
    return emit.load(tile.builder, address(tile.builder, line, k, tile.spec.item), tile.spec.vector, mask)


def _pairwise(builder, values):
    """The sum of some values, as a tree."""
    while len(values) > 1:
        rest = values[len(values) // 2 * 2 :]
        values = [builder.fadd(x, y) for x, y in zip(values[::2], values[1::2], strict=False)] + rest
    return values[0]


def _horizontal(tile, value):
    """The sum of the lanes of a vector, by halves."""
    lanes = value.type.count
    while lanes > 1:
        lanes //= 2
        low = emit.shuffle(tile.builder, value, value, range(lanes))
        high = emit.shuffle(tile.builder, value, value, range(lanes, 2 * lanes))
        value = tile.builder.fadd(low, high)
    return tile.builder.extract_element(value, emit.I32(0))
