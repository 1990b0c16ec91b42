"""Equations: strips of right-hand sides, each of which is solved from its first row to its last, by a triangle or by both factors.

A triangle that is upper, or read across, is one with other steps: what counts is in which order its equations follow.
"""

from typing import NamedTuple

from ...failures import SINGULAR
from .. import emit
from ..emit import I64, address
from ..entry import Entry
from .batches import dimensions_of, moved_to, share
from .blocks import Place, copy_lines, give_out, take_in
from .spec import Spec
from .tiles import Tiles

#: A chunk does about this many multiply-adds at least.
_CHUNK_WORK, _MOST_CHUNKS = 200_000, 32
_SLOTS = 5
_NAMES = ("n", "m", "x_first", "x_row", "x_column", "y_first", "y_row", "y_column", "option", "strips", "items", "step", "room",
          "size")


class EquationsPlan(NamedTuple):
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
    def items(self):
        """How many strips there are in all."""
        count = self.strips
        for size, *_ in self.batch:
            count *= size
        return count

    @property
    def step(self):
        """How many strips a chunk takes."""
        work = self.items * self.n * self.n * self.spec.width // 2
        return -(-self.items // max(1, min(_MOST_CHUNKS, self.items, work // _CHUNK_WORK)))

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.items // self.step)

    @property
    def room(self):
        """Numbers of memory that a chunk needs: a strip, one in another order, and the inverses of the diagonal."""
        return (1 + self.has_factors) * self.n * self.spec.width + -(-self.n // 16) * 16

    @property
    def words(self):
        """The numbers that the code is handed."""
        return (self.n, self.m, *self.x, *self.y, int(self.option), self.strips, self.items, self.step, self.room,
                self.m * self.n, *dimensions_of(self.batch))


def write_equations(module, name, plan):
    """Add the function of a plan to `module`; its slots are X, Y, the result, the flag, the room, and the words."""
    (_Factors if plan.has_factors else _Triangle)(module, name, plan.spec).write()


class _Writer:
    def __init__(self, module, name, spec):
        self.spec, self.tiles = spec, Tiles(module, name, spec)
        self.entry = entry = Entry(module, name)
        self.ir = b = entry.builder
        self.x, self.y, self.out, self.flag, room = (entry.pointer(i) for i in range(_SLOTS))
        self.number = {label: entry.word(_SLOTS + i) for i, label in enumerate(_NAMES)}
        self.n, self.option = self.number["n"], b.icmp_signed("!=", self.number["option"], I64(0))
        base = address(b, room, b.mul(entry.chunk, self.number["room"]), spec.item)
        self.inverses = address(b, base, 0, spec.item)
        start = address(b, base, b.and_(b.add(self.n, I64(15)), I64(-16)), spec.item)
        self.strip = Place(start, I64(spec.width), I64(1))

    def write(self):
        """The whole function."""
        b, number = self.ir, self.number
        with emit.loop(b, *share(self.entry, number["step"], number["items"])) as item:
            matrix = b.sdiv(item.index, number["strips"])
            x, y = moved_to(self.entry, matrix, self.spec.item, (self.x, self.y), _SLOTS + len(_NAMES))
            first = b.mul(b.srem(item.index, number["strips"]), I64(self.spec.width))
            columns = emit.minimum(b, b.sub(number["m"], first), self.spec.width)
            start = b.add(number["y_first"], b.mul(first, number["y_column"]))
            source = Place(address(b, y, start, self.spec.item), number["y_row"], number["y_column"])
            take_in(b, self.spec, source, self.strip, self.n, columns)
            found = self.solved(Place(address(b, x, number["x_first"], self.spec.item), number["x_row"], number["x_column"]), columns)
            place = b.add(b.mul(matrix, number["size"]), first)
            target = Place(address(b, self.out, place, self.spec.item), number["m"], I64(1))
            give_out(b, self.spec, found, target, self.n, columns)
        b.ret_void()

    def solved(self, x, columns):
        """Where the solution of a strip is."""
        raise NotImplementedError("each kind of equations has its own way")

    def substitute(self, strip, x, columns, way):
        """Solve the rows of a strip from its first one on, in the order in which they follow from each other."""
        b = self.ir
        self.tiles.by_width(b, columns, lambda vectors: self.tiles.solve(b, strip, x, self.inverses, self.n, vectors, way))

    def invert(self, x):
        """Write the inverses of the diagonal; a zero there is noted."""
        b, item = self.ir, self.spec.item
        step = b.add(x.row, x.column)
        with emit.loop(b, 0, self.n) as i:
            found = emit.load(b, address(b, x.base, b.mul(i.index, step), item), item)
            emit.store(b, b.fdiv(item(1.0), found), address(b, self.inverses, i.index, item))
            with b.if_then(b.fcmp_ordered("==", found, item(0.0)), likely=False):
                b.store(I64(SINGULAR), self.flag)

    def from_end(self, place):
        """A matrix, or a strip, whose last row and column come first."""
        b = self.ir
        last, column = b.sub(self.n, I64(1)), b.sub(I64(0), place.column)
        # A strip turns its rows only: its columns are not equations.
        if place.row is self.strip.row:
            return Place(place.at(b, self.spec.item, last, I64(0)), b.sub(I64(0), place.row), place.column)
        return Place(place.at(b, self.spec.item, last, last), b.sub(I64(0), place.row), column)

    def chosen(self, condition, x, y):
        """One of two places."""
        return Place(*[self.ir.select(condition, one, other) for one, other in zip(x, y, strict=True)])


class _Triangle(_Writer):
    def solved(self, x, columns):
        x = self.chosen(self.option, self.from_end(x), x)
        self.invert(x)
        self.substitute(self.chosen(self.option, self.from_end(self.strip), self.strip), x, columns, "substitute")
        return self.strip


class _Factors(_Writer):
    """By X = P L U; the permutation is the row of the factors after the last one."""

    def solved(self, x, columns):
        b, spec = self.ir, self.spec
        size = b.mul(self.n, I64(spec.width))
        other = self.strip._replace(base=address(b, self.strip.base, size, spec.item))
        order = Place(x.at(b, spec.item, self.n, I64(0)), x.column, I64(0))
        across = Place(x.base, x.column, x.row)
        with b.if_else(self.option) as (transposed, plain):
            with transposed:
                self.invert(across)
                self.substitute(self.strip, across, columns, "substitute")
                self.substitute(self.from_end(self.strip), self.from_end(across), columns, "unit")
                copy_lines(b, spec, self.strip, other, self.n, order, is_scattered=True)
            with plain:
                copy_lines(b, spec, self.strip, other, self.n, order, is_scattered=False)
                self.substitute(other, x, columns, "unit")
                end = self.from_end(x)
                self.invert(end)
                self.substitute(self.from_end(other), end, columns, "substitute")
        return other
