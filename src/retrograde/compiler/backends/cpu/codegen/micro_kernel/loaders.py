"""Loaders: how a tile reads one operand along k, a value for each of its rows (the left) or columns (the right).

What a loader hands from iteration to iteration of a loop over k is `carried`; a place is where it is at one step. To read is
something of its own: `load(b, pointer, i)` makes the value of row or column `i` of what is at a pointer.
"""

from .....target import CACHE_LINE
from .. import emit
from ..emit import BYTE, I64, address, at


def broadcast(spec):
    """Loads a number into all lanes of a vector."""
    return lambda b, pointer, _: emit.splat(b, emit.load(b, pointer, spec.item), spec.lanes)


def minus(load):
    """Loads the negative of what `load` does: sums become differences."""
    return lambda b, pointer, i: b.fneg(load(b, pointer, i))


def contiguous(spec, mask_of=lambda i: None):
    """Loads a vector of numbers that follow each other; `mask_of` a row or column is the mask of its lanes, if it has one."""
    return lambda b, pointer, i: emit.load(b, pointer, spec.vector, mask_of(i))


def asking(load, distance):
    """Loads as `load` does, and asks for the line that lies `distance` bytes behind."""

    def loaded(b, pointer, i):
        emit.prefetch(b, address(b, pointer, distance, BYTE))
        return load(b, pointer, i)

    return loaded


def from_registers(values):
    """What a step reads if its values are there already."""
    return values.__getitem__


class _Loader:
    """What is common: a place is (what an iteration begins with, number of the step), and nothing is carried."""

    carried = ()

    def begin(self, b, index, carried, steps):
        """The place of the first of some steps of an iteration."""
        raise NotImplementedError

    def read(self, b, place):
        """A function from a row or column to its value at a place."""
        raise NotImplementedError

    def onward(self, b, place):
        """The place of the next step."""
        first, step = place
        return first, step + 1

    def end(self, b, place):
        """What is carried to the next iteration, from the place after the last step."""
        return ()


class Lines(_Loader):
    """Strided memory, a pointer for each row or column: all of them move by `move` units with the loop's index, and by `pace` more
    with each step of an iteration.
    """

    def __init__(self, pointers, move, unit, load, pace=0):
        self._pointers, self._move, self._unit, self._load, self._pace = pointers, move, unit, load, pace

    def begin(self, b, index, carried, steps):
        return emit.scaled(b, index, self._move), 0

    def read(self, b, place):
        offset, step = place
        # The offset is the same for all rows and the step a number, so that x86 adds both within the address of the load.
        ahead, unit = emit.scaled(b, step, self._pace), self._unit

        def value(i):
            return self._load(b, address(b, address(b, self._pointers[i], offset, unit), ahead, unit), i)

        return value


class Rows(Lines):
    """Strided memory, a pointer for each row; how far they have moved, by `move` units with each step, is carried."""

    carried = (I64(0),)

    def __init__(self, pointers, move, unit, load):
        super().__init__(pointers, None, unit, load, move)

    def begin(self, b, index, carried, steps):
        return carried[0], 0

    def end(self, b, place):
        offset, step = place
        return [b.add(offset, emit.number(emit.scaled(b, step, self._pace)))]


class Panels(Rows):
    """A packed panel: the numbers of all rows for one k, then those for the next. While it is read, the panel that follows it is
    fetched.
    """

    def __init__(self, b, panel, height, depth, spec):
        super().__init__([address(b, panel, i, spec.item) for i in range(height)], height, spec.item, broadcast(spec))
        self._step_bytes = height * spec.item_bytes
        self._following = address(b, panel, b.mul(depth, I64(height)), spec.item)

    def begin(self, b, index, carried, steps):
        # Iterations of a single step are the few at the end of k, behind which no panel needs to be fetched.
        if steps > 1:
            there = address(b, self._following, carried[0], self._unit)
            for place in range(0, steps * self._step_bytes, CACHE_LINE):
                emit.prefetch(b, address(b, there, place, BYTE), is_written=False)
        return super().begin(b, index, carried, steps)


class Ahead(_Loader):
    """Another loader, beside which each iteration asks for a line of memory that is needed later: from a pointer on, `move` bytes
    further each time.
    """

    def __init__(self, loader, pointer, move):
        self._loader, self._move = loader, move
        self.carried = (*loader.carried, pointer)

    def begin(self, b, index, carried, steps):
        *inner, pointer = carried
        # Iterations of a single step are the few at the end of k.
        if steps > 1:
            emit.prefetch(b, pointer, level=2)
            pointer = address(b, pointer, self._move, BYTE)
        return self._loader.begin(b, index, inner, steps), pointer

    def read(self, b, place):
        return self._loader.read(b, place[0])

    def onward(self, b, place):
        return self._loader.onward(b, place[0]), place[1]

    def end(self, b, place):
        return [*self._loader.end(b, place[0]), place[1]]


class _Together(_Loader):
    """Memory in which all rows or columns lie at known distances, `offsets` in items, from one pointer, which moves along k."""

    def __init__(self, pointer, spec, offsets, load):
        self._pointer, self._item, self._offsets, self._load = pointer, spec.item, offsets, load

    def pointer(self, b, place):
        """Where the operand is at a place."""
        raise NotImplementedError

    def read(self, b, place):
        here = self.pointer(b, place)
        return lambda i: self._load(b, at(b, here, self._item, self._offsets[i]), i)


class Walk(_Together):
    """Strided memory along which a pointer is carried: by `move` bytes with each step."""

    def __init__(self, pointer, move, spec, offsets, load):
        super().__init__(pointer, spec, offsets, load)
        self.carried, self._move = (pointer,), move

    def begin(self, b, index, carried, steps):
        return carried[0], 0

    def pointer(self, b, place):
        pointer, step = place
        return address(b, pointer, emit.scaled(b, step, self._move), BYTE)

    def end(self, b, place):
        return [self.pointer(b, place)]


class Paces(Walk):
    """The same, pace by pace, of items: LLVM is not to find a place by what it knows of others."""

    def pointer(self, b, place):
        return place[0]

    def onward(self, b, place):
        pointer, step = place
        # LLVM does not look through `freeze`: else it makes each of the places from the first one, with a register for each of
        # them.
        return b.freeze(at(b, pointer, self._item, self._move)), step + 1


class Blocks(_Together):
    """Packed memory that the loop's index goes through by `move` items: the steps of an iteration are at known `places` of it."""

    def __init__(self, pointer, move, places, spec, offsets, load):
        super().__init__(pointer, spec, offsets, load)
        self._move, self._places = move, places

    def begin(self, b, index, carried, steps):
        return at(b, self._pointer, self._item, (index, self._move)), 0

    def pointer(self, b, place):
        first, step = place
        return at(b, first, self._item, self._places[step])


class Table(_Together):
    """Memory whose places for each step stand, in items, in a table."""

    def __init__(self, pointer, table, spec, offsets, load):
        super().__init__(pointer, spec, offsets, load)
        self._table = table

    def begin(self, b, index, carried, steps):
        return index, 0

    def pointer(self, b, place):
        # A load for each step, of a table that stays in the first cache: taps of a convolution lie at no even distances.
        return at(b, self._pointer, self._item, b.load(at(b, self._table, I64, *place), typ=I64))
