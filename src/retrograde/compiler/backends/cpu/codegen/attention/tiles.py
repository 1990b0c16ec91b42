"""Products of attention in tiles: the left is any array, of which single numbers are read wherever they lie, and the right is
scratch memory in which vectors lie side by side. One function for each size of tile serves all products: steps are arguments, and
so is what the sums begin with.
"""

from typing import NamedTuple

from ..... import cost
from .. import emit
from ..emit import I1, I64, at
from ..micro_kernel import Functions, Paces, Tile, broadcast, contiguous, each_height, loaded_if, store, unrolled


class Product(NamedTuple):
    """A product for tiles: steps in elements of the `left` along rows and along k, of the `right` along k, and of the rows of
    the target. `is_added` says that it is added to the target.
    """

    left: tuple
    right: int
    target: int
    is_added: bool


class Tiles:
    """The tile functions of a module."""

    def __init__(self, module, name, plan):
        self._plan, self._functions = plan, Functions(module, name, self._write)

    def run(self, b, product, pointers, rows, depth, cuts=None, vectors=None):
        """A product of `rows` rows and some vectors; `cuts` are (height, how many) of its tiles where rows are known."""
        for height, row in each_height(b, I64(0), rows, self._plan.rows) if cuts is None else _each_cut(b, cuts):
            self._call(b, (height, vectors or self._plan.vectors), product, pointers, row, depth)

    def _call(self, b, size, product, pointers, row, depth):
        left, right, target = pointers
        item, steps = self._plan.item, [I64(step) for step in (*product.left, product.right, product.target)]
        places = at(b, left, item, (row, product.left[0])), right, at(b, target, item, (row, product.target))
        self._functions.call(b, size, [*places, emit.number(depth), *steps, I1(product.is_added)])

    def _write(self, b, arguments, height, width):
        left, right, target, depth, row, step, line, pitch, is_added = arguments
        plan, tile = self._plan, Tile(self._plan.vector, height, width, self._plan.is_fused)
        # Steps are arguments, not constants: LLVM would compile the same tile anew for each product of each shape.
        columns = range(0, width * plan.lanes, plan.lanes)
        places = [at(b, target, plan.item, (I64(i), pitch), j) for i in range(height) for j in columns]
        # Places are frozen, or LLVM would find each by what it knows of all the others, which takes longer and more registers.
        rows = [I64(0), *[b.freeze(b.mul(I64(i), row)) for i in range(1, height)]]
        sums = loaded_if(b, is_added, places, plan.vector)
        numbers, lines = Paces(left, step, plan, rows, broadcast(plan)), Paces(right, line, plan, columns, contiguous(plan))
        store(b, tile.over(b, unrolled(b, depth, cost.TILE_STEPS), numbers, lines, sums), places)


def _each_cut(b, cuts):
    """Tiles as (height, first row): for each (height, how many) of `cuts`."""
    start = 0
    for height, count in cuts:
        with emit.loop(b, start, start + height * count, height) as row:
            yield height, row.index
        start += height * count
