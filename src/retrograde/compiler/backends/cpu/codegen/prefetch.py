"""Rows that are asked for before they are needed: where they lie is data, so that no processor foresees it.

A row of a large table takes as long to arrive as some rows take to be worked on; many on their way take no longer than one.
"""

from math import prod

from ....index.elements import CHECKS, CONVERSIONS, IDENTITIES
from ....index.expression import Apply, Load, depends_of
from ....target import CACHE_LINE
from . import emit
from .emit import I64
from .vecmath.elements import BYTES

#: Tables of fewer bytes stay in the second cache.
_LARGE = 1 << 18
#: So many lines of a row are asked for; what follows, the processor foresees. So many of all rows that are read together are on
#: their way at a time, and rows at most: of three tables 4 rows ahead took 209 us where 16, or 192 lines, took 272.
_LINES, _UNDER_WAY, _MOST_AHEAD = 8, 64, 16
#: Ops that hand positions on.
_HANDING = CHECKS | CONVERSIONS | IDENTITIES


def is_large(nbytes):
    """Whether rows of a table of so many bytes are worth asking for."""
    return nbytes >= _LARGE


def rows_ahead(sizes):
    """How many rows are asked for before they are needed, of tables whose rows have these `sizes` in bytes."""
    return max(2, min(_MOST_AHEAD, _UNDER_WAY // sum([_lines(nbytes) for nbytes in sizes])))


def later_one(builder, i, count):
    """The number, of `count`, of the line that is asked for when number `i` is at hand."""
    return emit.minimum(builder, builder.add(i, I64(_MOST_AHEAD // 2)), builder.sub(count, I64(1)))


def prefetch(builder, row, nbytes):
    """Ask for a row of `nbytes` from the address `row` on, to read it. The address need not be one that may be read."""
    for line in range(_lines(nbytes)):
        emit.prefetch(builder, emit.address(builder, row, line * CACHE_LINE, emit.BYTE))


def prefetch_written(builder, row, nbytes):
    """As `prefetch`, to write it; how long it is is known at run time."""
    with emit.loop(builder, 0, emit.minimum(builder, nbytes, _LINES * CACHE_LINE), CACHE_LINE) as at:
        emit.prefetch(builder, emit.address(builder, row, at.index, emit.BYTE), is_written=True)


def _lines(nbytes):
    return max(1, min(_LINES, -(-nbytes // CACHE_LINE)))


class Prefetches:
    """The part of a loop kernel's writer that asks for rows of later iterations."""

    def _find_distant(self):
        """Rows of large tables by the number of loops inside which their position is known: (name, load or store, position)."""
        self.distant, self.stops = {}, {}
        if self.vector is None or self.plan.runs:
            return
        named = [(("start", number), entry) for number, entry in enumerate(self.box.entries) if isinstance(entry, Load)]
        read = {id(entry.buffer) for _, entry in named}
        # What is read as well is asked for to be read.
        named += [(("store", number), store) for number, store in enumerate(self.box.stores) if id(store.buffer) not in read]
        for name, part in named:
            position = self._position_of_row(part)
            if position is not None:
                self.distant.setdefault(self.plan.levels[position], []).append((name, part, position))

    def _position_of_row(self, part):
        """The load of the position whose row of a large table `part` reads or writes side by side; None of others."""
        if not part.chosen or part.steps[self.vector] != 1:
            return None
        # What follows links mostly ends at the row of the iteration itself.
        if isinstance(part, Load) and (part.guard is not None or part.follows):
            return None
        ((number, stride, size, _),) = part.chosen
        while isinstance(found := self.box.entries[number], Apply) and found.node.op.name in _HANDING:
            number = found.arguments[0]
        is_plain = isinstance(found, Load) and not found.chosen and found.guard is None
        if not is_plain or not is_large(stride * size * BYTES[part.dtype]):
            return None
        level = self.plan.levels[number]
        # Within the vector loop the same rows would be asked for again and again.
        return number if 0 < level <= self.loops.index(self.vector) else None

    def _prefetch(self, level):
        """Ask for the rows of some iterations ahead of the outermost loop that their positions move with."""
        known, places, distant = dict(self.counters), {}, self.distant.get(level, ())
        rows = rows_ahead([_row_bytes(part) for _, part, _ in distant]) if distant else 0
        for name, part, position in distant:
            found, stride, nbytes = self.box.entries[position], part.chosen[0][1], _row_bytes(part)
            outer, *others = [loop for loop in self.loops[:level] if depends_of(found)[loop]]
            inner = prod([self.box.lengths[loop] for loop in others])
            # The first number of the row: inner loops stand at their start.
            self.counters = {loop: known[loop] if loop in self.loops[:level] else I64(0) for loop in self.loops}
            ahead, stop = self.ir.add(known[outer], I64(max(1, rows // inner))), self._end_of_positions(found, outer)
            self.counters[outer] = emit.minimum(self.ir, ahead, self.ir.sub(stop, I64(1)))
            if (position, nbytes) not in places:
                where = self._address(("start", position), found)
                places[position, nbytes] = self.k.convert(self.k.load(where, found.dtype, 1), "int64")
            row = self._address(name, part)
            moved = self.ir.mul(places[position, nbytes], I64(stride))
            prefetch(self.ir, self.k.offset(row, moved, part.dtype), nbytes)
        self.counters = known

    def _end_of_positions(self, found, loop):
        """Where the positions end that a load finds along a loop: beyond the chunk, unless memory has those of its block alone."""
        rows = self.plan.rows
        return self.stops[loop] if rows is not None and id(found.buffer) in rows.local else self.lengths[loop]


def _row_bytes(part):
    """The bytes of a row that a load or a store meets."""
    return part.chosen[0][1] * BYTES[part.dtype]
