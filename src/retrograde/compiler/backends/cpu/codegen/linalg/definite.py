"""The gradient of a Cholesky factorization: with X = L Lᵀ and the gradient G of L, that of X, which is symmetric.

Strips of columns are done from the last to the first. With T twice the result, what is found so far, a strip loses T's share,
`G[i, strip] - Σ T[i, k] L[k, strip]` over all k beyond the strip. Below the diagonal block D the strip of T is that by the
inverse of D; in the block it is `Q + Qᵀ` with `Q = D⁻ᵀ Φ(Dᵀ G) D⁻¹`, where Φ keeps the lower triangle and halves the diagonal. This
is the blocked form of I. Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527, section 3.2, in the order that
looks at each strip once; it takes a sixth of the work of products and equations of whole matrices.
"""

from dataclasses import dataclass

from .. import emit, ir
from ..emit import I32, I64
from .blocks import Place, square_at, take_in
from .kernel import Dealt, Kernel, dimensions_of
from .spec import VECTORS, Spec

_BUFFERS = ("l", "g", "out", "flag", "room")
_NAMES = ("n", "l_first", "l_row", "l_column", "g_first", "g_row", "g_column", "count", "step", "room", "pitch")


@dataclass(frozen=True)
class DefinitePlan(Dealt):
    """The gradients of matrices of n rows by those of their Cholesky factors.

    factor, slope  the first number and the steps along a column and along a row, in numbers
    batch          for each axis its length and the steps of both, outermost first
    """

    spec: Spec
    n: int
    factor: tuple
    slope: tuple
    batch: tuple

    @property
    def key(self):
        """What the code depends on."""
        return "definite", *self.spec.key

    @property
    def work(self):
        """How many operations one matrix takes, roughly."""
        return self.n**3 // 3

    @property
    def room(self):
        """Numbers of memory that a chunk needs: L, T, a strip of G, three blocks and the inverses of a diagonal."""
        width = self.spec.width
        return self.n * (2 * self.spec.pitch(self.n) + width) + 3 * width * width + width

    @property
    def words(self):
        """The numbers that the code is handed."""
        return (self.n, *self.factor, *self.slope, self.count, self.step, self.room, self.spec.pitch(self.n),
                *dimensions_of(self.batch))


def write_definite(module, name, plan):
    """Add the function of a plan to `module`; its slots are L, G, the result, the flag, the room, and the words."""
    _Writer(module, name, plan.spec).write()


class _Writer(Kernel):
    def __init__(self, module, name, spec):
        super().__init__(module, name, spec, _BUFFERS, _NAMES)
        b, self.n, self.pitch, width = self.ir, self.number["n"], self.number["pitch"], I64(spec.width)
        whole, block = b.mul(self.n, self.pitch), I64(spec.width**2)
        *places, self.inverses = self.own_room(whole, whole, b.mul(self.n, width), block, block, block, width)
        self.factor, self.twice = (Place(place, self.pitch, I64(1)) for place in places[:2])
        self.strip, self.inverse, self.inner, self.half = (Place(place, width, I64(1)) for place in places[2:])

    def write(self):
        """The whole function."""
        b, width = self.ir, I64(self.spec.width)
        with emit.loop(b, *self.share()) as matrix:
            factor, slope = self.operands(matrix.index, "lg")
            # Strips are counted from the first column, so that the last one may be narrow: there is nothing below it.
            last = b.mul(b.sdiv(b.sub(self.n, I64(1)), width), width)
            with self.each_strip() as done:
                # From the last strip: each needs T beyond it, and nothing before it.
                first = b.sub(last, done.index)
                columns = self.columns_from(first, self.n)
                for source, target in ((factor, self.part(self.factor, first, first)), (slope, self.strip)):
                    take_in(b, self.spec, self.part(source, first, first), target, b.sub(self.n, first), columns)
                self._strip(first, columns)
            out = self.moved(self.buffer["out"], b.mul(matrix.index, b.mul(self.n, self.n)))
            self._give_out(Place(out, self.n, I64(1)))
        b.ret_void()

    def _strip(self, first, columns):
        """A strip of T, on and below its diagonal block and mirrored."""
        b = self.ir
        end = b.add(first, columns)
        below = b.sub(self.n, end)
        diagonal = self.part(self.factor, first, first)
        under, lower = self.part(self.strip, columns, I64(0)), self.part(self.factor, end, first)
        self._keep_lower(diagonal, columns, 1.0)
        self._invert(diagonal, columns)
        self.tiles.subtract(b, under, self.part(self.twice, end, end), lower, below, below)
        found = self.part(self.twice, end, first)
        self._fill(found, below)
        self.tiles.subtract(b, found, under, self.inverse, below, columns)
        # T is symmetric, and the products of later strips read whole rows of it.
        self._mirror(end, first, columns)
        self.tiles.subtract(b, self.strip, Place(found.base, I64(1), self.pitch), lower, columns, below)
        self._block(first, columns, diagonal)

    def _invert(self, diagonal, columns):
        """Minus the inverse of a diagonal block."""
        b, item = self.ir, self.spec.item
        self._fill(self.inverse, columns)
        with emit.loop(b, 0, columns) as i:
            number = emit.load(b, diagonal.at(b, item, i.index, i.index), item)
            emit.store(b, b.fdiv(item(1.0), number), self.moved(self.inverses, i.index))
            emit.store(b, item(-1.0), self.inverse.at(b, item, i.index, i.index))
        # Minus the inverse, since tiles take products away: taken away with it, they are added.
        self.tiles.solve(b, self.inverse, diagonal, self.inverses, columns)

    def _fill(self, place, rows):
        """Write zeros."""
        b, spec = self.ir, self.spec
        with emit.loop(b, 0, rows) as row:
            for j in range(VECTORS):
                emit.store(b, emit.zeros(spec.vector), place.at(b, spec.item, row.index, I64(j * spec.lanes)))

    def _mirror(self, end, first, columns):
        """Write the strip of T below its diagonal block to the right of it, too."""
        b, spec = self.ir, self.spec
        is_whole = b.icmp_signed("==", columns, I64(spec.width))  # else there is nothing below
        left = b.srem(b.sub(self.n, end), I64(spec.lanes))
        whole = b.select(is_whole, b.sub(self.n, left), end)
        with emit.loop(b, end, whole, spec.lanes) as row, emit.loop(b, first, end, spec.lanes) as column:
            square = square_at(b, spec, self.twice, row.index, column.index)
            for k, vector in enumerate(emit.transpose(b, square, spec.item_bytes)):
                emit.store(b, vector, self.twice.at(b, spec.item, b.add(column.index, I64(k)), row.index))
        with emit.loop(b, whole, self.n) as row, emit.loop(b, first, end) as column:
            number = emit.load(b, self.twice.at(b, spec.item, row.index, column.index), spec.item)
            emit.store(b, number, self.twice.at(b, spec.item, column.index, row.index))

    def _block(self, first, columns, diagonal):
        """The diagonal block of T; `inner` is minus Φ(Dᵀ G), `half` minus that by the inverse of D, and `inner` then minus Q."""
        b, item = self.ir, self.spec.item
        self._keep_lower(self.strip, columns, 1.0)
        self._fill(self.inner, columns)
        self.tiles.subtract(b, self.inner, Place(diagonal.base, I64(1), self.pitch), self.strip, columns, columns)
        # Φ: the lower triangle, and half of the diagonal, which the sum with the transpose makes whole.
        self._keep_lower(self.inner, columns, 0.5)
        self._fill(self.half, columns)
        self.tiles.subtract(b, self.half, self.inner, self.inverse, columns, columns)
        self._fill(self.inner, columns)
        across = Place(self.inverse.base, I64(1), self.inverse.row)
        self.tiles.subtract(b, self.inner, across, self.half, columns, columns)
        target = self.part(self.twice, first, first)
        with emit.loop(b, 0, columns) as row, emit.loop(b, 0, columns) as column:
            x, y = (emit.load(b, self.inner.at(b, item, *at), item)
                    for at in ((row.index, column.index), (column.index, row.index)))
            emit.store(b, b.fneg(b.fadd(x, y)), target.at(b, item, row.index, column.index))

    def _keep_lower(self, place, columns, share):
        """Keep the lower triangle of a block, and of its diagonal a share."""
        b, spec = self.ir, self.spec
        ones = emit.splat(b, spec.item(1.0), spec.lanes)
        with emit.loop(b, 0, columns) as row:
            own = emit.splat(b, b.trunc(row.index, I32), spec.lanes)
            for j in range(VECTORS):
                lanes = ir.Constant(ir.VectorType(I32, spec.lanes), list(range(j * spec.lanes, (j + 1) * spec.lanes)))
                where = place.at(b, spec.item, row.index, I64(j * spec.lanes))
                scale = b.select(b.icmp_signed("==", lanes, own), emit.splat(b, spec.item(share), spec.lanes), ones)
                kept = b.fmul(emit.load(b, where, spec.vector), scale)
                emit.store(b, b.select(b.icmp_signed("<=", lanes, own), kept, emit.zeros(spec.vector)), where)

    def _give_out(self, target):
        """Write half of T."""
        b, spec = self.ir, self.spec
        whole = b.sub(self.n, b.srem(self.n, I64(spec.lanes)))
        half = spec.item(0.5)
        with emit.loop(b, 0, self.n) as row:
            parts = (I64(0), whole, spec.vector, emit.splat(b, half, spec.lanes)), (whole, self.n, spec.item, half)
            for first, end, kind, scale in parts:
                with emit.loop(b, first, end, spec.lanes if kind is spec.vector else 1) as column:
                    found = emit.load(b, self.twice.at(b, spec.item, row.index, column.index), kind)
                    emit.store(b, b.fmul(found, scale), target.at(b, spec.item, row.index, column.index))
