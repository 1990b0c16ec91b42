"""Equations: strips of right-hand sides, each of which is solved from its first row to its last, by a triangle or by both factors.

A triangle that is upper, or read across, is one with other steps: what counts is in which order its equations follow.
"""

from dataclasses import dataclass

from .....run.failures import SINGULAR
from .. import emit
from ..emit import I64
from .blocks import Place, copy_lines, give_out, take_in
from .kernel import Dealt, Kernel, dimensions_of
from .spec import Spec

_BUFFERS = ("x", "y", "out", "flag", "room")
_NAMES = ("n", "m", "x_first", "x_row", "x_column", "y_first", "y_row", "y_column", "option", "strips", "count", "step", "room",
          "size")


@dataclass(frozen=True)
class EquationsPlan(Dealt):
    """X Z = Y for matrices of n rows and right-hand sides of m columns, by way of a triangle or of both factors.

    x, y    the first number and the steps along a column and along a row, in numbers
    option  whether a triangle is the upper one; whether factors are those of the transposed matrix
    batch   for each axis its length and the steps of X and Y, outermost first
    """

    spec: Spec
    has_factors: bool
    n: int
    m: int
    x: tuple
    y: tuple
    option: bool
    batch: tuple

    @property
    def key(self):
        """What the code depends on."""
        return "equations", *self.spec.key, self.has_factors

    @property
    def strips(self):
        """Into how many strips the columns are cut."""
        return -(-self.m // self.spec.width)

    @property
    def count(self):
        """How many strips there are in all, which are what is dealt."""
        return self.strips * super().count

    @property
    def work(self):
        """How many operations one strip takes, roughly."""
        return self.n * self.n * self.spec.width // 2

    @property
    def room(self):
        """Numbers of memory that a chunk needs: a strip, one in another order, and the inverses of the diagonal."""
        return (1 + self.has_factors) * self.n * self.spec.width + self.n

    @property
    def words(self):
        """The numbers that the code is handed."""
        return (self.n, self.m, *self.x, *self.y, int(self.option), self.strips, self.count, self.step, self.room,
                self.m * self.n, *dimensions_of(self.batch))


def write_equations(module, name, plan):
    """Add the function of a plan to `module`; its slots are X, Y, the result, the flag, the room, and the words."""
    (_Factors if plan.has_factors else _Triangle)(module, name, plan.spec).write()


class _Writer(Kernel):
    def __init__(self, module, name, spec):
        super().__init__(module, name, spec, _BUFFERS, _NAMES)
        self.n, self.option = self.number["n"], self.ir.icmp_signed("!=", self.number["option"], I64(0))
        self.inverses, *strips = self.own_room(self.n, *[self.ir.mul(self.n, I64(spec.width))] * 2)
        self.strip, self.other = (Place(strip, I64(spec.width), I64(1)) for strip in strips)

    def write(self):
        """The whole function."""
        b, number = self.ir, self.number
        with emit.loop(b, *self.share()) as item:
            # Strips are dealt, not matrices: the columns of one right-hand side depend on nothing of one another.
            matrix = b.sdiv(item.index, number["strips"])
            x, y = self.operands(matrix, "xy")
            first = b.mul(b.srem(item.index, number["strips"]), I64(self.spec.width))
            columns = self.columns_from(first, number["m"])
            # Into memory of the chunk's own, where rows lie side by side however they do in Y, and which is written to.
            take_in(b, self.spec, self.part(y, I64(0), first), self.strip, self.n, columns)
            found = self.solved(x, columns)
            out = self.moved(self.buffer["out"], b.add(b.mul(matrix, number["size"]), first))
            give_out(b, self.spec, found, Place(out, number["m"], I64(1)), self.n, columns)
        b.ret_void()

    def solved(self, x, columns):
        """Where the solution of a strip is."""
        raise NotImplementedError("each kind of equations has its own way")

    def substitute(self, strip, x, columns, way):
        """Solve the rows of a strip from its first one on, in the order in which they follow from each other."""
        b = self.ir
        self.tiles.by_width(b, columns, lambda vectors: self.tiles.solve(b, strip, x, self.inverses, self.n, way, vectors))

    def invert(self, x):
        """Write the inverses of the diagonal; a zero there is noted."""
        b, item = self.ir, self.spec.item
        with emit.loop(b, 0, self.n) as i:
            found = emit.load(b, x.at(b, item, i.index, i.index), item)
            emit.store(b, b.fdiv(item(1.0), found), self.moved(self.inverses, i.index))
            # Only exact zeros: a matrix that is nearly singular has a solution, and a NaN gives NaN.
            with b.if_then(b.fcmp_ordered("==", found, item(0.0)), likely=False):
                b.store(I64(SINGULAR), self.buffer["flag"])

    def from_end(self, place, *, is_strip=False):
        """A matrix whose last row and column come first; of a strip, whose columns are not equations, the rows."""
        b = self.ir
        last = b.sub(self.n, I64(1))
        row, column = (b.sub(I64(0), step) for step in place[1:])
        if is_strip:
            return Place(place.at(b, self.spec.item, last, I64(0)), row, place.column)
        return Place(place.at(b, self.spec.item, last, last), row, column)

    def chosen(self, condition, x, y):
        """One of two places."""
        return Place(*[self.ir.select(condition, one, other) for one, other in zip(x, y, strict=True)])


class _Triangle(_Writer):
    def solved(self, x, columns):
        # The upper triangle with rows and columns in reverse is a lower one: one loop serves both.
        x = self.chosen(self.option, self.from_end(x), x)
        self.invert(x)
        self.substitute(self.chosen(self.option, self.from_end(self.strip, is_strip=True), self.strip), x, columns, "substitute")
        return self.strip


class _Factors(_Writer):
    """By X = P L U; the permutation is the row of the factors after the last one."""

    def solved(self, x, columns):
        b, spec = self.ir, self.spec
        other, order = self.other, Place(x.at(b, spec.item, self.n, I64(0)), x.column, I64(0))
        across = Place(x.base, x.column, x.row)
        with b.if_else(self.option) as (transposed, plain):
            with transposed:
                self.invert(across)
                self.substitute(self.strip, across, columns, "substitute")
                self.substitute(self.from_end(self.strip, is_strip=True), self.from_end(across), columns, "unit")
                # With the transposed matrix the permutation comes last, and the other way round.
                copy_lines(b, spec, self.strip, other, self.n, order, is_scattered=True)
            with plain:
                copy_lines(b, spec, self.strip, other, self.n, order, is_scattered=False)
                self.substitute(other, x, columns, "unit")
                # Back substitution is forward substitution from the last equation.
                end = self.from_end(x)
                self.invert(end)
                self.substitute(self.from_end(other, is_strip=True), end, columns, "substitute")
        return other
