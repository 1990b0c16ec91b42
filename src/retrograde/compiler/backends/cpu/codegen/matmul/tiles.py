"""Tiles of products: a few rows of C by a few vectors, over a block of k.

One tile is one call, `void(A, B, C, numbers of the block)`. A is broadcast from rows, columns or a packed panel, B is read where it
lies or from a packed panel; what is particular to products is where C keeps the sums, in vectors, in a part of the last one, or in
single numbers with any step.
"""

from ..... import cost
from .. import emit, ir
from ..emit import BYTE, I64, POINTER, address
from ..micro_kernel import Ahead, Lines, Panels, Rows, Tile, Walk, broadcast, contiguous, unrolled
from .product import BLOCK, TILE


class Writer:
    """A tile function under construction: its builder, its arguments, and the numbers of its block by name."""

    def __init__(self, module, spec, name):
        self.spec = spec
        self.function = ir.Function(module, TILE, name)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.a, self.b, self.c, block = self.function.args
        self.numbers = {
            label: self.builder.load(address(self.builder, block, place, I64), typ=I64) for place, label in enumerate(BLOCK)
        }
        self.mask = None
        if spec.is_masked:
            left = self.builder.sub(self.numbers["remaining"], I64((spec.vectors - 1) * spec.lanes))
            self.mask = emit.lane_mask(self.builder, left, spec.lanes)

    def left(self):
        """How A is read."""
        b, spec, numbers = self.builder, self.spec, self.numbers
        if spec.left == "panels":
            return Panels(b, self.a, spec.height, numbers["k"], spec)
        if spec.left == "columns":
            rows = [address(b, self.a, i, spec.item) for i in range(spec.height)]
            return Rows(rows, numbers["a_column"], BYTE, broadcast(spec))
        rows = [address(b, self.a, b.mul(I64(i), numbers["a_row"]), BYTE) for i in range(spec.height)]
        # Frozen, or LLVM would compute each row from the one before in every iteration.
        rows = [b.freeze(row) for row in rows]
        if spec.left == "rows":
            # By the index of the loop itself, which saves a register: LLVM does not see that what is carried is the same.
            return Lines(rows, 1, spec.item, broadcast(spec), pace=1)
        return Rows(rows, numbers["a_column"], BYTE, broadcast(spec))

    def right(self):
        """How B is read."""
        spec = self.spec
        offsets = range(0, spec.vectors * spec.lanes, spec.lanes)
        if spec.panel:
            return Walk(self.b, spec.panel * spec.item_bytes, spec, offsets, contiguous(spec))
        return Walk(self.b, self.numbers["b_row"], spec, offsets, contiguous(spec, self.column_mask))

    def ahead(self, loader):
        """A loader beside which what the block says is asked for."""
        pointer = self.builder.inttoptr(self.numbers["ahead"], POINTER)
        return Ahead(loader, pointer, self.numbers["ahead_step"])

    def column_mask(self, j):
        """The mask of vector `j`: only the last one of a ragged tile has one."""
        return self.mask if j == self.spec.vectors - 1 else None

    def place(self, i, j):
        """Where C has vector `j` of row `i`."""
        row = address(self.builder, self.c, self.builder.mul(emit.number(i), self.numbers["c_row"]), BYTE)
        column = j * self.spec.lanes
        if self.spec.is_c_contiguous:
            return address(self.builder, row, column, self.spec.item)
        return address(self.builder, row, self.builder.mul(I64(column), self.numbers["c_column"]), BYTE)


def build(module, spec, name):
    """Emit the function of a tile and give it back."""
    writer = Writer(module, spec, name)
    b, tile = writer.builder, Tile(spec.vector, spec.height, spec.vectors, spec.is_fused, add_products=spec.add_products)
    left, right = writer.left(), writer.ahead(writer.right())
    _prefetch(writer)
    sums = tile.grid(tile.over_blocks(b, unrolled(b, writer.numbers["k"], cost.TILE_STEPS), left, right))
    if spec.is_c_contiguous and not spec.is_masked:
        _store(writer, sums)
    else:
        _store_row_by_row(writer, sums)
    b.ret_void()
    return writer.function


def _prefetch(tile):
    """Ask early for the rows of C that are read when the block of k ends."""
    with tile.builder.if_then(_is_added(tile)):
        for i in range(tile.spec.height):
            emit.prefetch(tile.builder, tile.place(i, 0), is_written=True)
            if tile.spec.is_c_contiguous:  # both ends of a row: a tile seldom starts where a cache line does
                # The last number of the row.
                end = address(tile.builder, tile.place(i, tile.spec.vectors), -1, tile.spec.item)
                emit.prefetch(tile.builder, end, is_written=True)


def _store(tile, sums):
    """Whole vectors, straight from registers to C."""
    builder, vector = tile.builder, tile.spec.vector
    places = [[tile.place(i, j) for j in range(tile.spec.vectors)] for i in range(tile.spec.height)]
    pairs = [pair for row, line in zip(sums, places, strict=True) for pair in zip(row, line, strict=True)]
    with builder.if_else(_is_added(tile)) as (added, fresh):
        with added:
            for value, place in pairs:
                emit.store(builder, tile.spec.added(builder, emit.load(builder, place, vector), value), place)
        with fresh:
            for value, place in pairs:
                emit.store(builder, value, place)


def _is_added(tile):
    """Whether C holds the sums of the blocks of k before this one."""
    return tile.builder.icmp_signed("!=", tile.numbers["is_added"], I64(0))


def _store_row_by_row(tile, sums):
    """Through the stack, row by row."""
    builder, spec, vectors = tile.builder, tile.spec, tile.spec.vectors
    # A loop over rows needs an index, which registers do not have; written out for each row, masks and steps would be most of
    # the code.
    buffer = emit.vectors(builder, spec.height * vectors, spec.vector)
    for number, value in enumerate(x for row in sums for x in row):
        emit.store(builder, value, address(builder, buffer, number, spec.vector))
    with emit.loop(builder, 0, spec.height) as row:
        for j in range(vectors):
            spot = builder.add(builder.mul(row.index, I64(vectors)), I64(j))
            _store_vector(tile, row.index, j, address(builder, buffer, spot, spec.vector))


def _store_vector(tile, i, j, slot):
    """Store the vector in a slot as vector `j` of row `i`."""
    builder, spec = tile.builder, tile.spec
    place, mask = tile.place(i, j), tile.column_mask(j)
    with builder.if_then(_is_added(tile)):
        total = spec.added(builder, _current(tile, place, j, mask), emit.load(builder, slot, spec.vector))
        emit.store(builder, total, slot)
    if spec.is_c_contiguous:
        emit.store(builder, emit.load(builder, slot, spec.vector), place, mask)
        return
    with emit.loop(builder, 0, _lanes(tile, j)) as lane:
        number = emit.load(builder, address(builder, slot, lane.index, spec.item), spec.item)
        emit.store(builder, number, _lane_place(tile, place, lane.index))


def _current(tile, place, j, mask):
    """What C holds at a vector."""
    builder, spec = tile.builder, tile.spec
    if spec.is_c_contiguous:
        return emit.load(builder, place, spec.vector, mask)
    slot = emit.scratch(builder, spec.vector)
    emit.store(builder, emit.zeros(spec.vector), slot)
    with emit.loop(builder, 0, _lanes(tile, j)) as lane:
        number = emit.load(builder, _lane_place(tile, place, lane.index), spec.item)
        emit.store(builder, number, address(builder, slot, lane.index, spec.item))
    return emit.load(builder, slot, spec.vector)


def _lanes(tile, j):
    """How many lanes of vector `j` lie inside C."""
    if tile.column_mask(j) is None:
        return tile.spec.lanes
    return tile.builder.sub(tile.numbers["remaining"], I64(j * tile.spec.lanes))


def _lane_place(tile, place, lane):
    return address(tile.builder, place, tile.builder.mul(lane, tile.numbers["c_column"]), BYTE)
