"""Products of a few rows by quantised weights, which are read once, block by block, and are numbers in registers only.

Each product is the sum of its vectors in the order of the weights, whatever the number of rows: a row's results do not depend, to
the last bit, on which other rows there are.
"""

from .....target import CACHE_LINE
from .. import emit, ir
from ..builder import Builder
from ..emit import BYTE
from ..entry import Entry
from ..quantized_blocks import Reader

#: Sums of each output.
_CHAINS = 2


def write_product(module, name, plan):
    """Add the function of a plan to `module`; its slots are x, the blocks, the result, and the words."""
    entry = Entry(module, name)
    _Writer(entry, plan).write()


class _Writer:
    def __init__(self, entry, plan):
        self.plan, self.ir = plan, entry.builder
        self.x, self.weights, self.result = (entry.pointer(i) for i in range(3))
        self.outputs, self.blocks, step = (entry.word(3 + i) for i in range(3))
        self.first = self.ir.mul(entry.chunk, step)
        self.last = emit.minimum(self.ir, self.ir.add(self.first, step), self.outputs)
        self.reader, self.k = Reader(self.ir, plan), Builder(self.ir, "float32", plan.lanes)

    def write(self):
        """The whole function: as many rows at once as there are registers for, and those that are left."""
        b, plan = self.ir, self.plan
        tiles, rest = divmod(plan.rows, plan.tile)
        with emit.loop(b, 0, tiles) as tile:
            self._rows(b.mul(tile.index, emit.I64(plan.tile)), plan.tile)
        if rest:
            self._rows(emit.I64(tiles * plan.tile), rest)
        b.ret_void()

    def _rows(self, row, count):
        """All outputs of the chunk for `count` rows from `row` on."""
        b, together = self.ir, self.plan.together(count)
        whole = b.add(self.first, b.sub(b.sub(self.last, self.first), b.srem(b.sub(self.last, self.first), emit.I64(together))))
        with emit.loop(b, self.first, whole, together) as output:
            self._outputs(row, count, output.index, together)
        if together > 1:
            with emit.loop(b, whole, self.last) as output:
                self._outputs(row, count, output.index, 1)

    def _outputs(self, top, rows, first, together):
        """Some outputs for `rows` rows from `top` on."""
        b, plan, block = self.ir, self.plan, self.plan.block
        line = b.mul(self.blocks, emit.I64(block.nbytes))
        lines = [emit.address(b, self.weights, b.mul(b.add(first, emit.I64(i)), line), BYTE) for i in range(together)]
        # Vectors take turns in two sums, so that none waits for the one before it.
        sums = [emit.zeros(plan.vector)] * (together * rows * _CHAINS)
        with emit.loop(b, 0, self.blocks, 1, sums) as place:
            offset = b.mul(place.index, emit.I64(block.nbytes))
            start = b.mul(place.index, emit.I64(block.size))
            readers = [block.weights(self.reader, emit.address(b, line, offset, BYTE)) for line in lines]
            if together > 1:
                ahead = b.mul(b.add(line, offset), emit.I64(together))
                self._prefetch(lines[0], ahead, together * block.nbytes)
            # Vector by vector: what is read of x is used for all outputs while it is in a register.
            for number, vectors in enumerate(zip(*readers, strict=True)):
                for row in range(rows):
                    x = self._x(b.add(top, emit.I64(row)), b.add(start, emit.I64(number * plan.lanes)))
                    for i, vector in enumerate(vectors):
                        at = (row * together + i) * _CHAINS + number % _CHAINS
                        place.values[at] = emit.multiply_add(b, vector, x, place.values[at], plan.is_fused)
        for row in range(rows):
            for i in range(together):
                first_sum = (row * together + i) * _CHAINS
                found = self.k.reduce(b.fadd, b.fadd(*place.results[first_sum : first_sum + _CHAINS]))
                where = b.add(b.mul(b.add(top, emit.I64(row)), self.outputs), b.add(first, emit.I64(i)))
                emit.store(b, found, emit.address(b, self.result, where, plan.item))

    def _prefetch(self, pointer, start, nbytes):
        """Ask for what the next outputs read, in the order of memory: the rows of several at once are too short for the processor
        to see that each goes on.
        """
        b = self.ir
        for place in range(0, nbytes, CACHE_LINE):
            where = emit.address(b, pointer, b.add(start, emit.I64(place)), BYTE)
            b.call_external("llvm.prefetch.p0", ir.VoidType(), [where, emit.I32(0), emit.I32(3), emit.I32(1)])

    def _x(self, row, place):
        b, plan = self.ir, self.plan
        count = b.mul(self.blocks, emit.I64(plan.block.size))
        where = b.add(b.mul(row, count), place)
        return emit.load(b, emit.address(b, self.x, where, plan.item), plan.vector)
