"""The register tile: some rows by some columns of vectors of sums, which stay in registers while k goes by.

Each step of k takes one value for each row, the left operand, and one for each column, the right operand, and adds the product of
each pair to its sum. Where the left is a number in all lanes, that is an update of rank one; where both are vectors along k, it is
a dot product for each lane. See K. Goto and R. van de Geijn, Anatomy of high-performance matrix multiplication, ACM TOMS 34(3),
2008, and F. Van Zee and R. van de Geijn, BLIS, ACM TOMS 41(3), 2015 ("micro-kernel").
"""

from collections.abc import Callable
from typing import NamedTuple

from ..... import cost
from .. import emit, ir
from ..emit import I64, address
from .epilogue import changed_if, loaded, store


class Tile(NamedTuple):
    """`height` by `width` sums of type `vector`, row by row. Of several `chains`, steps take one after the other, since one sum
    takes several cycles to be ready for the next; their sums are added up by the epilogue.
    """

    vector: ir.VectorType
    height: int
    width: int
    is_fused: bool
    chains: int = 1
    #: Adds products to sums in another way than one by one: called with a builder, both factors and the sums.
    add_products: Callable | None = None

    def zeros(self):
        """Sums to begin with."""
        return [emit.zeros(self.vector)] * (self.height * self.width * self.chains)

    def grid(self, sums):
        """Sums by rows."""
        return [sums[i : i + self.width] for i in range(0, len(sums), self.width)]

    def over(self, b, ranges, left, right, sums):
        """The sums after all steps of some `ranges` of k: each is (start, stop, how far an iteration goes, its steps)."""
        return self._parted(self._in_ranges(b, ranges, left, right, [*left.carried, *right.carried, *sums]))[1]

    def over_blocks(self, b, ranges, left, right):
        """The same from zeros, with the steps of the first range in blocks; those of the others belong to the last one."""
        (start, stop, pace, steps), *rest = ranges

        def block(first, end, carried, sums):
            return self._parted(self._in_ranges(b, [(first, end, pace, steps)], left, right, [*carried, *sums]))

        def last(carried, sums):
            return self._parted(self._in_ranges(b, rest, left, right, [*carried, *sums]))[1]

        return self.blockwise(b, (start, stop, pace, steps), block, [*left.carried, *right.carried], last)

    def blockwise(self, b, steps_of, block, carried=(), last=lambda carried, sums: sums):
        """The sums over a range of k, of whose blocks of about `cost.SUMMED` steps each is summed by itself: the rounding errors
        of a running sum grow with how many numbers are in it already. `block` takes from where to where it goes, what is carried
        and sums, and gives both back; `last` takes both at the end, and gives sums back.

        See N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, SIAM 2002, section 4.2.
        """
        start, stop, pace, steps = steps_of
        size = max(cost.SUMMED // steps, 1) * pace
        # Sums of integers are exact, and those of pairs of bfloat16 as good as their factors.
        if self.add_products is not None or (isinstance(stop, int) and stop - start <= size):
            return last(*block(start, stop, carried, self.zeros()))
        start, stop = emit.number(start), emit.number(stop)
        zeros = self.zeros()
        memory = emit.vectors(b, len(zeros), self.vector)
        places = [address(b, memory, i, self.vector) for i in range(len(zeros))]

        def added(sums):
            return [b.fadd(before, x) for before, x in zip(loaded(b, places, self.vector), sums, strict=True)]

        def put_away(sums):
            store(b, changed_if(b, b.icmp_signed(">", done, I64(size)), sums, added), places)
            return zeros

        # What belongs to the block before is put away where the next one begins, since the last one stays in registers: a sum of
        # one block never meets memory.
        with emit.loop(b, start, stop, size, [*carried, *zeros]) as blocks:
            done = b.sub(blocks.index, start)
            carried, sums = self._parted(blocks.values)
            sums = changed_if(b, b.icmp_signed(">", done, I64(0)), sums, put_away)
            end = emit.minimum(b, b.add(blocks.index, I64(size)), stop)
            carried, sums = block(blocks.index, end, carried, sums)
            blocks.values = [*carried, *sums]
        return changed_if(b, b.icmp_signed(">", b.sub(stop, start), I64(size)), last(*self._parted(blocks.results)), added)

    def _in_ranges(self, b, ranges, left, right, state):
        # Everything that an iteration hands to the next is a phi of one loop, so that LLVM keeps all of it in registers. Ranges
        # share one state: what the rest of k adds goes on top of the same sums.
        for start, stop, pace, steps in ranges:
            with emit.loop(b, start, stop, pace, state) as loop:
                loop.values = self._iteration(b, left, right, loop, steps)
            state = loop.results
        return state

    def _parted(self, state):
        """What loaders carry, and the sums."""
        count = len(state) - self.height * self.width * self.chains
        return state[:count], state[count:]

    def _iteration(self, b, left, right, loop, steps):
        lefts, rights = len(left.carried), len(left.carried) + len(right.carried)
        there = right.begin(b, loop.index, loop.values[lefts:rights], steps)
        here = left.begin(b, loop.index, loop.values[:lefts], steps)
        sums, size = loop.values[rights:], self.height * self.width
        for step in range(steps):
            # Neighbouring steps add to different sums, so that a multiply-add need not wait for the one before it.
            chain = slice(step % self.chains * size, (step % self.chains + 1) * size)
            sums[chain] = self.step(b, left.read(b, here), right.read(b, there), sums[chain])
            here, there = left.onward(b, here), right.onward(b, there)
        return [*left.end(b, here), *right.end(b, there), *sums]

    def step(self, b, left, right, sums):
        """The sums after one step, whose values are `left(i)` for each row and `right(j)` for each column."""
        # Columns are loaded once for all rows and stay; a row's value is needed for one row of sums only, so that it may be
        # read late.
        columns, found = [right(j) for j in range(self.width)], []
        for i, row in enumerate(self.grid(sums)):
            value = left(i)
            found += [self._added(b, value, column, x) for column, x in zip(columns, row, strict=True)]
        return found

    def _added(self, b, x, y, z):
        return emit.multiply_add(b, x, y, z, self.is_fused) if self.add_products is None else self.add_products(b, x, y, z)


def unrolled(b, depth, steps):
    """The ranges of `depth` numbers of k: as many as can be in iterations of `steps`, a power of two, and then one by one."""
    # Of a power of two the negative is a mask: the multiple below `depth` without a division.
    whole = b.and_(depth, I64(-steps))
    return (I64(0), whole, steps, steps), (whole, depth, 1, 1)
