"""The loops of products of a few rows by quantised weights, which are read once, block by block.

Each product is the sum of its vectors in the order of the weights, whatever the number of rows: a row's results do not depend, to
the last bit, on which other rows there are.
"""

from .....target import CACHE_LINE
from .. import emit
from ..builder import Builder
from ..emit import BYTE, I64
from ..quantized_blocks import Reader


class RowsWriter:
    """Writes the function of a plan. Its slots are `x`, `count` of what rows are read from, the blocks, the result, and the words.

    `chains` are the sums that each output has: vectors.
    """

    chains = 1

    def __init__(self, entry, plan, count=1):
        self.plan, self.ir = plan, entry.builder
        *self.x, self.weights, self.result = [entry.pointer(i) for i in range(count + 2)]
        self.outputs, self.blocks, step = (entry.word(count + 2 + i) for i in range(3))
        self.first = self.ir.mul(entry.chunk, step)
        self.last = emit.minimum(self.ir, self.ir.add(self.first, step), self.outputs)
        self.reader, self.k = Reader(self.ir, plan), Builder(self.ir, "float32", plan.lanes)

    def added(self, sums, top, rows, place, pointers):
        """Add to the sums of `rows` rows from `top` on the products by block number `place` of some outputs, which are at
        `pointers`; the sums of a row lie together, and of these those of an output.
        """
        raise NotImplementedError

    def total(self, sums):
        """The number that the sums of an output make."""
        raise NotImplementedError

    def write(self):
        """The whole function: as many rows at once as there are registers for, and those that are left."""
        b, plan = self.ir, self.plan
        tiles, rest = divmod(plan.rows, plan.tile)
        with emit.loop(b, 0, tiles) as tile:
            self._rows(b.mul(tile.index, I64(plan.tile)), plan.tile)
        if rest:
            self._rows(I64(tiles * plan.tile), rest)
        b.ret_void()

    def _rows(self, row, count):
        """All outputs of the chunk for `count` rows from `row` on."""
        b, together = self.ir, self.plan.together(count)
        whole = b.add(self.first, b.sub(b.sub(self.last, self.first), b.srem(b.sub(self.last, self.first), I64(together))))
        with emit.loop(b, self.first, whole, together) as output:
            self._outputs(row, count, output.index, together)
        if together > 1:
            with emit.loop(b, whole, self.last) as output:
                self._outputs(row, count, output.index, 1)

    def _outputs(self, top, rows, first, together):
        """Some outputs for `rows` rows from `top` on."""
        b, plan, nbytes = self.ir, self.plan, self.plan.block.nbytes
        line = b.mul(self.blocks, I64(nbytes))
        lines = [emit.address(b, self.weights, b.mul(b.add(first, I64(i)), line), BYTE) for i in range(together)]
        sums = [emit.zeros(plan.vector)] * (together * rows * self.chains)
        with emit.loop(b, 0, self.blocks, 1, sums) as place:
            offset = b.mul(place.index, I64(nbytes))
            if together > 1:
                self._ask_ahead(lines, line, offset)
            self.added(place.values, top, rows, place.index, [emit.address(b, line, offset, BYTE) for line in lines])
        for number in range(rows * together):
            row, i = divmod(number, together)
            found = self.total(place.results[number * self.chains : (number + 1) * self.chains])
            where = b.add(b.mul(b.add(top, I64(row)), self.outputs), b.add(first, I64(i)))
            emit.store(b, found, emit.address(b, self.result, where, plan.item))

    def _ask_ahead(self, lines, line, offset):
        """Ask for what the next outputs read: rows of several at once are too short for the processor to see that each goes on."""
        b, nbytes = self.ir, self.plan.block.nbytes
        behind = b.mul(line, I64(len(lines)))
        if nbytes % CACHE_LINE == 0:
            # Each row asks for the one that takes its place, whose lines come in the order in which they are read.
            for pointer in lines:
                self._prefetch(pointer, b.add(behind, offset), nbytes, level=2)
        else:
            # In the order of memory: a line has several blocks, and would be asked for with each of them.
            self._prefetch(lines[0], b.add(behind, b.mul(offset, I64(len(lines)))), len(lines) * nbytes, level=1)

    def _prefetch(self, pointer, start, nbytes, level):
        b = self.ir
        for place in range(0, nbytes, CACHE_LINE):
            emit.prefetch(b, emit.address(b, pointer, b.add(start, I64(place)), BYTE), level=level)
