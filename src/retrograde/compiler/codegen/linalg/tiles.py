"""Tiles: some rows of a strip of columns, held in registers while rows before them are taken away, and then solved.

With rows c of the strip, the rows b before them and a triangular matrix a, a tile computes `c[r] -= Σ a[r, p] b[p]` over all p
below the depth; it may go on to substitute, `c[r] = (c[r] - Σ a[r, depth + s] c[s]) / a[r, depth + r]` over s < r. This is the
inner part of a triangular solve, of a Cholesky factorization and of an LU factorization alike (see Golub and Van Loan, Matrix
computations, 2013, sections 3.1 and 4.2). A factor may be read in any direction: a_row and a_column may be negative.
"""

from .. import emit, ir
from ..emit import I64, POINTER, address
from .spec import VECTORS, heights_below

#: C, B, A and the inverses of the diagonal from the first row on; the depth, and the steps in numbers along a row and a column
#: of A and from row to row of B and of C.
_KIND = ir.FunctionType(ir.VoidType(), [*[POINTER] * 4, *[I64] * 5])


class Tiles:
    """The tile functions of one module, each written when it is first called."""

    def __init__(self, module, name, spec):
        self._module, self._name, self.spec, self._made = module, name, spec, {}

    def each(self, b, first, end, body):
        """Write `body(row, height)` for blocks of rows from `first` to `end`: as high as tiles can be, then lower ones."""
        height = self.spec.height
        left = b.srem(b.sub(end, first), I64(height))
        whole = b.sub(end, left)
        with emit.loop(b, first, whole, height) as row:
            body(row.index, height)
        for lower in heights_below(height):
            with b.if_then(b.icmp_signed("!=", b.and_(left, I64(lower)), I64(0))):
                body(b.add(whole, b.and_(left, I64(-2 * lower))), lower)

    def solve(self, b, strip, matrix, inverses, rows, way="substitute", vectors=VECTORS):
        """Solve the equations of a triangular matrix for a strip; both are places that begin with the first of them."""
        self._over_rows(b, way, strip, strip, matrix, inverses, (I64(0), rows), None, vectors)

    def subtract(self, b, target, factor, before, rows, depth):
        """Take the product of so many columns of `factor` and rows of `before` from the rows of `target`; all are places."""
        self._over_rows(b, "subtract", target, before, factor, target.base, (I64(0), rows), depth, VECTORS)

    def _over_rows(self, b, way, target, before, matrix, inverses, rows, depth, vectors):
        item, start = self.spec.item, I64(0)
        self.each(b, *rows, lambda i, height: self.call(b, way, height, [
            target.at(b, item, i, start), before.base, matrix.at(b, item, i, start), address(b, inverses, i, item),
            i if depth is None else depth, matrix.row, matrix.column, before.row, target.row], vectors))

    def call(self, b, way, height, arguments, vectors=VECTORS):
        """Run a tile: it takes away rows only ("subtract"), or substitutes too, with a diagonal ("substitute") or with one of
        ones ("unit").
        """
        key = way, height, vectors
        if key not in self._made:
            self._made[key] = self._written(*key)
        b.call(self._made[key], arguments)

    def by_width(self, b, columns, write):
        """`write(vectors)` for as few vectors as hold so many columns."""
        with b.if_else(b.icmp_signed(">", columns, I64(self.spec.lanes * (VECTORS - 1)))) as (wide, narrow):
            with wide:
                write(VECTORS)
            with narrow:
                write(VECTORS - 1)

    def _written(self, way, height, vectors):
        function = ir.Function(self._module, _KIND, f"{self._name}_{way}_{height}_{vectors}")
        function.linkage = "internal"
        tile = _Tile(function, self.spec, height, vectors)
        values = tile.without_rows_before(tile.loaded())
        if way != "subtract":
            values = tile.substituted(values, way == "substitute")
        tile.store(values)
        tile.builder.ret_void()
        return function


class _Tile:
    def __init__(self, function, spec, height, vectors):
        self.builder = b = ir.IRBuilder(function.append_basic_block("entry"))
        self.spec, self.height, self.vectors = spec, height, vectors
        self.c, self.b, self.a, self.inverses, self.depth, a_row, self.a_column, self.b_row, c_row = function.args
        self.rows = [address(b, self.a, b.mul(I64(i), a_row), spec.item) for i in range(height)]
        starts = [address(b, self.c, b.mul(I64(i), c_row), spec.item) for i in range(height)]
        self.places = [[address(b, start, j * spec.lanes, spec.item) for j in range(vectors)] for start in starts]

    def loaded(self):
        """The rows of C."""
        return [[emit.load(self.builder, place, self.spec.vector) for place in row] for row in self.places]

    def store(self, values):
        """Write the rows of C."""
        for row, places in zip(values, self.places, strict=True):
            for value, place in zip(row, places, strict=True):
                emit.store(self.builder, value, place)

    def without_rows_before(self, values):
        """The rows without their share of those before them."""
        b = self.builder
        with emit.loop(b, 0, self.depth, 1, [value for row in values for value in row]) as p:
            start = address(b, self.b, b.mul(p.index, self.b_row), self.spec.item)
            before = [emit.load(b, address(b, start, j * self.spec.lanes, self.spec.item), self.spec.vector)
                      for j in range(self.vectors)]
            moved, found = b.mul(p.index, self.a_column), self._grid(p.values)
            p.values = [value for i, row in enumerate(found) for value in self._less(row, self._factor(i, moved), before)]
        return self._grid(p.results)

    def substituted(self, values, has_diagonal):
        """The rows solved among themselves."""
        b, values = self.builder, list(values)
        for r in range(self.height):
            if has_diagonal:
                inverse = self._splat(emit.load(b, address(b, self.inverses, r, self.spec.item), self.spec.item))
                values[r] = [b.fmul(value, inverse) for value in values[r]]
            moved = b.mul(b.add(self.depth, I64(r)), self.a_column)
            for s in range(r + 1, self.height):
                values[s] = self._less(values[s], self._factor(s, moved), values[r])
        return values

    def _factor(self, i, moved):
        """Minus the number of A in row `i`, in each lane."""
        number = emit.load(self.builder, address(self.builder, self.rows[i], moved, self.spec.item), self.spec.item)
        return self.builder.fneg(self._splat(number))

    def _less(self, row, factor, other):
        return [emit.multiply_add(self.builder, factor, y, x, self.spec.is_fused) for x, y in zip(row, other, strict=True)]

    def _splat(self, number):
        return emit.splat(self.builder, number, self.spec.lanes)

    def _grid(self, flat):
        return [flat[i : i + self.vectors] for i in range(0, len(flat), self.vectors)]
