"""Crossings: numbers that lie side by side along another loop than the one that runs in vectors, as those of a transposed array.

One number at a time they would take as many loads as there are lanes, each of a line of its own. Instead that other loop runs
innermost, some iterations at a time: lines are read whole, as many as there are lanes, and squares of them transposed in registers.
"""

from ....index.expression import Load
from ....target import CACHE_LINE, ITEM_BYTES
from . import emit, ir
from .counting import counted

_INDEX = ir.IntType(64)
#: Bytes of the vectors that are transposed.
_VECTOR = 32
#: So many iterations of the crossing loop are run for one vector before the next one's: what else is read and written in them is
#: still in the first cache then.
_TILE = 256


class Crossings:
    """The part of a kernel's writer that runs crossing loops; `crossed` has, by number of a load, its iterations in memory."""

    def _cross(self, write):
        """Do what `write` writes, which runs the vector loop, for one tile of the crossing loop after the other."""
        length = self.lengths[self.crossing]
        with counted(self.ir, _INDEX(0), length, _TILE) as start:
            self.tile = start, emit.minimum(self.ir, self.ir.add(start, _INDEX(_TILE)), length)
            write()

    def _run_crossing(self, level):
        """The crossing loop over the tile, as many iterations at a time as a line has numbers; what is left, and vectors of which
        few lanes count, one by one.
        """
        start, stop = self.tile
        if self.mask is not None:
            self._loop(level, start, stop, 1)
            return
        loads = [(i, e) for i, e in enumerate(self.box.entries) if isinstance(e, Load) and self.box.is_crossed(e, self.vector)]
        iterations = max(CACHE_LINE // ITEM_BYTES[entry.dtype] for _, entry in loads)
        left = self.ir.srem(self.ir.sub(stop, start), _INDEX(iterations))
        whole = self.ir.sub(stop, left)
        with self.ir.if_then(self.ir.icmp_signed("<", start, whole)), counted(self.ir, start, whole, iterations) as first:
            self.crossed = {number: (self._transposed(number, entry, first, iterations), first) for number, entry in loads}
            self._loop(level, first, self.ir.add(first, _INDEX(iterations)), 1)
            self.crossed = {}
        if self.box.lengths[self.crossing] % iterations:
            with self.ir.if_then(self.ir.icmp_signed("<", whole, stop)):
                self._loop(level, whole, stop, 1)

    def _transposed(self, number, entry, first, iterations):
        """Where the numbers of a load lie for so many iterations from `first` on, one vector for each."""
        item, step = ITEM_BYTES[entry.dtype], entry.steps[self.vector]
        width = min(self.lanes, _VECTOR // item)
        room = emit.scratch(self.ir, ir.ArrayType(ir.IntType(8), iterations * self.lanes * item), CACHE_LINE)
        self.counters[self.crossing] = first
        where = self._address(("start", number), entry)
        with counted(self.ir, _INDEX(0), _INDEX(self.lanes), width) as lane:
            lines = [self._ahead(where, self.ir.mul(self.ir.add(lane, _INDEX(i)), _INDEX(step)), entry) for i in range(width)]
            for iteration in range(0, iterations, width):
                rows = [self.k.load(self._ahead(line, _INDEX(iteration), entry), entry.dtype, width) for line in lines]
                for i, column in enumerate(emit.transpose(self.ir, rows, item)):
                    self.k.store(column, self._ahead(room, self.ir.add(lane, _INDEX((iteration + i) * self.lanes)), entry))
        return room

    def _recrossed(self, number, entry):
        """The vector of a load in this iteration."""
        room, first = self.crossed[number]
        iteration = self.ir.sub(self.counters[self.crossing], first)
        return self.k.load(self._ahead(room, self.ir.mul(iteration, _INDEX(self.lanes)), entry), entry.dtype)
