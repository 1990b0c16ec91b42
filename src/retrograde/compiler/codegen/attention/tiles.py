"""Tiles in registers: a few rows by a few vectors, each sum over k of a number of the left times a vector of the right.

See matmul/tiles.py for what they are good for. Here the left is any array, of which single numbers are read wherever they
lie, and the right is scratch memory in which vectors lie side by side. One function for each size of tile serves all
products: steps are arguments, and so is what the sums begin with.
"""

from typing import NamedTuple

from .. import emit, ir
from ..emit import I64, POINTER, at

_UNROLLED = 4


class Product(NamedTuple):
    """A product for tiles: steps in elements of the `left` along rows and along k, of the `right` along k, and of the rows of
    the target. `is_added` says that it is added to the target.
    """

    left: tuple
    right: int
    target: int
    is_added: bool


class Tiles:
    """The tile functions of a module, by (height, vectors), written on first use."""

    def __init__(self, module, name, plan):
        self._module, self._name, self._plan, self._functions = module, name, plan, {}

    def call(self, b, size, product, pointers, depth):
        """Call the tile of `size` for a product: `pointers` are those of left, right and target."""
        if size not in self._functions:
            self._functions[size] = self._written(*size)
        steps = [I64(step) for step in (*product.left, product.right, product.target)]
        b.call(self._functions[size], [*pointers, emit.number(depth), *steps, emit.I1(product.is_added)])

    def run(self, b, product, pointers, rows, depth, cuts=None, vectors=None):
        """A product of `rows` rows and some vectors; `cuts` are (height, how many) of its tiles where rows are known."""
        (left, right, target), vectors = pointers, vectors or self._plan.vectors
        item, start = self._plan.item, 0
        if cuts is None:
            for height, row in _each_height(b, rows, self._plan.heights):
                places = at(b, left, item, (row, product.left[0])), right, at(b, target, item, (row, product.target))
                self.call(b, (height, vectors), product, places, depth)
            return
        for height, count in cuts:
            with emit.loop(b, start, start + height * count, height) as row:
                places = at(b, left, item, (row.index, product.left[0])), right, at(b, target, item, (row.index, product.target))
                self.call(b, (height, vectors), product, places, depth)
            start += height * count

    def _written(self, height, vectors):
        kind = ir.FunctionType(ir.VoidType(), [POINTER] * 3 + [I64] * 5 + [emit.I1])
        function = ir.Function(self._module, kind, f"{self._name}_{height}x{vectors}")
        function.linkage = "internal"
        function.attributes.add("noinline")
        _Tile(self._plan, ir.IRBuilder(function.append_basic_block("entry")), function.args, height, vectors).write()
        return function


class _Tile:
    """One tile function under construction."""

    def __init__(self, plan, builder, arguments, height, vectors):
        self.plan, self.b, self.height, self.vectors = plan, builder, height, vectors
        self.left, self.right, self.target, self.depth, self.row, self.step, self.line, self.pitch, self.is_added = arguments

    def write(self):
        b = self.b
        places = [at(b, self.target, self.plan.item, (I64(i), self.pitch), j * self.plan.lanes)
                  for i in range(self.height) for j in range(self.vectors)]
        # Places are frozen, or LLVM would find each by what it knows of all the others, which takes longer and more registers.
        self.rows = [I64(0), *[b.freeze(b.mul(I64(i), self.row)) for i in range(1, self.height)]]
        swept = [self.left, self.right, *self._begun(places)]
        whole = b.and_(self.depth, I64(-_UNROLLED))
        for start, stop, count in ((I64(0), whole, _UNROLLED), (whole, self.depth, 1)):
            swept = self._swept(start, stop, count, swept)
        for value, place in zip(swept[2:], places, strict=True):
            emit.store(b, value, place)
        b.ret_void()

    def _begun(self, places):
        """Zeros, or what is in the target."""
        b = self.b
        before = b.block
        with b.if_then(self.is_added):
            loaded = [emit.load(b, place, self.plan.vector) for place in places]
            added = b.block
        sums = []
        for value in loaded:
            phi = b.phi(self.plan.vector)
            phi.add_incoming(emit.zeros(self.plan.vector), before)
            phi.add_incoming(value, added)
            sums.append(phi)
        return sums

    def _swept(self, start, stop, count, before):
        """Where left and right go on after k from `start` to `stop`, `count` at a time, and the sums."""
        with emit.loop(self.b, start, stop, count, before) as loop:
            for _ in range(count):
                loop.values = self._added(*loop.values)
        return loop.results

    def _added(self, left, right, *sums):
        """Where left and right go on after one k, and the sums."""
        b, item, vector = self.b, self.plan.item, self.plan.vector
        vectors, found = [emit.load(b, at(b, right, item, j * self.plan.lanes), vector) for j in range(self.vectors)], []
        for i, row in enumerate(self.rows):
            number = emit.splat(b, emit.load(b, at(b, left, item, row), item), self.plan.lanes)
            for j, right_one in enumerate(vectors):
                found.append(emit.multiply_add(b, number, right_one, sums[i * self.vectors + j], self.plan.is_fused))
        return [b.freeze(at(b, left, item, self.step)), b.freeze(at(b, right, item, self.line)), *found]


def _each_height(b, count, heights):
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
