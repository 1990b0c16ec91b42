"""Triangular equations: strips of right-hand sides, each of which is solved from its first row to its last."""

from typing import NamedTuple

from ...failures import SINGULAR
from .. import emit
from ..emit import I64, address
from ..entry import Entry
from .batches import moved_to, share
from .blocks import Place, give_out, take_in
from .spec import Spec
from .tiles import Tiles

#: A chunk does about this many multiply-adds at least.
_CHUNK_WORK, _MOST_CHUNKS = 200_000, 32
_SLOTS = 5
_NAMES = ("n", "m", "x_first", "x_row", "x_column", "y_first", "y_row", "y_column", "is_upper", "strips", "items", "step", "room",
          "size")


class TriangularPlan(NamedTuple):
    """X Z = Y for triangular matrices of n rows and right-hand sides of m columns.

    x, y    the first number and the steps along a column and along a row, in numbers
    batch   for each axis its length and the steps of X and Y, outermost first
    """

    spec: Spec
    n: int
    m: int
    x: tuple
    y: tuple
    is_upper: bool
    batch: tuple

    @property
    def key(self):
        """What the code depends on."""
        return "triangular", *self.spec.key

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
        """Numbers of memory that a chunk needs: a strip, and the inverses of the diagonal."""
        return self.n * self.spec.width + -(-self.n // 16) * 16

    @property
    def words(self):
        """The numbers that the code is handed; an upper triangle is one that is read from its end."""
        first, row, column = self.x
        if self.is_upper:
            first, row, column = first + (self.n - 1) * (row + column), -row, -column
        dimensions = [word for dimension in reversed(self.batch) for word in dimension]
        return (self.n, self.m, first, row, column, *self.y, int(self.is_upper), self.strips, self.items, self.step, self.room,
                self.m * self.n, len(self.batch), *dimensions)


def write_triangular(module, name, plan):
    """Add the function of a plan to `module`; its slots are X, Y, the result, the flag, the room, and the words."""
    _Writer(module, name, plan.spec).write()


class _Writer:
    def __init__(self, module, name, spec):
        self.spec, self.tiles = spec, Tiles(module, name, spec)
        self.entry = entry = Entry(module, name)
        self.ir = b = entry.builder
        self.x, self.y, self.out, self.flag, room = (entry.pointer(i) for i in range(_SLOTS))
        self.number = {label: entry.word(_SLOTS + i) for i, label in enumerate(_NAMES)}
        self.strip = address(b, room, b.mul(entry.chunk, self.number["room"]), spec.item)
        self.inverses = address(b, self.strip, b.mul(self.number["n"], I64(spec.width)), spec.item)

    def write(self):
        """The whole function."""
        b, number = self.ir, self.number
        with emit.loop(b, *share(self.entry, number["step"], number["items"])) as item:
            matrix = b.sdiv(item.index, number["strips"])
            x, y = moved_to(self.entry, matrix, self.spec.item, (self.x, self.y), _SLOTS + len(_NAMES))
            first = b.mul(b.srem(item.index, number["strips"]), I64(self.spec.width))
            columns = emit.minimum(b, b.sub(number["m"], first), self.spec.width)
            strip = Place(self.strip, I64(self.spec.width), I64(1))
            start = b.add(number["y_first"], b.mul(first, number["y_column"]))
            source = Place(address(b, y, start, self.spec.item), number["y_row"], number["y_column"])
            take_in(b, self.spec, source, strip, number["n"], columns)
            self._solve(address(b, x, number["x_first"], self.spec.item), columns)
            place = b.add(b.mul(matrix, number["size"]), first)
            target = Place(address(b, self.out, place, self.spec.item), number["m"], I64(1))
            give_out(b, self.spec, strip, target, number["n"], columns)
        b.ret_void()

    def _solve(self, x, columns):
        """All rows of a strip, in the order in which they follow from each other."""
        b, number, item = self.ir, self.number, self.spec.item
        self._invert(x)
        is_upper = b.icmp_signed("!=", number["is_upper"], I64(0))
        width = I64(self.spec.width)
        row = b.select(is_upper, I64(-self.spec.width), width)
        last = b.mul(b.sub(number["n"], I64(1)), width)
        start = address(b, self.strip, b.select(is_upper, last, I64(0)), item)

        def blocks(vectors):
            self.tiles.each(b, I64(0), number["n"], lambda i, height: self.tiles.call(b, "substitute", height, vectors, [
                address(b, start, b.mul(i, row), item), start, address(b, x, b.mul(i, number["x_row"]), item),
                address(b, self.inverses, i, item), i, number["x_row"], number["x_column"], row]))

        self.tiles.by_width(b, columns, blocks)

    def _invert(self, x):
        """Write the inverses of the diagonal; a zero there is noted."""
        b, item = self.ir, self.spec.item
        step = b.add(self.number["x_row"], self.number["x_column"])
        with emit.loop(b, 0, self.number["n"]) as i:
            found = emit.load(b, address(b, x, b.mul(i.index, step), item), item)
            emit.store(b, b.fdiv(item(1.0), found), address(b, self.inverses, i.index, item))
            with b.if_then(b.fcmp_ordered("==", found, item(0.0)), likely=False):
                b.store(I64(SINGULAR), self.flag)
