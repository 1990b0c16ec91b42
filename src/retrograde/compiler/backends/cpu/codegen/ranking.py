"""Ranking: where the greatest (or least) numbers of each row are, in order, of equal ones the first first.

A row is compared with the last of those found so far, some vectors at a time: most are not greater, and nothing else is done. A
number that is greater is put in its place among those found. Numbers are put in order by their keys.
"""

from dataclasses import dataclass
from typing import ClassVar

from .... import cost
from . import emit, ir
from .emit import I64
from .keys import key_of, number_of
from .rows import RowsPlan, RowsWriter


@dataclass(eq=False, repr=False)
class RankingPlan(RowsPlan):
    """The positions of the `ranked` greatest, or least, numbers of each row."""

    grain: ClassVar = cost.RANKING

    ranked: int
    is_greatest: bool

    @property
    def key(self):
        """What the code depends on."""
        return "ranking", self.dtype, self.lanes, self.is_greatest

    @property
    def words(self):
        """The numbers that the code is handed."""
        return self.rows, self.count, self.ranked, self.step


def write_ranking(module, name, plan):
    """Add the function of a plan to `module`; its slots are x, the positions, and the words."""
    _Writer(module, name, plan).write()


class _Writer(RowsWriter):
    def __init__(self, module, name, plan):
        super().__init__(module, name, plan, 2, len(plan.words))
        self.plan, (self.x, self.out), (self.ranked,) = plan, self.buffers, self.more
        self.keys = emit.scratch(self.ir, ir.ArrayType(self.bits, cost.MOST_RANKED))
        #: The last number found, as vectors are compared with it.
        self.least = emit.scratch(self.ir, self.item)

    def write(self):
        """The whole function."""
        b = self.ir
        whole = b.sub(self.count, b.srem(self.count, I64(self.wide)))
        with emit.loop(b, self.first, self.last) as row:
            self.row = emit.address(b, self.x, b.mul(row.index, self.count), self.item)
            self.places = emit.address(b, self.out, b.mul(row.index, self.ranked), I64)
            with emit.loop(b, 0, self.ranked) as i:
                # Below the keys of all numbers: the first ones take these places without a case of their own.
                b.store(self.bits(-(1 << (self.bits.width - 1))), self._key_at(i.index))
            b.store(self._number(self.bits(-(1 << (self.bits.width - 1)))), self.least)
            with emit.loop(b, 0, whole, self.wide) as i, b.if_then(self._may_be_ranked(i.index)):
                self._rank_all(i.index, b.add(i.index, I64(self.wide)))
            self._rank_all(whole, self.count)
        b.ret_void()

    def _may_be_ranked(self, first):
        """Whether a number of some vectors may come before the last one found; always where one of the two is NaN."""
        b, kind = self.ir, ir.VectorType(self.item, self.wide)
        numbers = emit.load(b, emit.address(b, self.row, first, self.item), kind)
        least = emit.splat(b, b.load(self.least, typ=self.item), self.wide)
        # Numbers are compared, not keys, which take some instructions each; what is found here is looked at again by its key.
        found = b.fcmp_unordered(">" if self.plan.is_greatest else "<", numbers, least)
        name = f"llvm.vector.reduce.or.v{self.wide}i1"
        return b.call_external(name, ir.IntType(1), [found])

    def _rank_all(self, first, end):
        with emit.loop(self.ir, first, end) as place:
            self._rank(place.index)

    def _rank(self, place):
        """Put the number at a place of the row among those found, if it comes before the last of them."""
        b = self.ir
        key = self._key(emit.load(b, emit.address(b, self.row, place, self.item), self.item))
        end = b.sub(self.ranked, I64(1))
        # Greater, not equal: of equal numbers the first one keeps its place.
        with b.if_then(b.icmp_signed(">", key, b.load(self._key_at(end), typ=self.bits))):
            at = self._moved_back(key, end)
            b.store(key, self._key_at(at))
            b.store(place, self._place_at(at))
            b.store(self._number(b.load(self._key_at(end), typ=self.bits)), self.least)

    def _moved_back(self, key, end):
        """The place of a key among those found, once all that come after it are one further back."""
        b, before = self.ir, self.ir.block
        look, ask, move, found = (b.append_basic_block(name) for name in ("look", "ask", "move", "found"))
        b.branch(look)
        b.position_at_end(look)
        at = b.phi(I64)
        at.add_incoming(end, before)
        b.cbranch(b.icmp_signed(">", at, I64(0)), ask, found)
        b.position_at_end(ask)
        previous = b.sub(at, I64(1))
        other = b.load(self._key_at(previous), typ=self.bits)
        b.cbranch(b.icmp_signed(">", key, other), move, found)
        b.position_at_end(move)
        b.store(other, self._key_at(at))
        b.store(b.load(self._place_at(previous), typ=I64), self._place_at(at))
        at.add_incoming(previous, move)
        b.branch(look)
        b.position_at_end(found)
        return at

    def _key(self, number):
        """An integer that is greater for numbers that come before others."""
        key = key_of(self.ir, number)
        return key if self.plan.is_greatest else self.ir.xor(key, self.bits(-1))

    def _number(self, key):
        """The number that has a key."""
        return number_of(self.ir, key if self.plan.is_greatest else self.ir.xor(key, self.bits(-1)), self.item)

    def _key_at(self, place):
        return emit.address(self.ir, self.keys, place, self.bits)

    def _place_at(self, place):
        return emit.address(self.ir, self.places, place, I64)
