"""The register tile: a few rows of C by a few vectors, held in registers over a whole block of k.

One tile is one call; see K. Goto and R. van de Geijn, Anatomy of high-performance matrix multiplication, ACM TOMS
34(3), 2008, and F. Van Zee and R. van de Geijn, BLIS, ACM TOMS 41(3), 2015 ("micro-kernel").
"""

from .. import ir
from . import emit, finish
from .emit import I1, I64, POINTER
from .spec import Site

ARGUMENTS = {
    "k": I64,
    "a": POINTER,
    "b": POINTER,
    "c": POINTER,
    "a_row": I64,
    "a_column": I64,
    "b_row": I64,
    "b_column": I64,
    "c_row": I64,
    "c_column": I64,
    "row": I64,
    "column": I64,
    "remaining": I64,
    "first_k": I64,
    "is_added": I1,
    "is_last": I1,
    "batch": I64,
    "sums": POINTER,
    "extra": POINTER,
}
UNROLL = 4


class Tile:
    """One tile function under construction: its spec, its size, its builder and its arguments by name."""

    k: ir.Value
    a: ir.Value
    b: ir.Value
    c: ir.Value
    row: ir.Value
    column: ir.Value
    remaining: ir.Value
    first_k: ir.Value
    is_added: ir.Value
    is_last: ir.Value
    batch: ir.Value
    sums: ir.Value
    extra: ir.Value

    def __init__(self, module, spec, name, height, vectors, is_masked):
        self.spec, self.height, self.vectors, self.is_masked = spec, height, vectors, is_masked
        kind = ir.FunctionType(ir.VoidType(), list(ARGUMENTS.values()))
        self.function = ir.Function(module, kind, name)
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        for argument, label in zip(self.function.args, ARGUMENTS, strict=True):
            argument.name = label
            setattr(self, label, argument)
        self._fix_strides()
        self.mask = None
        if is_masked:
            left = self.builder.sub(self.remaining, I64((vectors - 1) * spec.lanes))
            self.mask = emit.lane_mask(self.builder, left, spec.lanes)

    def _fix_strides(self):
        """Replace the strides that the layout settles by constants."""
        layout, spec = self.spec.a_layout, self.spec
        if layout in ("rows", "gather") or (layout == "direct" and spec.a_unit == "column"):
            self.a_column = 1
        if layout == "columns":
            self.a_row, self.a_column = 1, self.height
        if layout == "direct" and spec.a_unit == "row":
            self.a_row = 1
        if spec.b_layout != "direct":
            self.b_row = spec.width
        if spec.is_c_contiguous:
            self.c_column = 1

    def column_mask(self, j):
        """The mask of vector `j`: only the last one of a ragged tile has one."""
        return self.mask if j == self.vectors - 1 else None

    def settled(self, condition):
        """True or False where a run-time condition is known while generating, else None."""
        if not self.spec.is_single_block:
            return None
        return self.spec.hooks.accumulate if condition is self.is_added else True

    def site(self, row, column, axis, lanes, mask):
        """A hook's view of a place of the product as the user wrote it."""
        site = Site(self.builder, row, column, self.batch, axis, lanes, mask, self.extra)
        return site.swapped() if self.spec.is_swapped else site


def build(module, spec, name, height, vectors, is_masked):
    """Emit the function of one tile size and give it back."""
    tile = Tile(module, spec, name, height, vectors, is_masked)
    _prefetch(tile)
    sums = _product(tile)
    finish.build(tile, sums)
    tile.builder.ret_void()
    return tile.function


def _prefetch(tile):
    """Ask for the rows of C early: they are needed when the block of k ends."""
    if tile.spec.is_single_block and not tile.spec.hooks.accumulate:
        return
    # Both ends of a row: a tile seldom starts where a cache line does.
    ends = (0, tile.vectors * tile.spec.lanes - 1) if tile.spec.is_c_contiguous else (0,)
    for i in range(tile.height):
        for column in ends:
            _prefetch_line(tile, _address(tile, tile.c, i, tile.c_row, column, 1), 1)


def _prefetch_line(tile, where, is_write):
    """Fetch a cache line of data into the first cache."""
    arguments = [where, *(emit.I32(x) for x in (is_write, 3, 1))]
    emit.intrinsic(tile.builder, "llvm.prefetch.p0", ir.VoidType(), arguments)


def _product(tile):
    """The sums over this block of k, as rows of vectors."""
    start = [emit.zeros(tile.spec.vector)] * (tile.height * tile.vectors)
    builder = tile.builder
    whole = builder.and_(tile.k, I64(-UNROLL))
    with emit.loop(builder, 0, whole, UNROLL, start) as main:
        _prefetch_next(tile, main.index)
        for step in range(UNROLL):
            main.values = _step(tile, builder.add(main.index, I64(step)), main.values)
    with emit.loop(builder, whole, tile.k, 1, main.results) as rest:
        rest.values = _step(tile, rest.index, rest.values)
    results = rest.results
    return [results[i * tile.vectors : (i + 1) * tile.vectors] for i in range(tile.height)]


def _prefetch_next(tile, k):
    """Bring the panel of A that the next tile reads, which follows this one, into the first cache meanwhile."""
    if tile.spec.a_layout == "direct":
        return
    builder, height = tile.builder, tile.height
    line = 64 // emit.item_bytes(tile.spec.item)
    ahead = builder.mul(builder.add(tile.k, k), I64(height))
    for place in range(0, UNROLL * height, line):
        where = emit.address(builder, tile.a, builder.add(ahead, I64(place)), tile.spec.item)
        _prefetch_line(tile, where, 0)


def _step(tile, k, sums):
    """One rank-one update of the tile."""
    spec, builder, sums = tile.spec, tile.builder, list(sums)
    right = [_right(tile, k, j) for j in range(tile.vectors)]
    for i in range(tile.height):
        left = emit.splat(builder, _left(tile, k, i), spec.lanes)
        for j, vector in enumerate(right):
            place = i * tile.vectors + j
            sums[place] = emit.multiply_add(builder, left, vector, sums[place], spec.is_fused)
    return sums


def _left(tile, k, i):
    value = emit.load(tile.builder, _address(tile, tile.a, i, tile.a_row, k, tile.a_column), tile.spec.item)
    if tile.spec.a_layout != "direct" or tile.spec.left is None:
        return value
    row, depth = tile.builder.add(tile.row, I64(i)), tile.builder.add(tile.first_k, k)
    return tile.spec.left(tile.builder, value, tile.site(row, depth, None, 1, None))


def _right(tile, k, j):
    where = _address(tile, tile.b, k, tile.b_row, j * tile.spec.lanes, 1)
    if tile.spec.b_layout != "direct":
        return emit.load(tile.builder, where, tile.spec.vector)
    mask = tile.column_mask(j)
    value = emit.load(tile.builder, where, tile.spec.vector, mask)
    if tile.spec.right is None:
        return value
    column = tile.builder.add(tile.column, I64(j * tile.spec.lanes))
    depth = tile.builder.add(tile.first_k, k)
    return tile.spec.right(tile.builder, value, tile.site(depth, column, 1, tile.spec.lanes, mask))


def _address(tile, pointer, row, row_stride, column, column_stride):
    place = emit.offset(tile.builder, row, row_stride, column, column_stride)
    return emit.address(tile.builder, pointer, place, tile.spec.item)
