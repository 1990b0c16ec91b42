"""Copies of blocks of A and B in the order in which tiles read them, whatever their strides.

A tile broadcasts numbers of A, so A keeps the order in which it can be read in vectors: whole rows of a block, or,
where columns are contiguous, panels as high as a tile. B is packed in panels as wide as a tile. Hooks
are applied on the way.
"""

from . import emit
from .emit import I64, address, number, offset
from .spec import Site


def left(entry, block, out):
    """Pack rows `block.first_row` to `block.end_row` of A."""
    {"rows": _left_rows, "gather": _left_gather, "columns": _left_columns}[entry.spec.a_layout](entry, block, out)


def right(entry, block, out):
    """Pack the column tiles `block.first_tile` to `block.end_tile` of B."""
    layout = entry.spec.b_layout
    {"copy": _right_copy, "transpose": _right_transpose, "gather": _right_gather}[layout](entry, block, out)


def _left_rows(entry, block, out):
    """Rows contiguous along k: copy runs of whole vectors, then single numbers."""
    builder, lanes = entry.builder, entry.spec.lanes
    whole = builder.and_(block.k, I64(-lanes))
    with emit.loop(builder, block.first_row, block.end_row) as row:
        source = address(builder, entry.a, _at(entry, row.index, "a_row", block.first_k, 1), entry.spec.item)
        target = address(builder, out, _row_start(entry, block, row.index), entry.spec.item)
        for kind, start, stop, step in ((entry.spec.vector, 0, whole, lanes), (entry.spec.item, whole, block.k, 1)):
            with emit.loop(builder, start, stop, step) as k:
                value = emit.load(builder, address(builder, source, k.index, entry.spec.item), kind)
                value = _hooked_left(entry, block, value, row.index, k.index, 1)
                emit.store(builder, value, address(builder, target, k.index, entry.spec.item))


def _left_gather(entry, block, out):
    """Any strides, number by number."""
    builder = entry.builder
    with emit.loop(builder, block.first_row, block.end_row) as row:
        target = address(builder, out, _row_start(entry, block, row.index), entry.spec.item)
        with emit.loop(builder, 0, block.k) as k:
            depth = builder.add(block.first_k, k.index)
            place = offset(builder, row.index, entry.numbers.a_row, depth, entry.numbers.a_column)
            value = emit.load(builder, address(builder, entry.a, place, entry.spec.item), entry.spec.item)
            value = _hooked_left(entry, block, value, row.index, k.index, None)
            emit.store(builder, value, address(builder, target, k.index, entry.spec.item))


def _left_columns(entry, block, out):
    """Columns contiguous: one tile high; what a store writes too much, the next one overwrites."""
    builder, spec = entry.builder, entry.spec
    with emit.loop(builder, block.first_row_tile, block.end_row_tile) as tile:
        row, height = entry.row_start(tile.index), entry.height(tile.index)
        start = builder.mul(builder.sub(row, block.first_row), block.k)
        target = address(builder, out, start, spec.item)
        groups = range(0, max(spec.heights), spec.lanes)
        masks = [emit.lane_mask(builder, builder.sub(height, I64(group)), spec.lanes) for group in groups]
        with emit.loop(builder, 0, block.k) as k:
            depth = builder.add(block.first_k, k.index)
            source = address(builder, entry.a, offset(builder, row, 1, depth, entry.numbers.a_column), spec.item)
            column = address(builder, target, builder.mul(k.index, height), spec.item)
            for group, mask in zip(groups, masks, strict=True):
                value = emit.load(builder, address(builder, source, group, spec.item), spec.vector, mask)
                value = _hooked_left(entry, block, value, builder.add(row, I64(group)), k.index, 0, mask)
                emit.store(builder, value, address(builder, column, group, spec.item))


def _right_copy(entry, block, out):
    """Rows of B contiguous: read along them, a few at a time so that writes fill whole cache lines."""
    builder, rows = entry.builder, 4
    whole = builder.and_(block.k, I64(-rows))
    for start, stop, step in ((0, whole, rows), (whole, block.k, 1)):
        with emit.loop(builder, start, stop, step) as k:
            depths = [builder.add(k.index, I64(row)) for row in range(step)]
            sources = [_right_place(entry, builder.add(block.first_k, depth), "b_row", 0) for depth in depths]
            for tile, vectors, is_tail in entry.each_column_tile(block.first_tile, block.end_tile):
                target = _panel(entry, block, out, tile, k.index, 0)
                for row, (depth, source) in enumerate(zip(depths, sources, strict=True)):
                    at = address(builder, target, row * entry.spec.width, entry.spec.item)
                    _copy_row(entry, block, source, at, tile, depth, vectors, is_tail)


def _copy_row(entry, block, source, target, tile, depth, vectors, is_tail):
    builder, spec = entry.builder, entry.spec
    column = builder.mul(tile, I64(spec.width))
    source = address(builder, source, column, spec.item)
    for j in range(vectors):
        here, mask = builder.add(column, I64(j * spec.lanes)), None
        if is_tail and spec.is_tail_masked and j == vectors - 1:
            mask = emit.lane_mask(builder, builder.sub(entry.numbers.n, here), spec.lanes)
        value = emit.load(builder, address(builder, source, j * spec.lanes, spec.item), spec.vector, mask)
        value = _hooked_right(entry, block, value, depth, here, 1, mask)
        emit.store(builder, value, address(builder, target, j * spec.lanes, spec.item))


def _right_transpose(entry, block, out):
    """Columns of B contiguous: squares of vectors are transposed in registers."""
    builder, lanes = entry.builder, entry.spec.lanes
    whole = builder.and_(block.k, I64(-lanes))
    # A short tail fills the whole panel with copies of the last column, so one loop serves every tile.
    with (
        emit.loop(builder, block.first_tile, block.end_tile) as tile,
        emit.loop(builder, 0, entry.spec.vectors) as group,
    ):
        inside = builder.mul(group.index, I64(lanes))
        first = builder.add(builder.mul(tile.index, I64(entry.spec.width)), inside)
        columns = [_clamped(entry, builder.add(first, I64(lane))) for lane in range(lanes)]
        sources = [_right_place(entry, column, "b_column", block.first_k) for column in columns]
        target = _panel(entry, block, out, tile.index, 0, inside)
        with emit.loop(builder, 0, whole, lanes) as k:
            _transpose_square(entry, block, columns, sources, target, k.index)
        with emit.loop(builder, whole, block.k) as k:
            _gather_lanes(entry, block, out, tile.index, k.index, inside, lanes)


def _transpose_square(entry, block, columns, sources, target, k):
    builder, spec = entry.builder, entry.spec
    square = []
    for column, source in zip(columns, sources, strict=True):
        value = emit.load(builder, address(builder, source, k, spec.item), spec.vector)
        square.append(_hooked_right(entry, block, value, k, column, 0))
    target = address(builder, target, builder.mul(k, I64(spec.width)), spec.item)
    for row, value in enumerate(emit.transpose(builder, square, emit.item_bytes(spec.item))):
        emit.store(builder, value, address(builder, target, row * spec.width, spec.item))


def _right_place(entry, line, stride, along):
    """Where a row or a column of B, which lie `stride` apart, has its element `along`."""
    place = offset(entry.builder, along, 1, line, getattr(entry.numbers, stride))
    return address(entry.builder, entry.b, place, entry.spec.item)


def _right_gather(entry, block, out):
    """Any strides, number by number."""
    with emit.loop(entry.builder, block.first_tile, block.end_tile) as tile, emit.loop(entry.builder, 0, block.k) as k:
        _gather_lanes(entry, block, out, tile.index, k.index, 0, entry.spec.width)


def _gather_lanes(entry, block, out, tile, k, inside, count):
    builder, spec = entry.builder, entry.spec
    with emit.loop(builder, 0, count) as lane:
        within = builder.add(lane.index, number(inside))
        column = _clamped(entry, builder.add(builder.mul(tile, I64(spec.width)), within))
        depth = builder.add(block.first_k, k)
        place = offset(builder, depth, entry.numbers.b_row, column, entry.numbers.b_column)
        value = emit.load(builder, address(builder, entry.b, place, spec.item), spec.item)
        value = _hooked_right(entry, block, value, k, column, None)
        emit.store(builder, value, _panel(entry, block, out, tile, k, within))


def _clamped(entry, column):
    """Columns past the end repeat the last one: they fill lanes that are never stored."""
    return emit.minimum(entry.builder, column, entry.builder.sub(entry.numbers.n, I64(1)))


def _panel(entry, block, out, tile, k, inside):
    """Where the packed panel of a column tile keeps row `k`."""
    builder, width = entry.builder, I64(entry.spec.width)
    panel = builder.mul(builder.sub(tile, block.first_tile), builder.mul(block.k, width))
    place = builder.add(panel, offset(builder, k, entry.spec.width, inside, 1))
    return address(builder, out, place, entry.spec.item)


def _row_start(entry, block, row):
    return entry.builder.mul(entry.builder.sub(row, block.first_row), block.k)


def _at(entry, row, stride, column, column_stride):
    return offset(entry.builder, row, getattr(entry.numbers, stride), column, column_stride)


def _hooked_left(entry, block, value, row, k, axis, mask=None):
    if entry.spec.left is None:
        return value
    depth = entry.builder.add(block.first_k, k)
    return _hooked(entry, entry.spec.left, value, row, depth, axis, mask)


def _hooked_right(entry, block, value, k, column, axis, mask=None):
    if entry.spec.right is None:
        return value
    depth = entry.builder.add(block.first_k, k)
    return _hooked(entry, entry.spec.right, value, depth, column, axis, mask)


def _hooked(entry, hook, value, row, column, axis, mask):
    """Apply a hook; a place has the coordinates of the product as the user wrote it."""
    if not hasattr(value.type, "count"):
        axis = None
    site = Site(entry.builder, row, column, entry.batch, axis, entry.spec.lanes, mask, entry.extra)
    return hook(entry.builder, value, site.swapped() if entry.spec.is_swapped else site)
