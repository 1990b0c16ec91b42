"""Writing lines at positions: `out[positions[i]] = y[i]` for all i in order, so that of equal positions the last one counts.

What lies between is what there was: where the lines are not written in place, it is copied first. A chunk has some whole lines of
the table, and looks through all positions for those that are its own.
"""

from typing import NamedTuple

from ..... import cost
from .. import emit, ir
from ..emit import BYTE, I64
from ..entry import Entry
from ..prefetch import is_large, later_one, prefetch_written

#: Bytes that are moved together.
_VECTOR = 32


class WrittenPlan(NamedTuple):
    """`count` lines of `nbytes` into `size` lines, which are copied from elsewhere first unless `is_in_place`."""

    index_bits: int
    is_in_place: bool
    count: int
    size: int
    nbytes: int

    @property
    def key(self):
        """What the code depends on."""
        return "written lines", self.index_bits, self.is_in_place, self.is_distant

    @property
    def is_distant(self):
        """Whether lines are asked for before they are written."""
        return is_large(self.size * self.nbytes)

    @property
    def share(self):
        """How many lines of the table one chunk has, whatever the number of threads."""
        moved = self.count if self.is_in_place else self.count + self.size
        return cost.SCATTER_LINES.share(self.size, moved * self.nbytes // 4)

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.size // self.share)

    @property
    def words(self):
        """The numbers that the code is handed."""
        return self.count, self.size, self.nbytes, self.share


def write_written(module, name, plan):
    """Add the function of a plan to `module`; its slots are what is written over, the positions, y, the result, the flag, and the
    words.
    """
    entry = Entry(module, name)
    b, item = entry.builder, ir.IntType(plan.index_bits)
    table, positions, lines, out, flag = (entry.pointer(i) for i in range(5))
    count, size, nbytes, share = (entry.word(5 + i) for i in range(4))
    first = b.mul(entry.chunk, share)
    last = emit.minimum(b, b.add(first, share), size)
    if not plan.is_in_place:
        start, length = b.mul(first, nbytes), b.mul(b.sub(last, first), nbytes)
        _move(b, emit.address(b, table, start, BYTE), emit.address(b, out, start, BYTE), length)

    def position(i):
        """Position number `i`, and whether it is one of this chunk's lines."""
        found = b.load(emit.address(b, positions, i, item), typ=item)
        found = b.sext(found, I64) if plan.index_bits < 64 else found
        # A position may count from the end.
        found = b.select(b.icmp_signed("<", found, I64(0)), b.add(found, size), found)
        # Without signs one comparison sees both ends. What lies in no chunk's lines is an error, noted by all of them.
        return found, b.icmp_unsigned("<", b.sub(found, first), b.sub(last, first))

    with emit.loop(b, 0, count) as i:
        if plan.is_distant:
            later, is_own = position(later_one(b, i.index, count))
            with b.if_then(is_own):
                prefetch_written(b, emit.address(b, out, b.mul(later, nbytes), BYTE), nbytes)
        found, is_own = position(i.index)
        with b.if_else(is_own) as (inside, outside):
            with inside:
                source, target = (emit.address(b, base, b.mul(at, nbytes), BYTE) for base, at in ((lines, i.index), (out, found)))
                _move(b, source, target, nbytes)
            with outside, b.if_then(b.icmp_unsigned(">=", found, size)):
                b.store(I64(1), flag)
    b.ret_void()


def _move(b, source, target, nbytes):
    """Copy bytes in vectors, and one by one those that are left."""
    vector = ir.VectorType(BYTE, _VECTOR)
    whole = b.sub(nbytes, b.srem(nbytes, I64(_VECTOR)))
    for start, end, step, kind in ((I64(0), whole, _VECTOR, vector), (whole, nbytes, 1, BYTE)):
        with emit.loop(b, start, end, step) as at:
            read, write = (emit.address(b, base, at.index, BYTE) for base in (source, target))
            emit.store(b, emit.load(b, read, kind), write)
