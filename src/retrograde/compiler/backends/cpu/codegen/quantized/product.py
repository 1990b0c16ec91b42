"""Products of a few rows by quantised weights, which are read once, block by block, and are numbers in registers only.

Each product is the sum of its vectors in the order of the weights, whatever the number of rows: a row's results do not depend, to
the last bit, on which other rows there are.
"""

from .. import emit
from ..builder import Builder
from ..emit import BYTE
from ..entry import Entry
from .blocks import Reader


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
        """The whole function."""
        b, together = self.ir, self.plan.together
        count = b.sub(self.last, self.first)
        whole = b.add(self.first, b.sub(count, b.srem(count, emit.I64(together))))
        with emit.loop(b, self.first, whole, together) as output:
            self._outputs(output.index, together)
        if together > 1:
            with emit.loop(b, whole, self.last) as output:
                self._outputs(output.index, 1)
        b.ret_void()

    def _outputs(self, first, together):
        """Some outputs for all rows."""
        b, plan, block = self.ir, self.plan, self.plan.block
        line = b.mul(self.blocks, emit.I64(block.nbytes))
        lines = [emit.address(b, self.weights, b.mul(b.add(first, emit.I64(i)), line), BYTE) for i in range(together)]
        sums = [emit.zeros(plan.vector)] * (together * plan.rows)
        with emit.loop(b, 0, self.blocks, 1, sums) as place:
            offset = b.mul(place.index, emit.I64(block.nbytes))
            start = b.mul(place.index, emit.I64(block.size))
            readers = [block.weights(self.reader, emit.address(b, line, offset, BYTE)) for line in lines]
            # Vector by vector: what is read of x is used for all outputs while it is in a register.
            for number, vectors in enumerate(zip(*readers, strict=True)):
                for row in range(plan.rows):
                    x = self._x(row, b.add(start, emit.I64(number * plan.lanes)))
                    for i, vector in enumerate(vectors):
                        at = row * together + i
                        place.values[at] = emit.multiply_add(b, vector, x, place.values[at], plan.is_fused)
        for row in range(plan.rows):
            for i in range(together):
                found = self.k.reduce(b.fadd, place.results[row * together + i])
                where = b.add(b.mul(emit.I64(row), self.outputs), b.add(first, emit.I64(i)))
                emit.store(b, found, emit.address(b, self.result, where, plan.item))

    def _x(self, row, place):
        b, plan = self.ir, self.plan
        count = b.mul(self.blocks, emit.I64(plan.block.size))
        where = place if not row else b.add(b.mul(emit.I64(row), count), place)
        return emit.load(b, emit.address(b, self.x, where, plan.item), plan.vector)
