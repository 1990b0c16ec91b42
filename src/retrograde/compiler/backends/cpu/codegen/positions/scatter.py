"""Adding lines at positions: `out[o, positions[i]] += x[o, i]` for all o and i, in order of i, lines in vectors.

Of many tables a chunk takes some. Of one with many lines a chunk fills some whole ones, which are one piece of memory, and looks
through all positions for those that are its own. Of one with few a chunk takes a part of every line.
"""

from typing import NamedTuple

from ..... import cost
from .. import emit, ir
from ..emit import I64
from ..entry import Entry
from ..prefetch import is_large, later_one, prefetch_written
from ..vecmath.elements import BYTES, ELEMENTS


class ScatterPlan(NamedTuple):
    """Sizes of a scattered sum: `outer` times `count` lines of `width` numbers into `outer` times `size` lines."""

    dtype: str
    index_dtype: str
    lanes: int
    outer: int
    count: int
    size: int
    width: int

    @property
    def key(self):
        """What the code depends on."""
        return "scatter", self.dtype, self.index_dtype, self.lanes, self.width == 1, self.is_distant

    @property
    def is_distant(self):
        """Whether lines of the result are asked for before they are read."""
        return is_large(self.size * self.width * BYTES[self.dtype])

    @property
    def work(self):
        """How many numbers are written."""
        return self.outer * (self.count + self.size) * self.width

    @property
    def has_many_tables(self):
        """Whether chunks take whole tables."""
        # Then each chunk has whole tables, and looks through no positions but its own.
        return self.outer >= cost.SCATTER_LINES.most

    @property
    def has_many_lines(self):
        """Whether chunks take whole lines of a table: where filling with zeros is much of the work."""
        return self.has_many_tables or self.size >= max(self.count // 2, 8 * cost.SCATTER_LINES.most)

    @property
    def chunk_tables(self):
        """How many of the tables one chunk takes, whatever the number of threads; so of all that chunks take."""
        return cost.SCATTER.share(self.outer, self.work) if self.has_many_tables else self.outer

    @property
    def chunk_lines(self):
        """How many of the lines of a table one chunk takes."""
        if self.has_many_tables or not self.has_many_lines:
            return self.size
        return cost.SCATTER_LINES.share(self.size, self.work)

    @property
    def chunk_width(self):
        """How much of each line one chunk takes."""
        if self.has_many_lines:
            return max(self.width, 1)
        lines = max(1, self.outer * (self.count + self.size))
        step = max(self.lanes, cost.SCATTER.least // lines, -(-self.width // cost.SCATTER.most))
        return -(-step // self.lanes) * self.lanes

    @property
    def parts(self):
        """How many chunks share a line."""
        return max(1, -(-self.width // self.chunk_width))

    @property
    def line_parts(self):
        """How many chunks share a table, each with whole lines or with the same part of them."""
        return max(1, -(-self.size // max(self.chunk_lines, 1)))

    @property
    def chunks(self):
        """How many chunks there are."""
        return self.parts * self.line_parts * max(1, -(-self.outer // max(self.chunk_tables, 1)))

    @property
    def words(self):
        """The numbers that the code is handed."""
        sizes = self.outer, self.count, self.size, self.width
        return (*sizes, self.chunk_width, self.chunk_lines, self.chunk_tables, self.parts, self.line_parts)


def write_scatter(module, name, plan):
    """Add the function of a scattered sum to `module`; its slots are x, the positions, the result, the flag, and the words."""
    _Writer(module, name, plan).write()


class _Writer:
    def __init__(self, module, name, plan):
        self.item, self.index_item = ELEMENTS[plan.dtype], ELEMENTS[plan.index_dtype]
        self.item_bytes, self.is_distant = BYTES[plan.dtype], plan.is_distant
        self.lanes, self.is_narrow = plan.lanes, plan.width == 1
        entry = Entry(module, name)
        self.ir = entry.builder
        self.x, self.positions, self.out, self.flag = (entry.pointer(i) for i in range(4))
        words = [entry.word(4 + i) for i in range(len(plan.words))]
        self.outer, self.count, self.size, self.width, step, lines, tables, parts, line_parts = words
        number, part = self.ir.sdiv(entry.chunk, parts), self.ir.srem(entry.chunk, parts)
        self.first, self.last = self._share(part, step, self.width)
        self.first_line, self.last_line = self._share(self.ir.srem(number, line_parts), lines, self.size)
        self.first_table, self.last_table = self._share(self.ir.sdiv(number, line_parts), tables, self.outer)

    def _share(self, number, step, total):
        first = self.ir.mul(number, step)
        return first, emit.minimum(self.ir, self.ir.add(first, step), total)

    def write(self):
        """The whole function."""
        b = self.ir
        parts = self._parts(self.first, self.last)
        has_lines = b.icmp_signed("==", b.sub(self.last, self.first), self.width)
        with emit.loop(b, self.first_table, self.last_table) as o:
            start, end = (self._line(o.index, self.size, line) for line in (self.first_line, self.last_line))
            with b.if_else(has_lines) as (whole, part):
                with whole:
                    self._clear(self._parts(start, end), I64(0))
                with part, emit.loop(b, start, end, self.width) as line:
                    self._clear(parts, line.index)
            with emit.loop(b, 0, self.count) as i:
                self._add(parts, o.index, i.index)
        b.ret_void()

    def _parts(self, first, last):
        """Columns in vectors, and those that are left."""
        b = self.ir
        whole = b.sub(last, b.srem(b.sub(last, first), I64(self.lanes)))
        return [(first, whole, ir.VectorType(self.item, self.lanes)), (whole, last, self.item)]

    def _clear(self, parts, start):
        self._along(parts, lambda kind, c: emit.store(self.ir, emit.zeros(kind), self._at(self.out, start, c)))

    def _add(self, parts, outer, i):
        """Add line `i` where its position says; a position that is out of range is noted."""
        b = self.ir
        if self.is_distant:
            self._ask_for_later(outer, i)
        found, is_own = self._position(i)
        with b.if_else(is_own) as (inside, outside):
            with inside:
                target, source = self._line(outer, self.size, found), self._line(outer, self.count, i)
                join = lambda kind, c: self._join(kind, self._at(self.out, target, c), self._at(self.x, source, c))
                join(self.item, I64(0)) if self.is_narrow else self._along(parts, join)
            with outside, b.if_then(b.icmp_unsigned(">=", found, self.size)):
                b.store(I64(1), self.flag)

    def _position(self, i):
        """Position number `i`, and whether it is one of the chunk's own lines."""
        b = self.ir
        found = b.load(emit.address(b, self.positions, i, self.index_item), typ=self.index_item)
        found = b.sext(found, I64) if self.index_item.width < 64 else found
        # A position may count from the end.
        found = b.select(b.icmp_signed("<", found, I64(0)), b.add(found, self.size), found)
        # Without signs one comparison sees both ends of the chunk's own lines. What lies in no chunk's is an error, noted by
        # all of them.
        own, lines = b.sub(found, self.first_line), b.sub(self.last_line, self.first_line)
        return found, b.icmp_unsigned("<", own, lines)

    def _ask_for_later(self, outer, i):
        """Ask for the line that some lines later are added to, as far as it is this chunk's."""
        b = self.ir
        later, is_own = self._position(later_one(b, i, self.count))
        with b.if_then(is_own):
            part = b.mul(b.sub(self.last, self.first), I64(self.item_bytes))
            prefetch_written(b, self._at(self.out, self._line(outer, self.size, later), self.first), part)

    def _join(self, kind, target, source):
        b = self.ir
        emit.store(b, b.fadd(emit.load(b, target, kind), emit.load(b, source, kind)), target)

    def _line(self, outer, lines, line):
        """The first element of a line."""
        b = self.ir
        return b.mul(b.add(b.mul(outer, lines), line), self.width)

    def _at(self, base, start, column):
        return emit.address(self.ir, base, self.ir.add(start, column), self.item)

    def _along(self, parts, write):
        """Write for the vectors of this chunk's part of a line, and for the numbers that are left."""
        for first, last, kind in parts:
            with emit.loop(self.ir, first, last, kind.count if isinstance(kind, ir.VectorType) else 1) as c:
                write(kind, c.index)
