"""For each of some positions the place where an equal one stands first, `out[i] = min {j : positions[j] = positions[i]}`, or next,
after the last one the first again.

A table of places, twice as long as the positions at least, is filled from the first position on: one that is there already is found
where its hash says, or a few places behind that.
"""

from typing import NamedTuple

from .. import emit, ir
from ..emit import I32, I64
from ..entry import Entry

#: The golden ratio of 64 bits: products with it differ in their first bits even where numbers follow each other (Knuth, 6.4).
_SPREAD = -7046029254386353131
_EMPTY = I32(-1)


class FirstPlan(NamedTuple):
    """`count` positions, looked up in a table of 2**`bits` places; places that are `is_linked` lead to the next one."""

    index_bits: int
    is_linked: bool
    count: int
    chunks: int = 1

    @property
    def bits(self):
        """The length of the table, as a power of two."""
        return max(4, (2 * self.count - 1).bit_length())

    @property
    def room(self):
        """The bytes of the table."""
        return 4 << self.bits

    @property
    def key(self):
        """What the code depends on."""
        return "first places", self.index_bits, self.is_linked

    @property
    def words(self):
        """The numbers that the code is handed."""
        return self.count, self.bits


def write_first(module, name, plan):
    """Add the function of a plan to `module`; its slots are the positions, the places, the table, and the words."""
    entry = Entry(module, name)
    b, item = entry.builder, ir.IntType(plan.index_bits)
    positions, out, table = (entry.pointer(i) for i in range(3))
    count, bits = entry.word(3), entry.word(4)
    size = b.shl(I64(1), bits)
    shift, last = b.sub(I64(64), bits), b.sub(size, I64(1))
    with emit.loop(b, 0, size) as place:
        b.store(_EMPTY, emit.address(b, table, place.index, I32))
    with emit.loop(b, 0, count) as i:
        position = b.load(emit.address(b, positions, i.index, item), typ=item)
        wide = b.sext(position, I64) if plan.index_bits < 64 else position
        before, (look, meet, follow, fill, found) = b.block, [
            b.append_basic_block(name) for name in ("look", "meet", "follow", "fill", "found")]
        start = b.lshr(b.mul(wide, I64(_SPREAD)), shift)
        b.branch(look)
        b.position_at_end(look)
        at = b.phi(I64)
        at.add_incoming(start, before)
        there = b.load(emit.address(b, table, at, I32), typ=I32)
        b.cbranch(b.icmp_signed("==", there, _EMPTY), fill, meet)
        b.position_at_end(meet)
        place = b.zext(there, I64)
        other = b.load(emit.address(b, positions, place, item), typ=item)
        b.cbranch(b.icmp_signed("==", other, position), found, follow)
        b.position_at_end(follow)
        at.add_incoming(b.and_(b.add(at, I64(1)), last), follow)
        b.branch(look)
        b.position_at_end(fill)
        b.store(b.trunc(i.index, I32), emit.address(b, table, at, I32))
        b.branch(found)
        b.position_at_end(found)
        known = b.phi(I64)
        known.add_incoming(place, meet)
        known.add_incoming(i.index, fill)
        (_link if plan.is_linked else _note_first)(b, out, i.index, known, emit.address(b, table, at, I32))
    b.ret_void()


def _note_first(b, out, i, known, _):
    """Place `i` has an equal position first at the place that is `known` by the table, which may be itself."""
    b.store(known, emit.address(b, out, i, I64))


def _link(b, out, i, known, entry):
    """Place `i` comes after the one that is `known` by the table, if that is another, and before the first one; the `entry` of the
    table knows the last one.
    """
    b.store(i, emit.address(b, out, i, I64))
    before = emit.address(b, out, known, I64)
    first = b.load(before, typ=I64)
    # A position that is new has just been linked to itself, and stays so.
    b.store(i, before)
    b.store(first, emit.address(b, out, i, I64))
    b.store(b.trunc(i, I32), entry)
