"""Tiles: some rows of a strip of columns, held in registers while rows before them are taken away, and then solved.

With rows c of the strip, the rows b before them and a triangular matrix a, a tile computes `c[r] -= Σ a[r, p] b[p]` over all p
below the depth; it may go on to substitute, `c[r] = (c[r] - Σ a[r, depth + s] c[s]) / a[r, depth + r]` over s < r. This is the
inner part of a triangular solve, of a Cholesky factorization and of an LU factorization alike (see Golub and Van Loan, Matrix
computations, 2013, sections 3.1 and 4.2). A factor may be read in any direction: a_row and a_column may be negative.
"""

from .. import emit
from ..emit import I64, address
from ..micro_kernel import Functions, Paces, Rows, Tile, broadcast, contiguous, each_height, from_registers, minus, store
from .spec import VECTORS


class Tiles:
    """The tile functions of one module."""

    def __init__(self, module, name, spec):
        self.spec, self._functions = spec, Functions(module, name, self._write)

    def each(self, b, first, end):
        """Cut rows in tiles as (height, first row); what is written for one is emitted for each height."""
        return each_height(b, first, end, self.spec.height)

    def solve(self, b, strip, matrix, inverses, rows, way="substitute", vectors=VECTORS):
        """Solve the equations of a triangular matrix for a strip; both are places that begin with the first of them."""
        self._over_rows(b, way, strip, strip, matrix, inverses, rows, None, vectors)

    def subtract(self, b, target, factor, before, rows, depth):
        """Take the product of so many columns of `factor` and rows of `before` from the rows of `target`; all are places."""
        self._over_rows(b, "subtract", target, before, factor, target.base, rows, depth, VECTORS)

    def _over_rows(self, b, way, target, before, matrix, inverses, rows, depth, vectors):
        # A tile's depth is the number of rows before it: what it takes away is solved by then, as tiles go from the first row
        # to the last.
        item, start = self.spec.item, I64(0)
        for height, i in self.each(b, start, rows):
            self.call(b, way, height, [
                target.at(b, item, i, start), before.base, matrix.at(b, item, i, start), address(b, inverses, i, item),
                # Substitution takes away as many rows as there are before the tile; a product its whole depth.
                i if depth is None else depth, matrix.row, matrix.column, before.row, target.row], vectors)

    def call(self, b, way, height, arguments, vectors=VECTORS):
        """Run a tile: it takes away rows only ("subtract"), or substitutes too, with a diagonal ("substitute") or with one of
        ones ("unit"). Its arguments are C, B, A and the inverses of the diagonal from the first row on; the depth, and the steps
        in numbers along a row and a column of A and from row to row of B and of C.
        """
        self._functions.call(b, (way, height, vectors), arguments)

    def by_width(self, b, columns, write):
        """`write(vectors)` for as few vectors as hold so many columns."""
        with b.if_else(b.icmp_signed(">", columns, I64(self.spec.lanes * (VECTORS - 1)))) as (wide, narrow):
            with wide:
                write(VECTORS)
            with narrow:
                write(VECTORS - 1)

    def _write(self, b, arguments, way, height, vectors):
        c, before, a, inverses, depth, a_row, a_column, b_row, c_row = arguments
        spec, tile = self.spec, Tile(self.spec.vector, height, vectors, self.spec.is_fused)
        # Steps are arguments and may be negative: one function reads a factor in any direction, upper, lower or transposed.
        rows = [address(b, a, b.mul(I64(i), a_row), spec.item) for i in range(height)]
        columns = range(0, vectors * spec.lanes, spec.lanes)
        starts = [address(b, c, b.mul(I64(i), c_row), spec.item) for i in range(height)]
        places = [address(b, start, j, spec.item) for start in starts for j in columns]
        factors = Rows(rows, a_column, spec.item, minus(broadcast(spec)))
        lines = Paces(before, b_row, spec, columns, contiguous(spec))
        sums = [emit.load(b, place, spec.vector) for place in places]
        sums = tile.over(b, [(I64(0), depth, 1, 1)], factors, lines, sums)
        if way != "subtract":
            sums = self._substituted(b, tile, sums, factors, (depth, a_column), inverses if way == "substitute" else None)
        store(b, sums, places)

    def _substituted(self, b, tile, sums, factors, place, inverses):
        """The rows solved among themselves; without inverses of the diagonal, that is one of ones."""
        sums, item, (depth, a_column) = list(sums), self.spec.item, place
        for r in range(tile.height):
            row, below = slice(r * tile.width, (r + 1) * tile.width), tile._replace(height=tile.height - r - 1)
            # One division for each row of the matrix, made beforehand, in place of one for each number of the strip.
            if inverses is not None:
                inverse = broadcast(self.spec)(b, address(b, inverses, r, item), r)
                sums[row] = [b.fmul(value, inverse) for value in sums[row]]
            factor = factors.read(b, (b.mul(b.add(depth, I64(r)), a_column), 0))
            left = lambda i, factor=factor, first=r + 1: factor(first + i)
            # As soon as a row is solved its share leaves all rows below it: the same step that takes away the rows before the
            # tile.
            sums[row.stop :] = below.step(b, left, from_registers(sums[row]), sums[row.stop :])
        return sums
