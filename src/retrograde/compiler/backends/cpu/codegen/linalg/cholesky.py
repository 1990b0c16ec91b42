"""Cholesky factorization: the upper factor U with Uᵀ U = X, strip of columns after strip of columns.

The rows of a strip above its diagonal block follow from the strips before it by substitution, those in the block are
factorized some at a time. The symmetric part of X is read, and what is asked for, U or its transpose, is written at the end.
"""

from dataclasses import dataclass

from .....run.failures import NOT_DEFINITE
from .. import emit, ir
from ..emit import I32, I64
from ..vecmath.elements import suffix_of
from .blocks import Place, square_at
from .kernel import Dealt, Kernel, dimensions_of
from .spec import VECTORS, Spec

_BUFFERS = ("x", "out", "flag", "room")
_NAMES = ("n", "x_first", "x_row", "x_column", "is_upper", "count", "step", "room", "pitch")


@dataclass(frozen=True)
class CholeskyPlan(Dealt):
    """The Cholesky factors of matrices of n rows.

    x      the first number and the steps along a column and along a row, in numbers
    batch  for each axis its length and the step of X, outermost first
    """

    spec: Spec
    n: int
    x: tuple
    is_upper: bool
    batch: tuple

    @property
    def key(self):
        """What the code depends on."""
        return "cholesky", *self.spec.key

    @property
    def work(self):
        """How many operations one matrix takes, roughly."""
        return self.n**3 // 6

    @property
    def room(self):
        """Numbers of memory that a chunk needs: the factor, and the inverses of its diagonal."""
        return self.n * (self.spec.pitch(self.n) + 1)

    @property
    def words(self):
        """The numbers that the code is handed; of a symmetric matrix rows and columns are the same."""
        first, row, column = self.x
        # If either of them is 1, the code finds rows whose numbers are neighbours: half as many cases to compile.
        if column != 1:
            row, column = column, row
        return (self.n, first, row, column, int(self.is_upper), self.count, self.step, self.room, self.spec.pitch(self.n),
                *dimensions_of(self.batch))


def write_cholesky(module, name, plan):
    """Add the function of a plan to `module`; its slots are X, the result, the flag, the room, and the words."""
    _Writer(module, name, plan.spec).write()


class _Writer(Kernel):
    def __init__(self, module, name, spec):
        super().__init__(module, name, spec, _BUFFERS, _NAMES)
        self.n, self.pitch = self.number["n"], self.number["pitch"]
        factor, self.inverses = self.own_room(self.ir.mul(self.n, self.pitch), self.n)
        self.factor = Place(factor, self.pitch, I64(1))

    def write(self):
        """The whole function."""
        b = self.ir
        with emit.loop(b, *self.share()) as matrix:
            (source,) = self.operands(matrix.index, "x")
            with self.each_strip() as strip:
                columns = self.columns_from(strip.index, self.n)
                self._take_in(source, strip.index, columns)
                self._factorize(strip.index, columns)
            out = self.moved(self.buffer["out"], b.mul(matrix.index, b.mul(self.n, self.n)))
            self._give_out(Place(out, self.n, I64(1)))
        b.ret_void()

    def _take_in(self, source, first, columns):
        """Write the rows of a strip of the symmetric part of X, as far as those of its diagonal block."""
        b, spec = self.ir, self.spec
        end = b.add(first, columns)
        is_whole = b.icmp_signed("==", columns, I64(spec.width))
        with b.if_else(b.and_(is_whole, b.icmp_signed("==", source.column, I64(1)))) as (squares, numbers):
            with squares, emit.loop(b, 0, end, spec.lanes) as row, emit.loop(b, first, end, spec.lanes) as column:
                across = emit.transpose(b, square_at(b, spec, source, column.index, row.index), spec.item_bytes)
                for k, (x, y) in enumerate(zip(square_at(b, spec, source, row.index, column.index), across, strict=True)):
                    emit.store(b, self._mean(x, y), self.factor.at(b, spec.item, b.add(row.index, I64(k)), column.index))
            with numbers, emit.loop(b, 0, end) as row:
                for j in range(VECTORS):
                    place = self.factor.at(b, spec.item, row.index, b.add(first, I64(j * spec.lanes)))
                    emit.store(b, emit.zeros(spec.vector), place)
                with emit.loop(b, first, end) as column:
                    x, y = (emit.load(b, source.at(b, spec.item, *at), spec.item)
                            for at in ((row.index, column.index), (column.index, row.index)))
                    emit.store(b, self._mean(x, y), self.factor.at(b, spec.item, row.index, column.index))

    def _mean(self, x, y):
        half = self.spec.item(0.5)
        total = self.ir.fadd(x, y)
        return self.ir.fmul(total, emit.splat(self.ir, half, self.spec.lanes) if isinstance(x.type, ir.VectorType) else half)

    def _factorize(self, first, columns):
        """A strip: rows above its diagonal block, and those in it."""
        b = self.ir
        for height, row in self.tiles.each(b, I64(0), first):
            self._tile("substitute", row, height, first)
        for height, row in self.tiles.each(b, first, b.add(first, columns)):
            self._rows(row, height, first)

    def _tile(self, way, i, height, first):
        b, item = self.ir, self.spec.item
        c, before, a = (self.factor.at(b, item, *at) for at in ((i, first), (I64(0), first), (I64(0), i)))
        self.tiles.call(b, way, height, [
            c, before, a, self.moved(self.inverses, i), i, I64(1), self.pitch, self.pitch, self.pitch])

    def _rows(self, i, height, first):
        """Some rows of the diagonal block."""
        b, spec = self.ir, self.spec
        self._tile("subtract", i, height, first)
        end = b.add(i, I64(height))
        with emit.loop(b, i, end) as row:
            pivot = emit.load(b, self.factor.at(b, spec.item, row.index, row.index), spec.item)
            # Unordered: a NaN is not definite either. The rest is computed all the same, and is thrown away.
            with b.if_then(b.fcmp_unordered("<=", pivot, spec.item(0.0)), likely=False):
                b.store(I64(NOT_DEFINITE), self.buffer["flag"])
            root = b.call_external(f"llvm.sqrt.{suffix_of(spec.item)}", spec.item, [pivot])
            # Kept for the strips to come, whose rows above the diagonal are substituted with this one.
            inverse = b.fdiv(spec.item(1.0), root)
            emit.store(b, inverse, self.moved(self.inverses, row.index))
            places = self._places(row.index, first)
            scale = emit.splat(b, inverse, spec.lanes)
            scaled = [b.fmul(emit.load(b, place, spec.vector), scale) for place in places]
            for value, place in zip(scaled, places, strict=True):
                emit.store(b, value, place)
            # The rows of this tile only: later tiles of the block take it away when their turn comes.
            with emit.loop(b, b.add(row.index, I64(1)), end) as later:
                number = emit.load(b, self.factor.at(b, spec.item, row.index, later.index), spec.item)
                share = b.fneg(emit.splat(b, number, spec.lanes))
                for value, place in zip(scaled, self._places(later.index, first), strict=True):
                    found = emit.load(b, place, spec.vector)
                    emit.store(b, emit.multiply_add(b, share, value, found, spec.is_fused), place)

    def _places(self, row, first):
        b, spec = self.ir, self.spec
        return [self.factor.at(b, spec.item, row, b.add(first, I64(j * spec.lanes))) for j in range(VECTORS)]

    def _give_out(self, target):
        """Write the factor that is asked for, with zeros on the other side."""
        b = self.ir
        with b.if_else(b.icmp_signed("!=", self.number["is_upper"], I64(0))) as (upper, lower):
            with upper:
                self._triangle(target, self.factor, is_upper=True)
            with lower:
                self._triangle(target, Place(self.factor.base, I64(1), self.pitch), is_upper=False)

    def _triangle(self, target, source, *, is_upper):
        """Copy a triangle: squares of vectors, then the numbers of the columns and the rows that are left."""
        b, spec = self.ir, self.spec
        whole = b.sub(self.n, b.srem(self.n, I64(spec.lanes)))
        with emit.loop(b, 0, whole, spec.lanes) as row, emit.loop(b, 0, whole, spec.lanes) as column:
            self._square(target, row.index, column.index, is_upper)
        with emit.loop(b, 0, self.n) as row:
            # Rows of squares have only their last columns left, other rows have all of them.
            is_below = b.icmp_signed("<", row.index, whole)
            with emit.loop(b, b.select(is_below, whole, I64(0)), self.n) as column:
                at = row.index, column.index
                found = emit.load(b, source.at(b, spec.item, *at), spec.item)
                is_kept = b.icmp_signed(">=" if is_upper else "<=", column.index, row.index)
                emit.store(b, b.select(is_kept, found, spec.item(0.0)), target.at(b, spec.item, *at))

    def _square(self, target, row, column, is_upper):
        """A square beside the diagonal, on it, or one of zeros."""
        b, spec = self.ir, self.spec
        zeros, on_diagonal = emit.zeros(spec.vector), b.icmp_signed("==", row, column)
        # Squares on the other side of the diagonal are zeros, whatever the factor's memory holds there: it was never cleared.
        is_kept = b.icmp_signed(">=" if is_upper else "<=", column, row)
        rows = [target.at(b, spec.item, b.add(row, I64(k)), column) for k in range(spec.lanes)]
        with b.if_else(is_kept) as (kept, other):
            with kept:
                at = (row, column) if is_upper else (column, row)
                found = square_at(b, spec, self.factor, *at)
                found = found if is_upper else emit.transpose(b, found, spec.item_bytes)
                lanes = ir.Constant(ir.VectorType(I32, spec.lanes), list(range(spec.lanes)))
                for k, (value, place) in enumerate(zip(found, rows, strict=True)):
                    edge = emit.splat(b, b.select(on_diagonal, I32(k), I32(0 if is_upper else spec.lanes)), spec.lanes)
                    mask = b.icmp_signed(">=" if is_upper else "<=", lanes, edge)
                    emit.store(b, b.select(mask, value, zeros), place)
            with other:
                for place in rows:
                    emit.store(b, zeros, place)
