"""Kernels: functions under construction that do something to each of many matrices, and how these are dealt to chunks."""

from math import prod

from ..... import cost
from .. import emit
from ..emit import I64, address
from ..entry import Entry
from .blocks import Place
from .tiles import Tiles


def dimensions_of(batch):
    """A batch as the last words of a kernel: how many axes it has, and each from the innermost on. It has for each axis its length
    and the step of each operand.
    """
    return len(batch), *[word for dimension in reversed(batch) for word in dimension]


class Dealt:
    """A plan for many matrices, its `batch`, which are dealt to chunks, whole or in `count` parts, by the `work` that each of these
    takes and the `room` of a chunk.
    """

    batch: tuple
    work: int
    room: int

    @property
    def count(self):
        """How many parts there are: the matrices."""
        return prod([size for size, *_ in self.batch])

    @property
    def step(self):
        """How many parts a chunk takes."""
        grain = cost.FACTORS
        # Each chunk has memory of its own while it works: of large matrices fewer are done at the same time.
        grain = grain._replace(most=min(grain.most, max(cost.FEW_CHUNKS, cost.MOST_ROOM // self.room)))
        return grain.share(self.count, self.count * self.work)

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.count // self.step)


class Kernel:
    """A function whose slots are some buffers, the last one its room, and words: numbers with `names`, and then its batch.

    Among the numbers are the `count` of what is dealt, how many a chunk takes, `step`, the `room` of a chunk, and for each operand
    its first number and its steps along a column and along a row, with the letter of the operand before `_first`, `_row` and
    `_column`.
    """

    def __init__(self, module, name, spec, buffers, names):
        self.spec, self.tiles, self.entry = spec, Tiles(module, name, spec), Entry(module, name)
        self.ir = self.entry.builder
        self.buffer = {label: self.entry.pointer(i) for i, label in enumerate(buffers)}
        self.number = {label: self.entry.word(len(buffers) + i) for i, label in enumerate(names)}
        self._batch = len(buffers) + len(names)

    def own_room(self, *sizes):
        """Where parts of so many numbers are, one after the other, in the room of this chunk."""
        b, at = self.ir, self.ir.mul(self.entry.chunk, self.number["room"])
        places = []
        for size in sizes:
            places.append(address(b, self.buffer["room"], at, self.spec.item))
            at = b.add(at, emit.number(size))
        return places

    def share(self):
        """First and end of what a chunk takes."""
        first = self.ir.mul(self.entry.chunk, self.number["step"])
        return first, emit.minimum(self.ir, self.ir.add(first, self.number["step"]), self.number["count"])

    def operands(self, matrix, letters):
        """The places of the operands with some letters, of matrix number `matrix` of the batch."""
        b, words, entry = self.ir, 1 + len(letters), self.entry
        pointers = [self.buffer[letter] for letter in letters]
        # The number of axes is a number at run time, so that one function serves batches of any shape and strides.
        with emit.loop(b, 0, entry.word(self._batch), 1, (matrix, *pointers)) as axis:
            first = b.add(b.mul(axis.index, I64(words)), I64(self._batch + 1))
            size, *steps = [entry.word(b.add(first, I64(i))) for i in range(words)]
            rest, *places = axis.values
            at = b.srem(rest, size)
            moved = [self.moved(place, b.mul(at, step)) for place, step in zip(places, steps, strict=True)]
            axis.values = [b.sdiv(rest, size), *moved]
        return [self._place(letter, base) for letter, base in zip(letters, axis.results[1:], strict=True)]

    def _place(self, letter, base):
        first, row, column = (self.number[f"{letter}_{part}"] for part in ("first", "row", "column"))
        return Place(self.moved(base, first), row, column)

    def moved(self, pointer, numbers):
        """The address so many numbers further on."""
        return address(self.ir, pointer, numbers, self.spec.item)

    def part(self, place, row, column):
        """The part of a matrix from a row and a column on."""
        return place._replace(base=place.at(self.ir, self.spec.item, row, column))

    def each_strip(self):
        """A loop over the first columns of strips of n columns."""
        return emit.loop(self.ir, 0, self.number["n"], self.spec.width)

    def columns_from(self, first, total):
        """How many columns the strip has that begins at `first`."""
        return emit.minimum(self.ir, self.ir.sub(total, first), self.spec.width)
