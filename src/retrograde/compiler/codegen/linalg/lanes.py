"""Many small matrices: each lane of a vector is at a matrix of its own, and what is done to one is written out number by number."""

from typing import NamedTuple

from .. import emit, ir
from ..emit import I64, address
from ..entry import Entry
from ..vecmath.elements import suffix_of
from .batches import share
from .spec import Spec

#: A chunk moves about so many numbers at least.
_CHUNK_WORK, _MOST_CHUNKS = 50_000, 32


class Operand(NamedTuple):
    """A small matrix of a batch: its sizes, its steps along a column, along a row and from matrix to matrix, and its first number."""

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
        return "lanes", *self.spec.key, self.method.__name__, self.options, [operand[:4] for operand in self.operands]

    @property
    def groups(self):
        """How many vectors of matrices there are."""
        return -(-self.count // self.spec.lanes)

    @property
    def step(self):
        """How many groups a chunk takes."""
        numbers = sum([operand.rows * operand.columns for operand in self.operands]) + self.rows * self.columns
        work = self.count * numbers
        return -(-self.groups // max(1, min(_MOST_CHUNKS, self.groups, work // _CHUNK_WORK)))

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.groups // self.step)

    @property
    def room(self):
        """Numbers of memory that a chunk needs."""
        return 1

    @property
    def words(self):
        """The numbers that the code is handed."""
        places = [word for operand in self.operands for word in (operand.first, operand.step)]
        return self.count, self.groups, self.step, *places


def write_lanes(module, name, plan):
    """Add the function of a plan to `module`; its slots are the operands, the result, the flag, a room, and the words."""
    entry = Entry(module, name)
    b, spec, slots = entry.builder, plan.spec, len(plan.operands) + 3
    *operands, out, flag, _ = (entry.pointer(i) for i in range(slots))
    count, groups, step = (entry.word(slots + i) for i in range(3))
    places = [[entry.word(slots + 3 + 2 * i + j) for j in range(2)] for i in range(len(operands))]
    with emit.loop(b, *share(entry, step, groups)) as group:
        first = b.mul(group.index, I64(spec.lanes))
        # What is left over in the last group does as its last matrix does.
        lanes = [emit.minimum(b, b.add(first, I64(lane)), b.sub(count, I64(1))) for lane in range(spec.lanes)]
        arithmetic = Arithmetic(b, spec)
        matrices = []
        for operand, pointer, (start, move) in zip(plan.operands, operands, places, strict=True):
            bases = [address(b, pointer, b.add(start, b.mul(lane, move)), spec.item) for lane in lanes]
            matrices.append(_loaded(b, spec, operand, bases))
        found = plan.method(arithmetic, *matrices, *plan.options)
        size = I64(plan.rows * plan.columns)
        _stored(b, spec, found, [address(b, out, b.mul(lane, size), spec.item) for lane in lanes])
        arithmetic.leave(plan.failure, flag)
    b.ret_void()


def _loaded(b, spec, operand, bases):
    """The rows of a matrix, numbers as vectors over all lanes."""
    return [[_gathered(b, spec, bases, i * operand.row + j * operand.column) for j in range(operand.columns)]
            for i in range(operand.rows)]


def _gathered(b, spec, bases, place):
    found = ir.Constant(spec.vector, ir.Undefined)
    for lane, base in enumerate(bases):
        found = b.insert_element(found, emit.load(b, address(b, base, place, spec.item), spec.item), emit.I32(lane))
    return found


def _stored(b, spec, rows, bases):
    """Write the rows of results one after the other."""
    for place, vector in enumerate([value for row in rows for value in row]):
        for lane, base in enumerate(bases):
            number = b.extract_element(vector, emit.I32(lane))
            emit.store(b, number, address(b, base, place, spec.item))


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
        bits = self.ir.bitcast(self._failed, ir.IntType(self.spec.lanes))
        with self.ir.if_then(self.ir.icmp_signed("!=", bits, bits.type(0)), likely=False):
            self.ir.store(I64(failure), flag)
