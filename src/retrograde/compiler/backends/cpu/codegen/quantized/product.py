"""Products of a few rows by quantised weights, which are numbers in registers only."""

from .. import emit
from ..emit import I64
from ..entry import Entry
from .rows import RowsWriter


def write_product(module, name, plan):
    """Add the function of a plan to `module`; its slots are x, the blocks, the result, and the words."""
    _Writer(Entry(module, name), plan).write()


class _Writer(RowsWriter):
    # Vectors take turns in two sums, so that none waits for the one before it.
    chains = 2

    def added(self, sums, top, rows, place, pointers):
        b, plan, together = self.ir, self.plan, len(pointers)
        start = b.mul(place, I64(plan.block.size))
        readers = [plan.block.weights(self.reader, pointer) for pointer in pointers]
        # Vector by vector: what is read of x is used for all outputs while it is in a register.
        for number, vectors in enumerate(zip(*readers, strict=True)):
            for row in range(rows):
                x = self._x(b.add(top, I64(row)), b.add(start, I64(number * plan.lanes)))
                for i, vector in enumerate(vectors):
                    at = (row * together + i) * self.chains + number % self.chains
                    sums[at] = emit.multiply_add(b, vector, x, sums[at], plan.is_fused)

    def total(self, sums):
        return self.k.reduce(self.ir.fadd, self.ir.fadd(*sums))

    def _x(self, row, place):
        b, plan = self.ir, self.plan
        count = b.mul(self.blocks, I64(plan.block.size))
        where = b.add(b.mul(row, count), place)
        return emit.load(b, emit.address(b, self.x[0], where, plan.item), plan.vector)
