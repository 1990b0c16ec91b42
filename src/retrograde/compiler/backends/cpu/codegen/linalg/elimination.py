"""LU factorization with partial pivoting: X = P L U, strip of columns after strip of columns.

The rows of a strip above its diagonal block follow by substitution from the strips before it, those below lose their share of
what is above; then columns are eliminated one after the other (Golub and Van Loan, 2013, section 3.4, the form that looks left).
The result is n + 2 rows: both factors in one matrix, the number of the row of X in each row, and the sign of that permutation.
"""

from dataclasses import dataclass

from .. import emit, ir
from ..emit import I32, I64
from ..vecmath.elements import suffix_of
from .blocks import Place, copy_lines, give_out, take_in
from .kernel import Dealt, Kernel, dimensions_of
from .spec import VECTORS, Spec

_BUFFERS = ("x", "out", "flag", "room")
_NAMES = ("n", "x_first", "x_row", "x_column", "count", "step", "room", "pitch")


@dataclass(frozen=True)
class EliminationPlan(Dealt):
    """The LU factors of matrices of n rows.

    x      the first number and the steps along a column and along a row, in numbers
    batch  for each axis its length and the step of X, outermost first
    """

    spec: Spec
    n: int
    x: tuple
    batch: tuple

    @property
    def key(self):
        """What the code depends on."""
        return "elimination", *self.spec.key

    @property
    def work(self):
        """How many operations one matrix takes, roughly."""
        return self.n**3 // 3

    @property
    def room(self):
        """Numbers of memory that a chunk needs: the factors, a strip in the order of X, and the permutation."""
        return self.n * (self.spec.pitch(self.n) + self.spec.width + 1) + 1

    @property
    def words(self):
        """The numbers that the code is handed."""
        return self.n, *self.x, self.count, self.step, self.room, self.spec.pitch(self.n), *dimensions_of(self.batch)


def write_elimination(module, name, plan):
    """Add the function of a plan to `module`; its slots are X, the result, the flag, the room, and the words."""
    _Writer(module, name, plan.spec).write()


class _Writer(Kernel):
    def __init__(self, module, name, spec):
        super().__init__(module, name, spec, _BUFFERS, _NAMES)
        b, self.n, self.pitch = self.ir, self.number["n"], self.number["pitch"]
        factors, strip, self.order = self.own_room(b.mul(self.n, self.pitch), b.mul(self.n, I64(spec.width)), b.add(self.n, I64(1)))
        self.factors, self.strip = Place(factors, self.pitch, I64(1)), Place(strip, I64(spec.width), I64(1))

    def write(self):
        """The whole function."""
        b, item = self.ir, self.spec.item
        size = b.mul(self.n, b.add(self.n, I64(2)))
        with emit.loop(b, *self.share()) as matrix:
            (source,) = self.operands(matrix.index, "x")
            with emit.loop(b, 0, self.n) as row:
                # As numbers of the result's dtype, in which the permutation is given out; whole numbers up to 2^24 are exact in
                # float32.
                emit.store(b, b.sitofp(row.index, item), self._order(row.index))
            emit.store(b, item(1.0), self._order(self.n))
            with self.each_strip() as strip:
                columns = self.columns_from(strip.index, self.n)
                self._take_in(source, strip.index, columns)
                self._eliminate(strip.index, columns)
            self._give_out(Place(self.moved(self.buffer["out"], b.mul(matrix.index, size)), self.n, I64(1)))
        b.ret_void()

    def _order(self, i):
        """Where the number of the row of X is that is row `i` of the factors; behind all of them, the sign of the permutation."""
        return self.moved(self.order, i)

    def _take_in(self, source, first, columns):
        """Write a strip of X with its rows in the order that there is so far."""
        take_in(self.ir, self.spec, self.part(source, I64(0), first), self.strip, self.n, columns)
        # In the order of the pivots so far: strips to the left have been changed already, and this one has just come.
        order, target = Place(self.order, I64(1), I64(0)), self.part(self.factors, I64(0), first)
        copy_lines(self.ir, self.spec, self.strip, target, self.n, order, is_scattered=False)

    def _eliminate(self, first, columns):
        """A strip: the rows above its diagonal block, those below, and its columns."""
        b = self.ir
        for height, row in self.tiles.each(b, I64(0), first):
            self._tile("unit", row, height, row, first)
        for height, row in self.tiles.each(b, first, self.n):
            self._tile("subtract", row, height, first, first)
        # What strips to the left add is gone by now, so that a pivot is chosen among final numbers.
        with emit.loop(b, first, b.add(first, columns)) as column:
            self._change_rows(column.index, self._pivot_row(column.index), b.add(first, I64(self.spec.width)))
            self._take_column(column.index, first)

    def _tile(self, way, i, height, depth, first):
        b, item = self.ir, self.spec.item
        c, before, a = (self.factors.at(b, item, *at) for at in ((i, first), (I64(0), first), (i, I64(0))))
        self.tiles.call(b, way, height, [c, before, a, self.order, depth, self.pitch, I64(1), self.pitch, self.pitch])

    def _number_at(self, row, column):
        return emit.load(self.ir, self.factors.at(self.ir, self.spec.item, row, column), self.spec.item)

    def _pivot_row(self, column):
        """The row from the diagonal on with the greatest number in a column."""
        b, item = self.ir, self.spec.item
        size = lambda row: b.call_external(f"llvm.fabs.{suffix_of(item)}", item, [self._number_at(row, column)])
        with emit.loop(b, b.add(column, I64(1)), self.n, 1, [size(column), column]) as row:
            best, place = row.values
            found = size(row.index)
            # Of equal ones the first, as LAPACK does.
            is_greater = b.fcmp_ordered(">", found, best)
            row.values = [b.select(is_greater, found, best), b.select(is_greater, row.index, place)]
        return row.results[1]

    def _change_rows(self, one, other, end):
        """Let two rows, as far as there are factors, change places."""
        b, spec = self.ir, self.spec
        with b.if_then(b.icmp_signed("!=", one, other)):
            # Up to this strip: those to the right are not in the factors yet, and are brought into this order when they are.
            with emit.loop(b, 0, end, spec.lanes) as column:
                places = [self.factors.at(b, spec.item, row, column.index) for row in (one, other)]
                _exchange(b, places, spec.vector)
            _exchange(b, [self._order(one), self._order(other)], spec.item)
            sign = self._order(self.n)
            emit.store(b, b.fneg(emit.load(b, sign, spec.item)), sign)

    def _take_column(self, column, first):
        """Eliminate a column from the rows below its diagonal."""
        b, spec = self.ir, self.spec
        pivot, lanes = self._number_at(column, column), spec.lanes
        # The pivot is the greatest of its column.
        is_zero = b.fcmp_ordered("==", pivot, spec.item(0.0))  # then so are all numbers below
        # A singular matrix has factors, too: with a factor of 0 these rows keep what they have. Who solves by them finds the
        # zero.
        inverse = b.select(is_zero, spec.item(0.0), b.fdiv(spec.item(1.0), pivot))
        places = lambda row: [self.factors.at(b, spec.item, row, b.add(first, I64(j * lanes))) for j in range(VECTORS)]
        # To the left of its own column a row holds factors, which must stay.
        own = emit.splat(b, b.trunc(b.sub(column, first), I32), lanes)
        beyond = [self._beyond(own, j, emit.load(b, place, spec.vector)) for j, place in enumerate(places(column))]
        with emit.loop(b, b.add(column, I64(1)), self.n) as row:
            factor = b.fmul(self._number_at(row.index, column), inverse)
            share = b.fneg(emit.splat(b, factor, lanes))
            for value, place in zip(beyond, places(row.index), strict=True):
                found = emit.load(b, place, spec.vector)
                emit.store(b, emit.multiply_add(b, share, value, found, spec.is_fused), place)
            emit.store(b, factor, self.factors.at(b, spec.item, row.index, column))

    def _beyond(self, own, j, vector):
        """Vector `j` of a row with zeros as far as its own column."""
        lanes = self.spec.lanes
        numbers = ir.Constant(ir.VectorType(I32, lanes), list(range(j * lanes, (j + 1) * lanes)))
        return self.ir.select(self.ir.icmp_signed(">", numbers, own), vector, emit.zeros(self.spec.vector))

    def _give_out(self, target):
        """Write the factors, the permutation and its sign."""
        b, spec = self.ir, self.spec
        with self.each_strip() as strip:
            places = [self.part(place, I64(0), strip.index) for place in (self.factors, target)]
            give_out(b, spec, *places, self.n, self.columns_from(strip.index, self.n))
        order, last = (target.at(b, spec.item, b.add(self.n, I64(i)), I64(0)) for i in (0, 1))
        with emit.loop(b, 0, self.n) as i:
            emit.store(b, emit.load(b, self._order(i.index), spec.item), self.moved(order, i.index))
            emit.store(b, spec.item(0.0), self.moved(last, i.index))
        emit.store(b, emit.load(b, self._order(self.n), spec.item), last)


def _exchange(b, places, kind):
    one, other = (emit.load(b, place, kind) for place in places)
    emit.store(b, one, places[1])
    emit.store(b, other, places[0])
