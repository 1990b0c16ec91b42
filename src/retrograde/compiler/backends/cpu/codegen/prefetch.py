"""Rows that are asked for before they are needed: where they lie is data, so that no processor foresees it.

A row of a large table takes as long to arrive as some rows take to be worked on; many on their way take no longer than one.
"""

from ....index.elements import CHECKS, CONVERSIONS, IDENTITIES
from ....index.expression import Apply, Load, depends_of
from ....target import CACHE_LINE
from . import emit, ir
from .emit import I32, I64
from .vecmath.elements import BYTES

#: Tables of fewer bytes stay in the second cache.
_LARGE = 1 << 18
#: So many lines of a row are asked for; what follows, the processor foresees. So many are on their way at a time, and rows at most.
_LINES, _UNDER_WAY, _MOST_AHEAD = 8, 64, 16
#: Ops that hand positions on.
_HANDING = CHECKS | CONVERSIONS | IDENTITIES


def is_large(nbytes):
    """Whether rows of a table of so many bytes are worth asking for."""
    return nbytes >= _LARGE


def rows_ahead(nbytes):
    """How many rows of so many bytes are asked for before they are needed."""
    return max(2, min(_MOST_AHEAD, _UNDER_WAY // _lines(nbytes)))


def later_one(builder, i, count):
    """The number, of `count`, of the line that is asked for when number `i` is at hand."""
    return emit.minimum(builder, builder.add(i, I64(_MOST_AHEAD // 2)), builder.sub(count, I64(1)))


def prefetch(builder, row, nbytes):
    """Ask for a row of `nbytes` from the address `row` on, to read it. The address need not be one that may be read."""
    for line in range(_lines(nbytes)):
        _ask(builder, emit.address(builder, row, line * CACHE_LINE, emit.BYTE), 0)


def prefetch_written(builder, row, nbytes):
    """As `prefetch`, to write it; how long it is is known at run time."""
    with emit.loop(builder, 0, emit.minimum(builder, nbytes, _LINES * CACHE_LINE), CACHE_LINE) as at:
        _ask(builder, emit.address(builder, row, at.index, emit.BYTE), 1)


def _ask(builder, where, is_written):
    builder.call_external("llvm.prefetch.p0", ir.VoidType(), [where, I32(is_written), I32(3), I32(1)])


def _lines(nbytes):
    return max(1, min(_LINES, -(-nbytes // CACHE_LINE)))


class Prefetches:
    """The part of a loop kernel's writer that asks for rows of later iterations."""

    def _find_distant(self):
        """Gathers of rows by the number of loops inside which their position is known: (gather, position)."""
        self.distant, self.stops = {}, {}
        if self.vector is None or self.plan.runs:
            return
        for number, entry in enumerate(self.box.entries):
            position = self._position_of_row(entry)
            if position is not None:
                self.distant.setdefault(self.plan.levels[position], []).append((number, position))

    def _position_of_row(self, entry):
        """The load of the position whose row of a large table `entry` reads side by side; None of others."""
        if not isinstance(entry, Load) or not entry.chosen or entry.guard is not None or entry.steps[self.vector] != 1:
            return None
        if entry.follows:  # mostly the row of the iteration itself
            return None
        ((number, stride, size, _),) = entry.chosen
        while isinstance(found := self.box.entries[number], Apply) and found.node.op.name in _HANDING:
            number = found.arguments[0]
        is_plain = isinstance(found, Load) and not found.chosen and found.guard is None
        if not is_plain or not is_large(stride * size * BYTES[entry.dtype]):
            return None
        level = self.plan.levels[number]
        # Within the vector loop the same rows would be asked for again and again.
        return number if 0 < level <= self.loops.index(self.vector) else None

    def _prefetch(self, level):
        """Ask for the rows of some iterations ahead of the outermost loop that their positions move with."""
        known, places = dict(self.counters), {}
        for number, position in self.distant.get(level, ()):
            entry, found = self.box.entries[number], self.box.entries[position]
            ((_, stride, *_),) = entry.chosen
            nbytes = stride * BYTES[entry.dtype]
            outer, *others = [loop for loop in self.loops[:level] if depends_of(found)[loop]]
            inner = 1
            for loop in others:
                inner *= self.box.lengths[loop]
            # The first number of the row: inner loops stand at their start.
            self.counters = {loop: known[loop] if loop in self.loops[:level] else I64(0) for loop in self.loops}
            ahead = self.ir.add(known[outer], I64(max(1, rows_ahead(nbytes) // inner)))
            self.counters[outer] = emit.minimum(self.ir, ahead, self.ir.sub(self.stops[outer], I64(1)))
            if (position, nbytes) not in places:
                where = self._address(("start", position), found)
                places[position, nbytes] = self.k.convert(self.k.load(where, found.dtype, 1), "int64")
            row = self._address(("start", number), entry)
            moved = self.ir.mul(places[position, nbytes], I64(stride))
            prefetch(self.ir, self.k.offset(row, moved, entry.dtype), nbytes)
        self.counters = known
