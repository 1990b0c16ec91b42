"""Copies of blocks of A and B in the order in which tiles read them, whatever their strides.

A tile broadcasts numbers of A, so A keeps the order in which it can be read in vectors: whole rows of a block, or, where columns
are contiguous, panels as high as a tile. B is packed in panels as wide as a tile. Each is a function
`void(out, source, first k, rows of k, first tile, end tile, descriptor)`.
"""

from .. import emit, ir
from ..emit import BYTE, I64, address, offset
from ..prefetch import prefetch
from . import pairs, unpacking
from .part import Numbered
from .product import PACK

#: So many rows of k are copied together, so that what is written of them fills whole cache lines.
_TOGETHER = 4
#: Rows of B are asked for so many rows before they are copied.
_AHEAD = 8
_HALF = ir.IntType(16)


class _Writer(Numbered):
    """A packing function under construction."""

    def __init__(self, module, spec, name):
        super().__init__(module, name, PACK.arguments, 6)
        self.spec = spec
        self.out, self.source, self.first_k, self.k, self.first_tile, self.end_tile, _ = self.function.args

    def element(self, row, row_step, along, along_step):
        """Where the source has an element; steps are in bytes."""
        return address(self.builder, self.source, offset(self.builder, row, row_step, along, along_step), BYTE)

    def along(self, pointer, count):
        """The element so many behind one, of neighbours in the source."""
        return address(self.builder, pointer, count, _HALF if self.spec.has_pairs else self.spec.item)

    def load(self, pointer, step, kind, mask=None):
        """What is packed of an element of the source, or of a vector of neighbours; k goes on by `step` bytes."""
        if not self.spec.has_pairs:
            return emit.load(self.builder, pointer, kind, mask)
        return pairs.loaded(self.builder, pointer, self.builder.ashr(step, I64(1)), kind, mask)

    def panel(self, tile):
        """Where the panel of a column tile begins."""
        before = self.builder.mul(self.builder.sub(tile, self.first_tile), self.builder.mul(self.k, I64(self.spec.width)))
        return address(self.builder, self.out, before, self.spec.item)

    def row_of(self, panel, k, inside=0):
        """Where a panel keeps row `k`, from its column `inside` on."""
        return address(self.builder, panel, offset(self.builder, k, self.spec.width, inside, 1), self.spec.item)


def build(module, spec, name):
    """Emit a packing function and give it back."""
    writer = _Writer(module, spec, name)
    _LAYOUTS[spec.is_right, spec.layout](writer)
    writer.builder.ret_void()
    return writer.function


def _left_rows(w):
    """Rows contiguous along k: copy runs of whole vectors, then single numbers."""
    builder, spec = w.builder, w.spec
    whole = builder.and_(w.k, I64(-spec.lanes))
    start = w.element(w.row_start(w.first_tile), w.numbers.a_row, w.first_k, w.numbers.a_column)
    with emit.loop(builder, 0, _rows(w)) as row:
        source = address(builder, start, builder.mul(row.index, w.numbers.a_row), BYTE)
        target = address(builder, w.out, builder.mul(row.index, w.k), spec.item)
        for kind, first, stop, step in ((spec.vector, 0, whole, spec.lanes), (spec.item, whole, w.k, 1)):
            with emit.loop(builder, first, stop, step) as k:
                value = emit.load(builder, address(builder, source, k.index, spec.item), kind)
                emit.store(builder, value, address(builder, target, k.index, spec.item))


def _left_gather(w):
    """Any strides, number by number."""
    builder, spec = w.builder, w.spec
    start = w.element(w.row_start(w.first_tile), w.numbers.a_row, w.first_k, w.numbers.a_column)
    with emit.loop(builder, 0, _rows(w)) as row, emit.loop(builder, 0, w.k) as k:
        place = offset(builder, row.index, w.numbers.a_row, k.index, w.numbers.a_column)
        target = builder.add(builder.mul(row.index, w.k), k.index)
        value = w.load(address(builder, start, place, BYTE), w.numbers.a_column, spec.item)
        emit.store(builder, value, address(builder, w.out, target, spec.item))


def _rows(w):
    """How many rows the block has."""
    return w.builder.sub(w.row_start(w.end_tile), w.row_start(w.first_tile))


def _left_columns(w):
    """Columns contiguous: read along them, a few rows of k at a time, into panels as high as a tile. What a store writes too much,
    that of a later k overwrites; the last ones, which would reach into the panel of the next tile, write no more than they should.
    """
    builder, spec = w.builder, w.spec
    # The tiles of a product differ by one row at most.
    shortest, written = max(1, spec.height - 1), -(-spec.height // spec.lanes) * spec.lanes
    last = emit.maximum(builder, builder.sub(w.k, I64(-(-written // shortest) - 1)), 0)
    whole = builder.and_(last, I64(-_TOGETHER))
    for first, stop, step in ((0, whole, _TOGETHER), (whole, last, 1), (last, w.k, 1)):
        with emit.loop(builder, first, stop, step) as k, emit.loop(builder, w.first_tile, w.end_tile) as tile:
            _copy_columns(w, tile.index, k.index, step, is_last=first is last)


def _copy_columns(w, tile, k, count, is_last):
    """Copy some rows of k of one row tile."""
    builder, spec = w.builder, w.spec
    row, height = w.row_start(tile), w.height(tile)
    source = w.element(row, w.numbers.a_row, builder.add(w.first_k, k), w.numbers.a_column)
    before = builder.add(builder.mul(builder.sub(row, w.row_start(w.first_tile)), w.k), builder.mul(k, height))
    target, groups = address(builder, w.out, before, spec.item), range(0, spec.height, spec.lanes)
    # Only the tiles at the end of A need masks to read: a vector that ends in the next tile is no harm.
    is_inside = builder.icmp_signed("<=", builder.add(row, I64(groups[-1] + spec.lanes)), w.numbers.m)
    with builder.if_else(is_inside) as branches:
        for branch, is_masked in zip(branches, (False, True), strict=True):
            with branch:
                masks = [None] * len(groups)
                if is_masked or is_last:
                    masks = [emit.lane_mask(builder, builder.sub(height, I64(group)), spec.lanes) for group in groups]
                for step in range(count):
                    there = address(builder, source, emit.scaled(builder, step, w.numbers.a_column), BYTE)
                    here = address(builder, target, emit.scaled(builder, step, height), spec.item)
                    for group, mask in zip(groups, masks, strict=True):
                        value = w.load(w.along(there, group), w.numbers.a_column, spec.vector, mask)
                        emit.store(builder, value, address(builder, here, group, spec.item), mask if is_last else None)


def _right_copy(w):
    """Rows of B contiguous: read along them, a few at a time."""
    builder = w.builder
    full = emit.minimum(builder, w.end_tile, w.numbers.full_tiles)
    whole = builder.and_(w.k, I64(-_TOGETHER))
    for first, stop, step in ((0, whole, _TOGETHER), (whole, w.k, 1)):
        with emit.loop(builder, first, stop, step) as k:
            depths = [builder.add(k.index, I64(row)) for row in range(step)]
            with emit.loop(builder, w.first_tile, full) as tile:
                _copy_rows(w, tile.index, depths, [None] * w.spec.vectors)
            with builder.if_then(builder.icmp_signed(">", w.end_tile, full)):
                _copy_rows(w, full, depths, _masks(w, full))


def _masks(w, tile):
    """The lanes of each vector of a tile that are columns of B."""
    builder, spec = w.builder, w.spec
    rest = builder.sub(w.numbers.n, builder.mul(tile, I64(spec.width)))
    return [emit.lane_mask(builder, builder.sub(rest, I64(j * spec.lanes)), spec.lanes) for j in range(spec.vectors)]


def _copy_rows(w, tile, depths, masks):
    """Copy some rows of one column tile."""
    builder, spec = w.builder, w.spec
    panel, column = w.panel(tile), builder.mul(tile, I64(spec.width))
    for depth in depths:
        source = w.element(builder.add(w.first_k, depth), w.numbers.b_row, 0, 0)
        source, target = w.along(source, column), w.row_of(panel, depth)
        # Of a narrow block the processor does not foresee the next rows, which may lie on pages of their own.
        later = address(builder, source, builder.mul(w.numbers.b_row, I64(_AHEAD)), BYTE)
        prefetch(builder, later, spec.width * (2 if spec.has_pairs else emit.item_bytes(spec.item)))
        for j, mask in enumerate(masks):
            value = w.load(w.along(source, j * spec.lanes), w.numbers.b_row, spec.vector, mask)
            emit.store(builder, value, address(builder, target, j * spec.lanes, spec.item))


def _right_transpose(w):
    """Columns of B contiguous: squares of vectors are transposed in registers."""
    builder, spec, lanes = w.builder, w.spec, w.spec.lanes
    whole = builder.and_(w.k, I64(-lanes))
    # A short tail fills the whole panel with copies of the last column, so one loop serves every tile.
    with emit.loop(builder, w.first_tile, w.end_tile) as tile, emit.loop(builder, 0, spec.vectors) as group:
        inside = builder.mul(group.index, I64(lanes))
        first = builder.add(builder.mul(tile.index, I64(spec.width)), inside)
        columns = [_clamped(w, builder.add(first, I64(lane))) for lane in range(lanes)]
        sources = [w.element(w.first_k, w.numbers.b_row, column, w.numbers.b_column) for column in columns]
        panel = w.panel(tile.index)
        with emit.loop(builder, 0, whole, lanes) as k:
            square = [emit.load(builder, address(builder, source, k.index, spec.item), spec.vector) for source in sources]
            target = w.row_of(panel, k.index, inside)
            for row, value in enumerate(emit.transpose(builder, square, emit.item_bytes(spec.item))):
                emit.store(builder, value, address(builder, target, row * spec.width, spec.item))
        with emit.loop(builder, whole, w.k) as k:
            _gather(w, tile.index, panel, k.index, inside, lanes)


def _right_gather(w):
    """Any strides, number by number."""
    with emit.loop(w.builder, w.first_tile, w.end_tile) as tile, emit.loop(w.builder, 0, w.k) as k:
        _gather(w, tile.index, w.panel(tile.index), k.index, I64(0), w.spec.width)


def _gather(w, tile, panel, k, inside, count):
    """Copy `count` numbers of row `k` of a column tile, from its column `inside` on."""
    builder, spec = w.builder, w.spec
    with emit.loop(builder, 0, count) as lane:
        within = builder.add(lane.index, inside)
        column = _clamped(w, builder.add(builder.mul(tile, I64(spec.width)), within))
        source = w.element(builder.add(w.first_k, k), w.numbers.b_row, column, w.numbers.b_column)
        emit.store(builder, w.load(source, w.numbers.b_row, spec.item), w.row_of(panel, k, within))


def _clamped(w, column):
    """Columns past the end repeat the last one: they fill lanes that are never stored."""
    return emit.minimum(w.builder, column, w.builder.sub(w.numbers.n, I64(1)))


_LAYOUTS = {
    (False, "rows"): _left_rows,
    (False, "columns"): _left_columns,
    (False, "gather"): _left_gather,
    (True, "copy"): _right_copy,
    (True, "transpose"): _right_transpose,
    (True, "gather"): _right_gather,
    (True, "blocks along k"): unpacking.along_k,
    (True, "blocks across k"): unpacking.across_k,
}
