"""One row times a matrix too large for the caches: rows of B are read from end to end, a few at a time.

Nothing is used twice, so memory sets the pace, and long runs of consecutive addresses are what it reads fastest. Sums
stay in the row of C, which fits the first cache.
"""

from . import emit
from .blocking import Entry
from .emit import I64, address, offset
from .spec import Site

_ROWS = 8


def build(module, spec, name):
    """Emit the entry function `name` of a streamed row times matrix."""
    entry = Entry(module, spec, name)
    builder, numbers = entry.builder, entry.numbers
    batches, rows, columns = entry.chunk()
    whole = builder.and_(numbers.k, I64(-_ROWS))
    with (
        entry.each_batch(*batches),
        emit.loop(builder, *rows),
        emit.loop(builder, *columns, numbers.column_tiles_block) as block,
    ):
        end = emit.minimum(builder, builder.add(block.index, numbers.column_tiles_block), columns[1])
        if not spec.hooks.accumulate:
            _sweep(entry, block.index, end, lambda value, column, mask: emit.zeros(spec.vector))
        for start, stop, step in ((0, whole, _ROWS), (whole, numbers.k, 1)):
            with emit.loop(builder, start, stop, step) as k:
                _add_rows(entry, block.index, end, k.index, step)
        if spec.hooks.epilogue is not None:
            _sweep(entry, block.index, end, lambda value, column, mask: _finished(entry, value, column, mask))
    builder.ret_void()
    return entry.function


def _sweep(entry, first, end, change):
    """Replace every vector of C by what `change` makes of it."""
    builder, spec = entry.builder, entry.spec
    for tile, vectors, is_tail in entry.each_column_tile(first, end):
        for j in range(vectors):
            column = builder.add(builder.mul(tile, I64(spec.width)), I64(j * spec.lanes))
            mask = None
            if is_tail and spec.is_tail_masked and j == vectors - 1:
                mask = emit.lane_mask(builder, builder.sub(entry.numbers.n, column), spec.lanes)
            where = address(builder, entry.c, column, spec.item)
            value = emit.load(builder, where, spec.vector, mask)
            emit.store(builder, change(value, column, mask), where, mask)


def _add_rows(entry, first, end, k, count):
    """Add `count` rows of B, each times its number of A, to the row of C."""
    builder, spec = entry.builder, entry.spec
    depths = [builder.add(k, I64(row)) for row in range(count)]
    factors = [emit.splat(builder, _left(entry, depth), spec.lanes) for depth in depths]

    def add(value, column, mask):
        for depth, factor in zip(depths, factors, strict=True):
            value = emit.multiply_add(builder, factor, _right(entry, depth, column, mask), value, spec.is_fused)
        return value

    _sweep(entry, first, end, add)


def _left(entry, k):
    place = entry.builder.mul(k, entry.numbers.a_column)
    value = emit.load(entry.builder, address(entry.builder, entry.a, place, entry.spec.item), entry.spec.item)
    return _hooked(entry, entry.spec.left, value, I64(0), k, None, None)


def _right(entry, k, column, mask):
    place = offset(entry.builder, k, entry.numbers.b_row, column, 1)
    value = emit.load(entry.builder, address(entry.builder, entry.b, place, entry.spec.item), entry.spec.vector, mask)
    return _hooked(entry, entry.spec.right, value, k, column, 1, mask)


def _finished(entry, value, column, mask):
    return _hooked(entry, entry.spec.hooks.epilogue, value, I64(0), column, 1, mask)


def _hooked(entry, hook, value, row, column, axis, mask):
    if hook is None:
        return value
    site = Site(entry.builder, row, column, entry.batch, axis, entry.spec.lanes, mask, entry.extra)
    return hook(entry.builder, value, site.swapped() if entry.spec.is_swapped else site)
