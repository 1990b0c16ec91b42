"""What is asked for before it is needed: the blocks of operands after the one whose tiles are computed.

A block comes from memory while the tiles of the one before are computed, some lines of it in the loop of each tile, so that
nobody waits for it; else a product whose operands are in no cache takes a tenth longer. Processors foresee by themselves what is
read from end to end of a page, but neither the next page nor the next row of a block.
"""

from ..... import cost
from .....target import CACHE_LINE
from .. import emit
from ..emit import BYTE, I1, I64, address, offset


class Ahead:
    """What a product asks for, the most urgent first: blocks that are packed next, of B and of A, and then what the next tiles read
    where it lies. A tile asks for one line in each iteration.
    """

    def __init__(self, part):
        self._part, self._is_open = part, emit.scratch(part.builder, I1)
        self._right, self._left, self._strip = (Region(part.builder, self._is_open) for _ in range(3))

    def after_block_of_k(self, first_k, depth, columns, last):
        """The block of B that is packed when the tiles of some `columns` at `first_k` of `depth` are done: the next one along k,
        or the first one of the columns up to `last`.
        """
        b, n = self._part.builder, self._part.numbers
        later = b.add(first_k, n.k_block)
        is_deeper = b.icmp_signed("<", later, depth)
        k = b.select(is_deeper, later, I64(0))
        following = emit.minimum(b, b.add(columns[1], n.column_tiles_block), last)
        first, end = b.select(is_deeper, columns[0], columns[1]), b.select(is_deeper, columns[1], following)
        column = b.mul(first, n.short_width)
        wide = b.sub(emit.minimum(b, b.mul(end, n.short_width), n.n), column)
        start = address(b, self._part.b, offset(b, k, n.b_row, column, n.b_column), BYTE)
        is_needed = b.and_(self._is_packed("right"), b.icmp_signed("<", first, end))
        self._right.set(is_needed, start, *self._runs(self._part.depth(k), wide, n.b_row, n.b_column))

    def after_rows(self, first_k, depth, rows, all_rows):
        """The block of A that is read when the tiles of some `rows` are done, the next rows, or the first ones further along k, but
        where each of its rows goes by once.
        """
        b, n = self._part.builder, self._part.numbers
        is_here = b.icmp_signed("<", rows[1], all_rows[1])
        first = b.select(is_here, rows[1], all_rows[0])
        end = emit.minimum(b, b.add(first, n.row_tiles_block), all_rows[1])
        k = b.select(is_here, first_k, b.add(first_k, n.k_block))
        row = self._part.row_start(first)
        start = address(b, self._part.a, offset(b, row, n.a_row, k, n.a_column), BYTE)
        is_read = b.or_(self._is_packed("left"), b.icmp_signed("==", n.is_right_resident, I64(0)))
        is_needed = b.and_(is_read, b.icmp_signed("<", k, depth))
        high = b.sub(self._part.row_start(end), row)
        self._left.set(is_needed, start, *self._runs(high, self._part.depth(k), n.a_row, n.a_column))

    def after_row_tile(self, tile, k, at):
        """The rows of the tile after a row `tile` of a block `at` of `k` steps, if it is read where it lies."""
        b, part = self._part.builder, self._part
        later = b.add(tile, I64(1))
        moved = b.mul(b.sub(part.row_start(later), part.row_start(at.rows[0])), at.left_step)
        is_needed = b.and_(_negated(b, self._is_packed("left")), b.icmp_signed("<", later, at.rows[1]))
        runs = self._runs(part.height(later), k, at.left_step, part.numbers.a_column)
        self._strip.set(is_needed, address(b, at.left, moved, BYTE), *runs)

    def after_column_tile(self, tile, k, at):
        """The columns of the tile after a column `tile` of a block `at` of `k` steps, if they are not packed with it."""
        b, n = self._part.builder, self._part.numbers
        later, width = b.add(tile, I64(1)), b.mul(n.short_width, n.item)
        start = address(b, at.right, b.mul(b.sub(later, at.columns[0]), at.right_step), BYTE)
        is_needed = b.and_(_negated(b, self._is_packed("right")), b.icmp_signed("<", later, at.columns[1]))
        step = b.select(b.icmp_signed("!=", n.is_right_direct, I64(0)), n.b_row, width)
        self._strip.set(is_needed, start, k, step, width)

    def ask(self, k, otherwise, put):
        """Hand to `put` from which address on, and at which distance, a tile of `k` steps asks for a line in each iteration:
        `otherwise` again and again when there is nothing left to ask for. What was put last stays as it is from then on.
        """
        b = self._part.builder
        with b.if_then(b.load(self._is_open, typ=I1)):
            count, is_open = b.sdiv(k, I64(cost.TILE_STEPS)), I1(1)
            for region in (self._right, self._left, self._strip):
                is_next = b.and_(is_open, region.is_left())
                with b.if_then(is_next):
                    put(*region.take(count))
                is_open = b.and_(is_open, _negated(b, is_next))
            with b.if_then(is_open):
                put(b.ptrtoint(otherwise, I64), I64(0))
                b.store(I1(0), self._is_open)

    def _is_packed(self, side):
        return self._part.builder.icmp_signed("!=", self._part.numbers.function(side), I64(0))

    def _runs(self, rows, columns, row_step, column_step):
        """(runs, bytes from one to the next, bytes of one) of a matrix, whichever way it lies; no runs if no way is contiguous."""
        b, item = self._part.builder, self._part.numbers.item
        is_along_rows, is_along_columns = (b.icmp_signed("==", step, item) for step in (column_step, row_step))
        runs = b.select(is_along_rows, rows, b.select(is_along_columns, columns, I64(0)))
        nbytes = b.mul(b.select(is_along_rows, columns, rows), item)
        return runs, b.select(is_along_rows, row_step, column_step), nbytes


class Region:
    """Memory that is asked for line by line, `inner` lines in each of `outer` rows; a tile gets further along the inner way."""

    _FIELDS = ("start", "reached", "inner", "inner_step", "outer", "outer_step")

    def __init__(self, builder, is_open):
        self._builder, self._is_open = builder, is_open
        self._fields = {label: emit.scratch(builder, I64) for label in self._FIELDS}
        self._put(**dict.fromkeys(self._FIELDS, I64(0)))
        # The first tile says what is asked for when there is nothing.
        builder.store(I1(1), is_open)

    def set(self, is_needed, start, runs, stride, nbytes):
        """So many `runs` of `nbytes`, `stride` bytes apart, from `start` on; none if it is not needed."""
        b, line = self._builder, I64(CACHE_LINE)
        # Runs without gaps are one.
        is_joined = b.icmp_signed("==", stride, nbytes)
        nbytes, runs = b.select(is_joined, b.mul(nbytes, runs), nbytes), b.select(is_joined, emit.minimum(b, runs, 1), runs)
        # A run that begins within a line may end within one line more.
        is_aligned = b.icmp_signed("==", b.and_(b.or_(b.ptrtoint(start, I64), stride), I64(CACHE_LINE - 1)), I64(0))
        lines = b.sdiv(b.add(nbytes, b.select(is_aligned, I64(CACHE_LINE - 1), I64(2 * CACHE_LINE - 2))), line)
        # Along what is longer, so that a tile seldom reaches the end with lines to spare.
        is_long = b.icmp_signed(">=", lines, runs)
        inner, outer = b.select(is_long, lines, runs), b.select(is_long, runs, lines)
        is_empty = b.or_(_negated(b, is_needed), b.icmp_signed("==", runs, I64(0)))
        self._put(
            start=b.ptrtoint(start, I64),
            reached=I64(0),
            inner=inner,
            inner_step=b.select(is_long, line, stride),
            outer=b.select(is_empty, I64(0), outer),
            outer_step=b.select(is_long, stride, line),
        )
        b.store(b.or_(b.load(self._is_open, typ=I1), _negated(b, is_empty)), self._is_open)

    def is_left(self):
        """Whether some of it has not been asked for."""
        return self._builder.icmp_signed(">", self._get("outer"), I64(0))

    def take(self, count):
        """The address and the step of the next `count` lines."""
        b = self._builder
        start, reached, inner, step = map(self._get, ("start", "reached", "inner", "inner_step"))
        # The last ones end where the row does: rather lines that were asked for before than others that nobody needs.
        first = emit.minimum(b, reached, emit.maximum(b, b.sub(inner, count), 0))
        following = b.add(reached, count)
        is_through = b.icmp_signed(">=", following, inner)
        self._put(
            start=b.add(start, b.select(is_through, self._get("outer_step"), I64(0))),
            reached=b.select(is_through, I64(0), following),
            outer=b.sub(self._get("outer"), b.zext(is_through, I64)),
        )
        return b.add(start, b.mul(first, step)), step

    def _put(self, **values):
        for label, value in values.items():
            self._builder.store(value, self._fields[label])

    def _get(self, label):
        return self._builder.load(self._fields[label], typ=I64)


def _negated(b, condition):
    return b.xor(condition, I1(1))
