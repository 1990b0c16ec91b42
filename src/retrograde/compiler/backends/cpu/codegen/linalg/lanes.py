"""Many small matrices: each lane of a vector is at a matrix of its own, and what is done to one is written out number by number."""

from typing import NamedTuple

from ..... import cost
from .. import emit, ir
from ..emit import I64, address
from ..entry import Entry
from ..vecmath.elements import suffix_of
from .spec import Spec


class Operand(NamedTuple):
    """Small matrices: their sizes, the steps along a column, along a row and from matrix to matrix, and the first number."""

    rows: int
    columns: int
    row: int
    column: int
    step: int
    first: int


class LanesPlan(NamedTuple):
    """What `method` makes of each of `count` matrices or sets of them, results of rows by columns one after the other.

    method     `method(arithmetic, *matrices, *options)` gives the rows of the result, from rows of vectors
    failure    what to leave where the arithmetic has noted that something failed
    """

    spec: Spec
    method: object
    options: tuple
    failure: int
    operands: tuple
    rows: int
    columns: int
    count: int

    @property
    def key(self):
        """What the code depends on."""
        # Where operands begin, how far matrices are apart and how many there are, are words.
        return "lanes", *self.spec.key, self.method.__name__, self.options, [operand[:4] for operand in self.operands]

    @property
    def _numbers(self):
        return sum([operand.rows * operand.columns for operand in self.operands]) + self.rows * self.columns

    @property
    def groups(self):
        """How many vectors of matrices there are."""
        return -(-self.count // self.spec.lanes)

    @property
    def step(self):
        """How many groups a chunk takes."""
        work = self.count * self._numbers
        return cost.FACTORS_IN_LANES.share(self.groups, work)

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.groups // self.step)

    @property
    def room(self):
        """Numbers of memory that a chunk needs: those of all operands and of the result, each in all lanes."""
        return self._numbers * self.spec.lanes

    @property
    def words(self):
        """The numbers that the code is handed."""
        places = [word for operand in self.operands for word in (operand.first, operand.step)]
        return self.count, self.groups, self.step, self.room, *places


def write_lanes(module, name, plan):
    """Add the function of a plan to `module`; its slots are the operands, the result, the flag, the room, and the words."""
    _Writer(module, name, plan).write()


class _Writer:
    def __init__(self, module, name, plan):
        self.plan, self.spec = plan, plan.spec
        self.entry = entry = Entry(module, name)
        self.ir, slots = entry.builder, len(plan.operands) + 3
        *self.operands, self.out, self.flag, room = (entry.pointer(i) for i in range(slots))
        self.count, self.groups, self.step, size = (entry.word(slots + i) for i in range(4))
        self.places = [[entry.word(slots + 4 + 2 * i + j) for j in range(2)] for i in range(len(self.operands))]
        self.room = self._moved(room, self.ir.mul(entry.chunk, size))

    def write(self):
        """The whole function."""
        b, plan = self.ir, self.plan
        with emit.loop(b, *self._share()) as group:
            first = b.mul(group.index, I64(self.spec.lanes))
            # What is left over in the last group does as its last matrix does.
            numbers = [emit.minimum(b, b.add(first, I64(lane)), b.sub(self.count, I64(1))) for lane in range(self.spec.lanes)]
            arithmetic, at, matrices = Arithmetic(b, self.spec), 0, []
            for operand, pointer, (start, move) in zip(plan.operands, self.operands, self.places, strict=True):
                bases = [self._moved(pointer, b.add(start, b.mul(number, move))) for number in numbers]
                self._take_in(operand, bases, at)
                rows = [self._row(at + i * operand.columns, operand.columns) for i in range(operand.rows)]
                matrices.append([[emit.load(b, place, self.spec.vector) for place in row] for row in rows])
                at += operand.rows * operand.columns
            found = plan.method(arithmetic, *matrices, *plan.options)
            # The room has the result behind the operands, so that it is given out as they were taken in, by squares.
            values = [value for row in found for value in row]
            for value, place in zip(values, self._row(at, len(values)), strict=True):
                emit.store(b, value, place)
            self._give_out([self._moved(self.out, b.mul(number, I64(len(values)))) for number in numbers], at, len(values))
            arithmetic.leave(plan.failure, self.flag)
        b.ret_void()

    def _share(self):
        first = self.ir.mul(self.entry.chunk, self.step)
        return first, emit.minimum(self.ir, self.ir.add(first, self.step), self.groups)

    def _moved(self, pointer, numbers):
        return address(self.ir, pointer, numbers, self.spec.item)

    def _row(self, at, count):
        """Where vectors of the room are, from number `at` on."""
        return [self._moved(self.room, (at + i) * self.spec.lanes) for i in range(count)]

    def _take_in(self, operand, bases, at):
        """Bring the numbers of an operand together, each from all lanes: in squares of vectors where they follow each other."""
        b, lanes = self.ir, self.spec.lanes
        size = operand.rows * operand.columns
        # Then all numbers of a matrix follow each other, whatever its rows: one run of them, in squares.
        is_whole = operand.column == 1 and operand.row == operand.columns
        whole = size - size % lanes if is_whole else 0
        room = self._moved(self.room, at * lanes)
        with emit.loop(b, 0, whole, lanes) as place:
            across = [emit.load(b, self._moved(base, place.index), self.spec.vector) for base in bases]
            for k, vector in enumerate(emit.transpose(b, across, self.spec.item_bytes)):
                emit.store(b, vector, self._moved(room, b.mul(b.add(place.index, I64(k)), I64(lanes))))
        parts = [(whole, size, 1)] if is_whole else [
            (i * operand.columns, (i + 1) * operand.columns, operand.column) for i in range(operand.rows)]
        for i, (first, end, step) in enumerate(parts):
            start = whole if is_whole else i * operand.row
            with emit.loop(b, first, end) as place:
                source = b.add(b.mul(b.sub(place.index, I64(first)), I64(step)), I64(start))
                self._copy(bases, source, room, place.index, is_out=False)

    def _give_out(self, bases, at, size):
        """Write the numbers of the result to where the matrices of all lanes are."""
        b, lanes = self.ir, self.spec.lanes
        whole, room = size - size % lanes, self._moved(self.room, at * lanes)
        with emit.loop(b, 0, whole, lanes) as place:
            rows = [emit.load(b, self._moved(room, b.mul(b.add(place.index, I64(k)), I64(lanes))), self.spec.vector)
                    for k in range(lanes)]
            for base, vector in zip(bases, emit.transpose(b, rows, self.spec.item_bytes), strict=True):
                emit.store(b, vector, self._moved(base, place.index))
        with emit.loop(b, whole, size) as place:
            self._copy(bases, place.index, room, place.index, is_out=True)

    def _copy(self, bases, place, room, number, *, is_out):
        """Copy one number of each matrix into the room, or out of it."""
        b, item, start = self.ir, self.spec.item, self.ir.mul(number, I64(self.spec.lanes))
        # Lanes beyond the last matrix read and write it too: the same numbers to the same place.
        for lane, base in enumerate(bases):
            there, here = self._moved(base, place), self._moved(room, b.add(start, I64(lane)))
            source, target = (here, there) if is_out else (there, here)
            emit.store(b, emit.load(b, source, item), target)


class Arithmetic:
    """What the methods compute with: vectors with a number of one matrix in each lane."""

    def __init__(self, builder, spec):
        self.ir, self.spec, self._failed = builder, spec, None

    def constant(self, number):
        """A number in every lane."""
        return emit.splat(self.ir, self.spec.item(float(number)), self.spec.lanes)

    def less(self, x, y, z):
        """x - y z."""
        return emit.multiply_add(self.ir, self.ir.fneg(y), z, x, self.spec.is_fused)

    def times(self, x, y):
        """x y."""
        return self.ir.fmul(x, y)

    def over(self, x, y):
        """x / y."""
        return self.ir.fdiv(x, y)

    def mean(self, x, y):
        """Half of x + y."""
        return self.ir.fmul(self.ir.fadd(x, y), self.constant(0.5))

    def root(self, x):
        """The square root."""
        return self.ir.call_external(f"llvm.sqrt.{suffix_of(self.spec.vector)}", self.spec.vector, [x])

    def size(self, x):
        """x without its sign."""
        return self.ir.call_external(f"llvm.fabs.{suffix_of(self.spec.vector)}", self.spec.vector, [x])

    def is_greater(self, x, y):
        """In which lanes x > y."""
        return self.ir.fcmp_ordered(">", x, y)

    def is_equal(self, x, y):
        """In which lanes x = y."""
        return self.ir.fcmp_ordered("==", x, y)

    def where(self, mask, x, y):
        """x in the lanes of the mask, y in others."""
        return self.ir.select(mask, x, y)

    def fail_unless_positive(self, x):
        """Note the lanes in which x is not above 0."""
        self._fail(self.ir.fcmp_unordered("<=", x, self.constant(0)))

    def fail_if_zero(self, x):
        """Note the lanes in which x is 0."""
        self._fail(self.is_equal(x, self.constant(0)))

    def _fail(self, mask):
        self._failed = mask if self._failed is None else self.ir.or_(self._failed, mask)

    def leave(self, failure, flag):
        """Leave a number where checks leave theirs if anything has failed."""
        if self._failed is None:
            return
        # The lanes as the bits of one integer: one comparison for all of them, once for a group.
        bits = self.ir.bitcast(self._failed, ir.IntType(self.spec.lanes))
        with self.ir.if_then(self.ir.icmp_signed("!=", bits, bits.type(0)), likely=False):
            self.ir.store(I64(failure), flag)
