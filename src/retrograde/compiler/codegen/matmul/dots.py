"""Products whose operands both run along k: short sums of dot products, with vectors along k and nothing packed.

A few rows of A meet a few columns of B in registers; each pair of them has one or more partial sums, which are added up
in a fixed order at the end. Matrix times vector, and results narrower than a vector, are done this way.
"""

from .. import ir
from . import emit
from .blocking import Entry
from .emit import I64, address, offset
from .tiles import Tile

_CHAINS = 8


def build(module, spec, name):
    """Emit the entry function `name` of a product made of dot products."""
    entry = Entry(module, spec, name)
    functions = {
        (height, width): _tile(module, spec, f"{name}.{height}x{width}", height, width)
        for height in spec.heights
        for width in spec.widths
    }
    batches, rows, columns = entry.chunk()
    with entry.each_batch(*batches):
        packed = _pack(entry, columns)
        # All rows for each group of columns: what was packed and a vector stay in the first cache.
        with emit.loop(entry.builder, *columns) as column_tile, emit.loop(entry.builder, *rows) as row_tile:
            _call(entry, functions, packed, columns[0], row_tile.index, column_tile.index)
    entry.builder.ret_void()
    return entry.function


def _pack(entry, columns):
    """Copy the columns of B one after the other, where they are not contiguous already."""
    if entry.spec.b_layout == "direct":
        return None
    builder, numbers, spec = entry.builder, entry.numbers, entry.spec
    first, end = (entry.column_start(tile) for tile in columns)
    with emit.loop(builder, first, end) as column, emit.loop(builder, 0, numbers.k) as k:
        place = offset(builder, k.index, numbers.b_row, column.index, numbers.b_column)
        value = emit.load(builder, address(builder, entry.b, place, spec.item), spec.item)
        target = offset(builder, k.index, 1, builder.sub(column.index, first), numbers.k)
        emit.store(builder, value, address(builder, entry.workspace, target, spec.item))
    return entry.workspace


def _call(entry, functions, packed, first_tile, row_tile, column_tile):
    """Call the function for the sizes of this tile."""
    builder, spec, numbers = entry.builder, entry.spec, entry.numbers
    row, column = entry.row_start(row_tile), entry.column_start(column_tile)
    stride = numbers.b_column if packed is None else numbers.k
    start = column if packed is None else builder.sub(column, entry.column_start(first_tile))
    named = {
        "k": numbers.k,
        "a": address(builder, entry.a, builder.mul(row, numbers.a_row), spec.item),
        "b": address(builder, entry.b if packed is None else packed, builder.mul(start, stride), spec.item),
        "c": address(builder, entry.c, offset(builder, row, numbers.c_row, column, numbers.c_column), spec.item),
        "b_column": stride,
        "is_added": emit.I1(spec.hooks.accumulate),
        "is_last": emit.I1(1),
        "row": row,
        "column": column,
        "batch": entry.batch,
        "extra": entry.extra,
    }
    named |= {name: getattr(numbers, name) for name in ("a_row", "a_column", "b_row", "c_row", "c_column")}
    arguments = entry.arguments(named)
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


def _tile(module, spec, name, height, width):
    """Emit the function of `height` rows by `width` columns."""
    tile = Tile(module, spec, name, height, width, False)
    _finish(tile, [_horizontal(tile, total) for total in _product(tile)])
    tile.builder.ret_void()
    return tile.function


def _product(tile):
    """One vector of partial sums for each pair of a row and a column."""
    builder, lanes = tile.builder, tile.spec.lanes
    pairs = tile.height * tile.vectors
    turns = max(1, _CHAINS // pairs)
    whole = builder.sub(tile.k, builder.srem(tile.k, I64(turns * lanes)))
    start = [emit.zeros(tile.spec.vector)] * (pairs * turns)
    with emit.loop(builder, 0, whole, turns * lanes, start) as main:
        for turn in range(turns):
            k = builder.add(main.index, I64(turn * lanes))
            main.values[turn * pairs : (turn + 1) * pairs] = _step(tile, k, main.values[turn * pairs : (turn + 1) * pairs], None)
    sums = [_pairwise(builder, main.results[pair::pairs]) for pair in range(pairs)]
    with emit.loop(builder, whole, tile.k, lanes, sums) as rest:
        mask = emit.lane_mask(builder, builder.sub(tile.k, rest.index), lanes)
        rest.values = _step(tile, rest.index, rest.values, mask)
    return rest.results


def _step(tile, k, sums, mask):
    """One vector of each row times one of each column."""
    left = [_operand(tile, "left", i, k, mask) for i in range(tile.height)]
    right = [_operand(tile, "right", j, k, mask) for j in range(tile.vectors)]
    pairs = [(x, y) for x in left for y in right]
    is_fused = tile.spec.is_fused
    return [emit.multiply_add(tile.builder, x, y, total, is_fused) for (x, y), total in zip(pairs, sums, strict=True)]


def _operand(tile, side, number, k, mask):
    """A vector along k of a row of A or a column of B, with its hook; lanes past the end are zero."""
    builder, spec = tile.builder, tile.spec
    pointer, stride, hook = {"left": (tile.a, tile.a_row, spec.left), "right": (tile.b, tile.b_column, spec.right)}[side]
    where = address(builder, pointer, offset(builder, number, stride, k, 1), spec.item)
    value = emit.load(builder, where, spec.vector, mask)
    if hook is None:
        return value
    if side == "left":
        site = tile.site(builder.add(tile.row, I64(number)), k, 1, spec.lanes, mask)
    else:
        site = tile.site(k, builder.add(tile.column, I64(number)), 0, spec.lanes, mask)
    value = hook(builder, value, site)
    # A hook may turn the zeros past the end into something else.
    return value if mask is None else builder.select(emit.test(builder, mask), value, emit.zeros(value.type))


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


def _finish(tile, totals):
    """Store the sums, straight away or, with an epilogue, through a loop that holds its code once."""
    builder, spec = tile.builder, tile.spec
    if spec.hooks.epilogue is None:
        for place, total in enumerate(totals):
            _store(tile, I64(place // tile.vectors), I64(place % tile.vectors), total)
        return
    buffer = emit.scratch(builder, ir.ArrayType(spec.item, len(totals)))
    for place, total in enumerate(totals):
        emit.store(builder, total, address(builder, buffer, place, spec.item))
    with emit.loop(builder, 0, tile.height) as i, emit.loop(builder, 0, tile.vectors) as j:
        place = offset(builder, i.index, tile.vectors, j.index, 1)
        _store(tile, i.index, j.index, emit.load(builder, address(builder, buffer, place, spec.item), spec.item))


def _store(tile, i, j, value):
    builder, spec = tile.builder, tile.spec
    where = address(builder, tile.c, offset(builder, i, tile.c_row, j, tile.c_column), spec.item)
    if spec.hooks.accumulate:
        value = builder.fadd(emit.load(builder, where, spec.item), value)
    if spec.hooks.epilogue is not None:
        site = tile.site(builder.add(tile.row, i), builder.add(tile.column, j), None, 1, None)
        value = spec.hooks.epilogue(builder, value, site)
    emit.store(builder, value, where)
