"""The end of a register tile: add what C holds, apply the epilogue, store, sum columns."""

from .. import ir
from . import emit
from .emit import I64


def build(tile, sums):
    """Emit the end of `tile`, whose sums are rows of vectors."""
    spec = tile.spec
    is_plain = spec.hooks.epilogue is None and spec.hooks.column_sums is None
    if is_plain and spec.is_c_contiguous and not tile.is_masked:
        _plain(tile, sums)
    else:
        _row_by_row(tile, sums)


def _plain(tile, sums):
    """Whole vectors and no hooks: straight from registers to C."""
    builder = tile.builder
    if tile.spec.is_single_block and not tile.spec.hooks.accumulate:
        _store_all(tile, sums)
        return
    with builder.if_else(tile.is_added) as (added, fresh):
        with added:
            total = [[_added(tile, i, j, x) for j, x in enumerate(row)] for i, row in enumerate(sums)]
            _store_all(tile, total)
        with fresh:
            _store_all(tile, sums)


def _added(tile, i, j, value):
    return tile.builder.fadd(emit.load(tile.builder, _place(tile, i, j), tile.spec.vector), value)


def _store_all(tile, sums):
    for i, row in enumerate(sums):
        for j, value in enumerate(row):
            emit.store(tile.builder, value, _place(tile, i, j))


def _place(tile, i, j):
    spot = emit.offset(tile.builder, i, tile.c_row, j * tile.spec.lanes, tile.c_column)
    return emit.address(tile.builder, tile.c, spot, tile.spec.item)


def _row_by_row(tile, sums):
    """Through the stack, so that the code of the hooks appears once and not once for each register."""
    builder, spec, vectors = tile.builder, tile.spec, tile.vectors
    size = spec.lanes * emit.item_bytes(spec.item)
    buffer = emit.scratch(builder, ir.ArrayType(spec.vector, tile.height * vectors), size)
    for number, value in enumerate(x for row in sums for x in row):
        emit.store(builder, value, emit.address(builder, buffer, number, spec.vector))
    is_summed = spec.hooks.column_sums is not None
    carry = [emit.zeros(spec.vector)] * (vectors if is_summed else 0)
    with emit.loop(builder, 0, tile.height, 1, carry) as rows:
        for j in range(vectors):
            spot = builder.add(builder.mul(rows.index, I64(vectors)), I64(j))
            value = _vector(tile, rows.index, j, emit.address(builder, buffer, spot, spec.vector))
            if is_summed:
                rows.values[j] = builder.fadd(rows.values[j], value)
    if is_summed:
        _store_sums(tile, rows.results)


def _vector(tile, i, j, slot):
    """Finish one vector of one row; the answer is what was stored."""
    builder, spec = tile.builder, tile.spec
    place, mask = _place(tile, i, j), tile.column_mask(j)
    value = emit.load(builder, slot, spec.vector)
    value = _chosen(tile, tile.is_added, value, lambda x: builder.fadd(x, _current(tile, place, j, mask)))
    if spec.hooks.epilogue is not None:
        value = _chosen(tile, tile.is_last, value, lambda x: _epilogue(tile, i, j, x, mask))
    if spec.is_c_contiguous:
        emit.store(builder, value, place, mask)
        return value
    emit.store(builder, value, slot)
    with emit.loop(builder, 0, _lanes(tile, j)) as lane:
        number = emit.load(builder, emit.address(builder, slot, lane.index, spec.item), spec.item)
        emit.store(builder, number, _lane_place(tile, place, lane.index))
    return value


def _current(tile, place, j, mask):
    """What C holds at a vector."""
    builder, spec = tile.builder, tile.spec
    if spec.is_c_contiguous:
        return emit.load(builder, place, spec.vector, mask)
    slot = emit.scratch(builder, spec.vector)
    emit.store(builder, emit.zeros(spec.vector), slot)
    with emit.loop(builder, 0, _lanes(tile, j)) as lane:
        number = emit.load(builder, _lane_place(tile, place, lane.index), spec.item)
        emit.store(builder, number, emit.address(builder, slot, lane.index, spec.item))
    return emit.load(builder, slot, spec.vector)


def _lanes(tile, j):
    """How many lanes of vector `j` lie inside C."""
    if tile.column_mask(j) is None:
        return tile.spec.lanes
    return tile.builder.sub(tile.remaining, I64(j * tile.spec.lanes))


def _lane_place(tile, place, lane):
    return emit.address(tile.builder, place, tile.builder.mul(lane, emit.number(tile.c_column)), tile.spec.item)


def _epilogue(tile, i, j, value, mask):
    builder = tile.builder
    row = builder.add(tile.row, emit.number(i))
    column = builder.add(tile.column, I64(j * tile.spec.lanes))
    return tile.spec.hooks.epilogue(builder, value, tile.site(row, column, 1, tile.spec.lanes, mask))


def _chosen(tile, condition, value, change):
    """`change(value)` where the condition holds at run time, without a test where it is settled."""
    settled = tile.settled(condition)
    if settled is not None:
        return change(value) if settled else value
    builder = tile.builder
    before = builder.block
    with builder.if_then(condition):
        changed, inside = change(value), builder.block
    result = builder.phi(value.type)
    result.add_incoming(value, before)
    result.add_incoming(changed, inside)
    return result


def _store_sums(tile, totals):
    """Column sums of this tile, written only by its last block of k."""
    builder, spec = tile.builder, tile.spec
    with builder.if_then(tile.is_last):
        for j, value in enumerate(totals):
            column = builder.add(tile.column, I64(j * spec.lanes))
            emit.store(builder, value, emit.address(builder, tile.sums, column, spec.item), tile.column_mask(j))
