"""Products of a few rows of activations of 8 bits by quantised weights: sums of products are of integers within each 32 numbers."""

from .. import emit, ir
from ..emit import BYTE, I64
from ..entry import Entry
from . import dots
from .activations import BLOCK
from .rows import RowsWriter


def write_integer_product(module, name, plan):
    """Add the function of a plan to `module`; its slots are the codes and scales of x, the blocks, the result, and the words."""
    _Writer(Entry(module, name), plan).write()


class _Writer(RowsWriter):
    def __init__(self, entry, plan):
        super().__init__(entry, plan, 2)
        # Where something is added to codes, what it makes times the sums of x is a sum of its own.
        self.chains = 1 if plan.codes.is_signed else 2

    def added(self, sums, top, rows, place, pointers):
        b, plan, together = self.ir, self.plan, len(pointers)
        parts = plan.block.size // BLOCK
        readers = [plan.codes.parts(self.reader, pointer) for pointer in pointers]
        lines = [b.mul(b.add(top, I64(row)), b.mul(self.blocks, I64(parts))) for row in range(rows)]
        for number in range(parts):
            here = b.add(b.mul(place, I64(parts)), I64(number))
            values = [self._x(b.add(line, here)) for line in lines]
            # Output by output, which takes fewer registers than to read all of them first.
            for i, reader in enumerate(readers):
                part = next(reader)
                for row, (x, scale) in enumerate(values):
                    self._add(sums, (row * together + i) * self.chains, part, x, scale)

    def _x(self, place):
        """The codes of 32 activations, and their scale in all lanes, or beside it what their sum makes."""
        b, plan = self.ir, self.plan
        codes = b.load(emit.address(b, self.x[0], b.mul(place, I64(BLOCK)), BYTE), typ=ir.VectorType(BYTE, BLOCK), align=BLOCK)
        scales = emit.address(b, self.x[1], b.mul(place, I64(2)), plan.item)
        if plan.codes.is_signed:
            return codes, emit.splat(b, emit.load(b, scales, plan.item), plan.lanes)
        pair = emit.splat(b, b.load(scales, typ=I64, align=8), plan.lanes // 2)
        return codes, b.bitcast(pair, plan.vector)

    def _add(self, sums, at, part, x, scale):
        b, plan = self.ir, self.plan
        factor = b.fmul(part.scale, scale)
        if not plan.codes.is_signed:
            sums[at + 1] = b.fadd(sums[at + 1], factor)
            factor = emit.shuffle(b, factor, factor, [lane & ~1 for lane in range(plan.lanes)])
        count = 4 * plan.lanes
        for first in range(0, BLOCK, count):
            codes, values = (_piece(b, vector, first, count) for vector in (part.codes, x))
            number = b.sitofp(dots.dot(b, plan.way, codes, values, plan.codes.is_signed), plan.vector)
            # Where that takes two vectors, each has a half of the codes, and halves may have scales of their own.
            mine = factor if count == BLOCK else self.reader.lane(factor, first * plan.lanes // BLOCK)
            sums[at] = emit.multiply_add(b, number, mine, sums[at], plan.is_fused)

    def total(self, sums):
        b = self.ir
        found = self.k.reduce(b.fadd, sums[0])
        return found if len(sums) == 1 else b.fadd(found, self.k.lane(sums[1], 1))


def _piece(b, vector, first, count):
    return vector if count == vector.type.count else emit.shuffle(b, vector, vector, range(first, first + count))
