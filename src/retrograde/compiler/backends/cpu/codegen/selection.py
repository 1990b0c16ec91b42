"""Selection: where the numbers of each row stand that have given ranks, as a stable sort would put them.

A row is not sorted: the range of keys that a number can have is halved by counting, some vectors at a time, how many keys are not
above the middle, until one number or one key is left in it. Then it is looked for. In a row that is shorter than those vectors the
rank of each number is counted. In a row with NaN the first NaN is what is found.
"""

from dataclasses import dataclass
from typing import ClassVar

from .... import cost
from . import emit, ir
from .emit import I64
from .keys import greatest, key_of
from .rows import RowsPlan, RowsWriter


@dataclass(eq=False, repr=False)
class SelectionPlan(RowsPlan):
    """The positions of what has each of `ranks` ranks in its row; the ranks of a row stand `apart`."""

    grain: ClassVar = cost.SELECTION

    ranks: int
    apart: int

    @property
    def is_short(self):
        """Whether rows are shorter than what is looked at together."""
        return self.count < self.wide

    @property
    def key(self):
        """What the code depends on."""
        return "selection", self.dtype, self.lanes, self.is_short

    @property
    def words(self):
        """The numbers that the code is handed."""
        return self.rows, self.count, self.ranks, self.apart, self.step


def write_selection(module, name, plan):
    """Add the function of a plan to `module`; its slots are x, the ranks, the positions, and the words."""
    (_OfShort if plan.is_short else _OfLong)(module, name, plan).write()


class _Writer(RowsWriter):
    def __init__(self, module, name, plan):
        super().__init__(module, name, plan, 3, len(plan.words))
        (self.x, self.wanted, self.out), (self.ranks, self.apart) = self.buffers, self.more

    def write(self):
        """The whole function."""
        b = self.ir
        with emit.loop(b, self.first, self.last) as row:
            self.row = emit.address(b, self.x, b.mul(row.index, self.count), self.item)
            self._begin()
            with emit.loop(b, 0, self.ranks) as i:
                rank = emit.address(b, self.wanted, b.add(b.mul(row.index, self.apart), i.index), I64)
                place = emit.address(b, self.out, b.add(b.mul(row.index, self.ranks), i.index), I64)
                b.store(self._found(b.load(rank, typ=I64)), place)
        b.ret_void()

    def _keys(self, place, lanes):
        kind = self.item if lanes == 1 else ir.VectorType(self.item, lanes)
        return key_of(self.ir, emit.load(self.ir, emit.address(self.ir, self.row, place, self.item), kind))


class _OfShort(_Writer):
    """The rank of each number is how many come before it: those with a lower key, and equal ones on its left."""

    def __init__(self, module, name, plan):
        super().__init__(module, name, plan)
        self.keys, self.places = (emit.scratch(self.ir, ir.ArrayType(kind, self.wide)) for kind in (self.bits, I64))

    def _begin(self):
        b = self.ir
        nan = self.bits(greatest(self.bits))
        with emit.loop(b, 0, self.count, 1, [I64(0)]) as i:
            key = self._keys(i.index, 1)
            b.store(key, self._key_at(i.index))
            i.values = [b.add(i.values[0], b.zext(b.icmp_signed("!=", key, nan), I64))]
        # Where there are fewer numbers than elements some are NaN: their keys are the greatest, so the first of them has this
        # rank.
        self.numbers = i.results[0]
        with emit.loop(b, 0, self.count) as i:
            key = b.load(self._key_at(i.index), typ=self.bits)
            rank = self._rank(key, self.count, "<", self._rank(key, i.index, "==", I64(0)))
            b.store(i.index, emit.address(b, self.places, rank, I64))

    def _rank(self, key, end, relation, so_far):
        """`so_far`, and how many keys before `end` are in `relation` to `key`."""
        b = self.ir
        with emit.loop(b, 0, end, 1, [so_far]) as i:
            is_before = b.icmp_signed(relation, b.load(self._key_at(i.index), typ=self.bits), key)
            i.values = [b.add(i.values[0], b.zext(is_before, I64))]
        return i.results[0]

    def _found(self, rank):
        b = self.ir
        rank = b.select(b.icmp_signed("<", self.numbers, self.count), self.numbers, rank)
        return b.load(emit.address(b, self.places, rank, I64), typ=I64)

    def _key_at(self, place):
        return emit.address(self.ir, self.keys, place, self.bits)


class _OfLong(_Writer):
    """The range of keys is halved."""

    def __init__(self, module, name, plan):
        super().__init__(module, name, plan)
        self.whole = self.ir.sub(self.count, self.ir.srem(self.count, I64(self.wide)))

    def _begin(self):
        b = self.ir
        least, self.most = self._limits()
        self.has_nan = b.icmp_signed("==", self.most, self.bits(greatest(self.bits)))
        # All that is above the greatest but one is NaN.
        self.low = b.sub(b.select(self.has_nan, self.most, least), self.bits(1))

    def _found(self, rank):
        low, high, before = self._narrowed(self.low, self.most, rank)
        return self._place_of(low, high, self.ir.select(self.has_nan, I64(0), self.ir.sub(rank, before)))

    def _limits(self):
        """The least and the greatest key of the row."""
        b, vectors = self.ir, ir.VectorType(self.bits, self.wide)
        ends = [(1 << (self.bits.width - 1)) - 1, -(1 << (self.bits.width - 1))]
        with emit.loop(b, 0, self.whole, self.wide, [ir.Constant(vectors, [end] * self.wide) for end in ends]) as i:
            key = self._keys(i.index, self.wide)
            i.values = [self._extreme(key, so_far, relation) for so_far, relation in zip(i.values, "<>", strict=True)]
        found = [self._folded(f"s{name}", value) for name, value in zip(("min", "max"), i.results, strict=True)]
        with emit.loop(b, self.whole, self.count, 1, found) as i:
            key = self._keys(i.index, 1)
            i.values = [self._extreme(key, so_far, relation) for so_far, relation in zip(i.values, "<>", strict=True)]
        return i.results

    def _extreme(self, key, so_far, relation):
        return self.ir.select(self.ir.icmp_signed(relation, key, so_far), key, so_far)

    def _narrowed(self, low, high, rank):
        """A range of keys, above `low` and not above `high`, with what has the rank alone or its equals, and how many are below."""
        b, before = self.ir, self.ir.block
        look, halve, found = (b.append_basic_block(name) for name in ("look", "halve", "found"))
        b.branch(look)
        b.position_at_end(look)
        state = [b.phi(self.bits), b.phi(self.bits), b.phi(I64), b.phi(I64)]
        for phi, value in zip(state, (low, high, I64(0), self.count), strict=True):
            phi.add_incoming(value, before)
        bottom, top, below, until = state
        width = b.sub(top, bottom)
        # One key is left, which several elements may have, or one element, whatever keys are between.
        is_done = b.or_(b.icmp_unsigned("<=", width, self.bits(1)), b.icmp_signed("<=", b.sub(until, below), I64(1)))
        b.cbranch(is_done, found, halve)
        b.position_at_end(halve)
        middle = b.add(bottom, b.lshr(width, self.bits(1)))
        count = self._count_until(middle)
        is_above = b.icmp_signed("<=", count, rank)
        after = [(middle, bottom), (top, middle), (count, below), (until, count)]
        for phi, (if_above, otherwise) in zip(state, after, strict=True):
            phi.add_incoming(b.select(is_above, if_above, otherwise), b.block)
        b.branch(look)
        b.position_at_end(found)
        return bottom, top, below

    def _count_until(self, key):
        """How many keys of the row are not above `key`."""
        b, vectors = self.ir, ir.VectorType(self.bits, self.wide)
        limit = emit.splat(b, key, self.wide)
        with emit.loop(b, 0, self.whole, self.wide, [emit.zeros(vectors)]) as i:
            is_below = b.icmp_signed("<=", self._keys(i.index, self.wide), limit)
            # A lane that holds is -1 as an integer: to take it away counts it, without a selection.
            i.values = [b.sub(i.values[0], b.sext(is_below, vectors))]
        total = b.sext(self._folded("add", i.results[0]), I64)
        with emit.loop(b, self.whole, self.count, 1, [total]) as i:
            is_below = b.icmp_signed("<=", self._keys(i.index, 1), key)
            i.values = [b.add(i.values[0], b.zext(is_below, I64))]
        return i.results[0]

    def _place_of(self, low, high, number):
        """Where number `number` of the keys above `low` and not above `high` stands in the row."""
        b = self.ir
        left, place = emit.scratch(b, I64), emit.scratch(b, I64)
        b.store(number, left)
        b.store(I64(0), place)
        limits = emit.splat(b, low, self.wide), emit.splat(b, high, self.wide)
        with emit.loop(b, 0, self.whole, self.wide) as i:
            inside = self._is_inside(self._keys(i.index, self.wide), *limits)
            found = b.call_external(f"llvm.vector.reduce.or.v{self.wide}i1", ir.IntType(1), [inside])
            # Nearly all vectors have no key of the range, and are left with one test.
            with b.if_then(found, likely=False):
                self._look_for(i.index, b.add(i.index, I64(self.wide)), low, high, left, place)
        self._look_for(self.whole, self.count, low, high, left, place)
        return b.load(place, typ=I64)

    def _look_for(self, first, end, low, high, left, place):
        """Count down what is `left` at each key inside, and note the `place` where nothing was."""
        b = self.ir
        with emit.loop(b, first, end) as i, b.if_then(self._is_inside(self._keys(i.index, 1), low, high)):
            count = b.load(left, typ=I64)
            b.store(b.select(b.icmp_signed("==", count, I64(0)), i.index, b.load(place, typ=I64)), place)
            b.store(b.sub(count, I64(1)), left)

    def _is_inside(self, key, low, high):
        return self.ir.and_(self.ir.icmp_signed(">", key, low), self.ir.icmp_signed("<=", key, high))

    def _folded(self, name, vector):
        """The numbers of a vector as one: their sum, the least or the greatest."""
        return self.ir.call_external(f"llvm.vector.reduce.{name}.v{self.wide}i{self.bits.width}", self.bits, [vector])
