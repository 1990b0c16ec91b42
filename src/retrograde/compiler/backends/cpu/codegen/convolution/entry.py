"""Entries with their pointers and numbers by name, and rows of numbers that they move."""

from .. import emit, entry, ir
from ..emit import I64, address, at

#: Rows of more pieces than this are moved in a loop.
_UNROLLED = 8


class Entry(entry.Entry):
    """An entry whose slots are the places of `buffers` in the table, where each of them starts, and `words`, all by name."""

    def __init__(self, module, name, buffers, words, items):
        super().__init__(module, name)
        starts = [(label, self.pointer(i), self.word(len(buffers) + i)) for i, label in enumerate(buffers)]
        self.pointers = {label: address(self.builder, base, at, items.get(label, items[None])) for label, base, at in starts}
        self.words = {label: self.word(2 * len(buffers) + i) for i, label in enumerate(words)}

    def share(self, total, parts):
        """First and end of this chunk's part of `total` things that are dealt to `parts` chunks."""
        b = self.builder
        # By proportion, so that parts differ by one thing at most and every thing is in one of them.
        first = b.sdiv(b.mul(self.chunk, emit.number(total)), emit.number(parts))
        return first, b.sdiv(b.mul(b.add(self.chunk, I64(1)), emit.number(total)), emit.number(parts))


class RowsEntry(Entry):
    """An entry that computes a block of rows as a pass of a nest: `moved` are buffers that may lie in frames. Its words are how
    many rows a block has and how many there are, and by how many bytes each of `moved` moves with a block and with a frame.
    """

    def __init__(self, module, name, buffers, items, moved):
        moves = [(label, what) for label in moved for what in ("block", "frame")]
        super().__init__(module, name, buffers, ("block", "rows", *moves), items)
        b = self.builder
        for label in moved:
            in_block, in_frame = b.mul(self.chunk, self.words[label, "block"]), b.mul(self.frame, self.words[label, "frame"])
            self.pointers[label] = address(b, self.pointers[label], b.add(in_block, in_frame), emit.BYTE)

    def block(self):
        """First and end of the rows of this block."""
        b = self.builder
        first = b.mul(self.chunk, self.words["block"])
        return first, emit.minimum(b, b.add(first, self.words["block"]), self.words["rows"])


def copy_row(builder, item, lanes, source, target, count, steps=(1, 1), change=None):
    """Copy `count` numbers, which are `steps` apart in source and target; `change(value)` may alter them on the way."""
    change = change or (lambda value: value)
    width = width_for(count, lanes)
    # Vectors pay for neighbours and for every second or fourth number; farther steps read as many lines as there are numbers.
    if steps[1] != 1 or steps[0] not in _READERS or width == 1:
        with emit.loop(builder, 0, count) as place:
            value = emit.load(builder, at(builder, source, item, (place.index, steps[0])), item)
            emit.store(builder, change(value), at(builder, target, item, (place.index, steps[1])))
        return
    read = _READERS[steps[0]]
    for start in pieces(builder, count, width):
        value = read(builder, at(builder, source, item, (start, steps[0])), item, width)
        emit.store(builder, change(value), at(builder, target, item, start))


def clear(builder, item, lanes, target, count):
    """Fill `count` numbers, a Python number, with zeros."""
    width = width_for(count, lanes)
    kind = item if width == 1 else ir.VectorType(item, width)
    for start in pieces(builder, count, width):
        emit.store(builder, emit.zeros(kind), at(builder, target, item, start))


def clear_vectors(builder, layout, target, count):
    """Fill `count` numbers of scratch memory, whole vectors, with zeros; what is laid out there leaves its borders so."""
    with emit.loop(builder, 0, count // layout.lanes) as place:
        emit.store(builder, emit.zeros(layout.vector), at(builder, target, layout.item, (place.index, layout.lanes)))


def adding(builder, number):
    """What adds a number to values and vectors on their way, as `copy_row` takes it."""
    def change(value):
        other = emit.splat(builder, number, value.type.count) if isinstance(value.type, ir.VectorType) else number
        return builder.fadd(value, other)

    return change


def width_for(count, lanes):
    """The lanes of the pieces that `count` numbers are moved in."""
    width = lanes
    while width > max(count, 1):
        width //= 2
    return width


def pieces(builder, count, width):
    """Where pieces of `width` start that cover `count` numbers; the last one may lie over the one before."""
    if count <= 0:
        return
    whole = count // width
    if whole <= _UNROLLED:
        yield from range(0, whole * width, width)
    else:
        with emit.loop(builder, 0, whole * width, width) as piece:
            yield piece.index
    if count % width:
        # Moved twice, where the last two overlap, rather than number by number: what is written is the same.
        yield count - width


def read_run(builder, source, item, width):
    """`width` numbers that follow each other."""
    return emit.load(builder, source, item if width == 1 else ir.VectorType(item, width))


def read_every_other(builder, source, item, width):
    """Each second number, from two vectors of which the last one ends with a number that is wanted."""
    kind = ir.VectorType(item, width)
    # Two whole vectors would end with a number that nobody asked for, behind the end of the last row.
    low, high = emit.load(builder, source, kind), emit.load(builder, at(builder, source, item, width - 1), kind)
    picks = [*range(0, width, 2), *range(width + 1, 2 * width, 2)]
    return emit.shuffle(builder, low, high, picks)


def read_every_fourth(builder, source, item, width):
    """Each fourth number, from four vectors of which the last one ends with a number that is wanted."""
    kind, half = ir.VectorType(item, width), width // 2
    starts = 0, width, 2 * width, 3 * width - 3
    vectors = [emit.load(builder, at(builder, source, item, start), kind) for start in starts]
    low = emit.shuffle(builder, *vectors[:2], [4 * i for i in range(half)])
    # From the third vector on; what is in the last one stands there three places earlier than it would behind the third.
    places = [4 * i - 2 * width for i in range(half, width)]
    high = emit.shuffle(builder, *vectors[2:], [place if place < width else place + 3 for place in places])
    return emit.shuffle(builder, low, high, range(width))


#: What reads the numbers of a row that are so far apart.
_READERS = {1: read_run, 2: read_every_other, 4: read_every_fourth}
