"""Tiles in registers: a few rows by a few vectors, each sum over k of a number of the left times a vector of the right.

See matmul/tiles.py for what they are good for. Here the left is any array, of which single numbers are read wherever they
lie, and the right is scratch memory in which vectors lie side by side.
"""

from dataclasses import dataclass

from llvmlite import ir

from ..convolution.entry import at
from ..matmul import emit
from ..matmul.emit import I64, POINTER

_UNROLLED = 4


@dataclass(frozen=True)
class Product:
    """Steps in elements: `left` of rows and of k, `right` of k, `target` of rows. `depth` is None where it is an argument."""

    left: tuple
    right: int
    target: int
    depth: int | None = None


class Tile:
    """One tile function under construction: (left, right, target, two more pointers, depth)."""

    def __init__(self, module, name, plan, product, height, vectors):
        self.plan, self.product, self.height, self.vectors = plan, product, height, vectors
        kind = ir.FunctionType(ir.VoidType(), [POINTER] * 5 + [I64])
        self.function = ir.Function(module, kind, f"{name}_{height}x{vectors}")
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.left, self.right, self.target, self.more, self.rest, depth = self.function.args
        self.depth = depth if product.depth is None else product.depth

    def place(self, pointer, i, j, step=None):
        """The address of vector `j` of row `i` of an array like the target."""
        return at(self.builder, pointer, self.plan.item, i * (self.product.target if step is None else step) + j * self.plan.lanes)

    def load(self, pointer, i, j, step=None):
        """Vector `j` of row `i`."""
        return emit.load(self.builder, self.place(pointer, i, j, step), self.plan.vector)


def from_zero(tile, i, j):  # noqa: ARG001 - as all that begin a tile
    """Sums that begin at nothing."""
    return emit.zeros(tile.plan.vector)


def from_target(tile, i, j):
    """Sums that are added to what is in the target."""
    return tile.load(tile.target, i, j)


def from_scaled(tile, i, j):
    """Sums that are added to the target times a vector of factors."""
    return tile.builder.fmul(tile.load(tile.target, i, j), tile.load(tile.more, 0, j))


def to_target(tile, i, j, value):
    """Store the sums as they are."""
    emit.store(tile.builder, value, tile.place(tile.target, i, j))


def write_tiles(module, name, plan, product, heights, widths=None, begin=from_zero, end=to_target):
    """The functions of tiles by (height, vectors)."""
    widths = widths or [plan.vectors]
    return {(h, w): _write(Tile(module, name, plan, product, h, w), begin, end) for h in heights for w in widths}


def _write(tile, begin, end):
    b = tile.builder
    places = [(i, j) for i in range(tile.height) for j in range(tile.vectors)]
    sums = [begin(tile, i, j) for i, j in places]
    whole = tile.depth - tile.depth % _UNROLLED if isinstance(tile.depth, int) else b.and_(tile.depth, I64(-_UNROLLED))
    for start, stop, step in ((0, whole, _UNROLLED), (whole, tile.depth, 1)):
        if isinstance(start, int) and start == stop:
            continue
        with emit.loop(b, start, stop, step, sums) as loop:
            left = at(b, tile.left, tile.plan.item, (loop.index, tile.product.left[1]))
            right = at(b, tile.right, tile.plan.item, (loop.index, tile.product.right))
            for k in range(step):
                loop.values = _added(tile, left, right, k, loop.values)
        sums = loop.results
    for (i, j), value in zip(places, sums, strict=True):
        end(tile, i, j, value)
    b.ret_void()
    return tile.function


def _added(tile, left, right, k, sums):
    b, plan, (row, step) = tile.builder, tile.plan, tile.product.left
    vectors = [emit.load(b, at(b, right, plan.item, k * tile.product.right + j * plan.lanes), plan.vector) for j in range(tile.vectors)]
    found = []
    for i in range(tile.height):
        number = emit.splat(b, emit.load(b, at(b, left, plan.item, i * row + k * step), plan.item), plan.lanes)
        for j, vector in enumerate(vectors):
            found.append(emit.multiply_add(b, number, vector, sums[i * tile.vectors + j], plan.is_fused))
    return found


def each_height(b, count, heights):
    """Cut `count` rows, a number of the program, in tiles as (height, first row); the body is emitted for each height."""
    tallest, *others = heights
    whole = b.mul(b.sdiv(count, I64(tallest)), I64(tallest))
    with emit.loop(b, 0, whole, tallest) as row:
        yield tallest, row.index
    row, rest = whole, b.sub(count, whole)
    for height in others:
        some = b.and_(rest, I64(height))
        with b.if_then(b.icmp_signed("!=", some, I64(0))):
            yield height, row
        row = b.add(row, some)


def null():
    """No pointer."""
    return ir.Constant(POINTER, None)
