"""The register tile: a few rows of C by a few vectors, held in registers over a whole block of k.

One tile is one call, `void(A, B, C, numbers of the block)`; see K. Goto and R. van de Geijn, Anatomy of high-performance matrix
multiplication, ACM TOMS 34(3), 2008, and F. Van Zee and R. van de Geijn, BLIS, ACM TOMS 41(3), 2015 ("micro-kernel").
"""

from .. import emit, ir
from ..emit import BYTE, I64, address
from .product import BLOCK, TILE

_UNROLL = 4


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
        #: Where A has the first number of each row, and how far the next one is, counted in what.
        self.rows, self.left_move, self.left_unit = self._rows(), *self._left_move()
        #: How many bytes the next row of B is away.
        self.right_move = spec.panel * spec.item_bytes or self.numbers["b_row"]

    def _rows(self):
        if self.spec.left in ("panels", "columns"):
            return [address(self.builder, self.a, i, self.spec.item) for i in range(self.spec.height)]
        step = self.numbers["a_row"]
        rows = [address(self.builder, self.a, self.builder.mul(I64(i), step), BYTE) for i in range(self.spec.height)]
        # Frozen, or LLVM would compute each row from the one before in every iteration.
        return [self.builder.freeze(row) for row in rows]

    def _left_move(self):
        if self.spec.left == "rows":
            return 1, self.spec.item
        return (self.spec.height, self.spec.item) if self.spec.left == "panels" else (self.numbers["a_column"], BYTE)

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
    tile = Writer(module, spec, name)
    _prefetch(tile)
    sums = _product(tile)
    if spec.is_c_contiguous and not spec.is_masked:
        _store(tile, sums)
    else:
        _store_row_by_row(tile, sums)
    tile.builder.ret_void()
    return tile.function


def _prefetch(tile):
    """Ask early for the rows of C that are read when the block of k ends."""
    with tile.builder.if_then(_is_added(tile)):
        for i in range(tile.spec.height):
            _prefetch_line(tile, tile.place(i, 0), 1)
            if tile.spec.is_c_contiguous:  # both ends of a row: a tile seldom starts where a cache line does
                end = address(tile.builder, tile.place(i, tile.spec.vectors), -1, tile.spec.item)
                _prefetch_line(tile, end, 1)


def _prefetch_line(tile, where, is_write):
    """Fetch a cache line of data into the first cache."""
    arguments = [where, *(emit.I32(x) for x in (is_write, 3, 1))]
    tile.builder.call_external("llvm.prefetch.p0", ir.VoidType(), arguments)


def _product(tile):
    """The sums over this block of k, as rows of vectors."""
    vectors, builder, depth = tile.spec.vectors, tile.builder, tile.numbers["k"]
    start = [emit.zeros(tile.spec.vector)] * (tile.spec.height * vectors)
    whole = builder.and_(depth, I64(-_UNROLL))
    next_panel = address(builder, tile.a, builder.mul(depth, I64(tile.spec.height)), tile.spec.item)
    with emit.loop(builder, 0, whole, _UNROLL, [I64(0), tile.b, *start]) as main:
        if tile.spec.left == "panels":
            _prefetch_panel(tile, address(builder, next_panel, main.values[0], tile.left_unit))
        main.values = _steps(tile, _UNROLL, *main.values)
    with emit.loop(builder, whole, depth, 1, main.results) as rest:
        rest.values = _steps(tile, 1, *rest.values)
    sums = rest.results[2:]
    return [sums[i : i + vectors] for i in range(0, len(sums), vectors)]


def _prefetch_panel(tile, ahead):
    """Bring what the next tile reads of its panel of A, which follows this one, into the first cache meanwhile."""
    for place in range(0, _UNROLL * tile.spec.height * tile.spec.item_bytes, 64):
        _prefetch_line(tile, address(tile.builder, ahead, place, BYTE), 0)


def _steps(tile, count, left, right, *sums):
    """So many rank-one updates of the tile, `left` along the rows of A, with B from `right` on: where these go on, and the
    sums.
    """
    builder = tile.builder
    for step in range(count):
        sums = _step(tile, (left, emit.scaled(builder, step, tile.left_move)), _after(tile, right, step), list(sums))
    return [builder.add(left, emit.number(emit.scaled(builder, count, tile.left_move))), _after(tile, right, count), *sums]


def _after(tile, right, steps):
    """Where B has the row so many steps after the one at `right`."""
    return address(tile.builder, right, emit.scaled(tile.builder, steps, tile.right_move), BYTE)


def _step(tile, left, right, sums):
    """One rank-one update of the tile."""
    spec, builder = tile.spec, tile.builder
    row_of_b = _row_of_b(tile, right)
    for i, row in enumerate(tile.rows):
        for move in left:
            row = address(builder, row, move, tile.left_unit)
        number = emit.splat(builder, emit.load(builder, row, spec.item), spec.lanes)
        for j, vector in enumerate(row_of_b, i * spec.vectors):
            sums[j] = emit.multiply_add(builder, number, vector, sums[j], spec.is_fused)
    return sums


def _row_of_b(tile, right):
    """The vectors of B for one k."""
    builder, spec = tile.builder, tile.spec
    masks = [None if spec.panel else tile.column_mask(j) for j in range(spec.vectors)]
    return [
        emit.load(builder, address(builder, right, j * spec.lanes, spec.item), spec.vector, mask) for j, mask in enumerate(masks)
    ]


def _store(tile, sums):
    """Whole vectors, straight from registers to C."""
    builder, vector = tile.builder, tile.spec.vector
    places = [[tile.place(i, j) for j in range(tile.spec.vectors)] for i in range(tile.spec.height)]
    pairs = [pair for row, line in zip(sums, places, strict=True) for pair in zip(row, line, strict=True)]
    with builder.if_else(_is_added(tile)) as (added, fresh):
        with added:
            for value, place in pairs:
                emit.store(builder, builder.fadd(emit.load(builder, place, vector), value), place)
        with fresh:
            for value, place in pairs:
                emit.store(builder, value, place)


def _is_added(tile):
    """Whether C holds the sums of the blocks of k before this one."""
    return tile.builder.icmp_signed("!=", tile.numbers["is_added"], I64(0))


def _store_row_by_row(tile, sums):
    """Through the stack, row by row."""
    builder, spec, vectors = tile.builder, tile.spec, tile.spec.vectors
    buffer = emit.scratch(builder, ir.ArrayType(spec.vector, spec.height * vectors), spec.lanes * spec.item_bytes)
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
        total = builder.fadd(_current(tile, place, j, mask), emit.load(builder, slot, spec.vector))
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
