"""Running sums, products and recurrences: each line of an array joined with the result for the line before it, or behind it.

Arrays are `outer` times `count` lines of `width` numbers. Lines are joined in vectors; numbers that follow each other in memory
one after the other. A complex number is two numbers side by side.
"""

from typing import NamedTuple

from .... import cost
from . import emit, ir
from .emit import I64
from .entry import Entry
from .vecmath.elements import ELEMENTS


class RunningPlan(NamedTuple):
    """A running sum or product: `instruction` joins two numbers, `is_reversed` says that it starts with the last line.

    The instruction "recur" multiplies what there is so far by the factor of the line, and adds the line. `unit` numbers are joined
    as one: two where they are complex.
    """

    dtype: str
    lanes: int
    instruction: str
    is_reversed: bool
    outer: int
    count: int
    width: int
    unit: int

    @property
    def key(self):
        """What the code depends on."""
        return "running", self.dtype, self.lanes, self.instruction, self.is_reversed, self.is_one_unit, self.unit

    @property
    def is_one_unit(self):
        """Whether what is joined lies side by side."""
        return self.width == self.unit

    @property
    def chunks(self):
        """How many chunks there are: of the outer axis, or else of each line."""
        return -(-self._dealt // self._step)

    @property
    def _dealt(self):
        return self.outer if self.outer > 1 else -(-self.width // self.lanes)

    @property
    def _step(self):
        return cost.RUNNING.share(self._dealt, self.outer * self.count * self.width)

    @property
    def words(self):
        """The numbers that the code is handed: sizes, and how much of the outer axis and of a line a chunk takes."""
        by_outer = self.outer > 1
        return self.outer, self.count, self.width, self._step if by_outer else 0, 0 if by_outer else self._step * self.lanes


def write_running(module, name, plan):
    """Add the function of a plan to `module`; its slots are the factors of a recurrence, x, the result, and the words."""
    _Writer(module, name, plan).write()


class _Writer:
    def __init__(self, module, name, plan):
        self.plan, self.item = plan, ELEMENTS[plan.dtype]
        self.single = self.item if plan.unit == 1 else ir.VectorType(self.item, plan.unit)
        entry = Entry(module, name)
        self.ir, self.chunk = entry.builder, entry.chunk
        count = 3 if plan.instruction == "recur" else 2
        *self.factors, self.x, self.out = (entry.pointer(i) for i in range(count))
        self.outer, self.count, self.width, self.outer_step, self.width_step = (entry.word(count + i) for i in range(5))

    def write(self):
        """The whole function."""
        b = self.ir
        with emit.loop(b, *self._share(self.outer_step, self.outer)) as o:
            if self.plan.is_one_unit:
                self._along_memory(o.index)
            else:
                self._line_by_line(o.index)
        b.ret_void()

    def _share(self, step, size):
        """First and end of what this chunk takes of `size`: all where `step` is 0."""
        first = self.ir.mul(self.chunk, step)
        is_all = self.ir.icmp_signed("==", step, I64(0))
        end = self.ir.select(is_all, size, self.ir.add(first, step))
        return first, emit.minimum(self.ir, end, size)

    def _along_memory(self, o):
        """Numbers that follow each other, with what they come to so far in a register."""
        b = self.ir
        start = self._place(o, I64(0))
        # The first line is handed on as it is: 0 plus -0 would be 0.
        first = self._at(self.x, start, self.single)
        emit.store(b, first, emit.address(b, self.out, start, self.item))
        with emit.loop(b, 1, self.count, 1, [first]) as line:
            place = self._place(o, line.index)
            found = self._joined(line.values[0], place, self.single)
            emit.store(b, found, emit.address(b, self.out, place, self.item))
            line.values = [found]

    def _line_by_line(self, o):
        b = self.ir
        first, end = self._share(self.width_step, self.width)
        whole = b.sub(end, b.srem(b.sub(end, first), I64(self.plan.lanes)))
        parts = [(first, whole, ir.VectorType(self.item, self.plan.lanes)), (whole, end, self.single)]
        start = self._place(o, I64(0))
        self._along(parts, start, lambda kind, place: self._at(self.x, place, kind))
        with emit.loop(b, 1, self.count) as line:
            place, before = self._place(o, line.index), self._place(o, b.sub(line.index, I64(1)))
            # From line to line one distance for all columns, forwards or backwards.
            distance = b.sub(before, place)
            self._along(parts, place, lambda kind, at: self._joined(self._at(self.out, b.add(at, distance), kind), at, kind))

    def _along(self, parts, start, made):
        """Write what `made(kind, place)` makes for the vectors of this chunk's part of a line, and for the numbers left."""
        b = self.ir
        for first, end, kind in parts:
            with emit.loop(b, first, end, kind.count if isinstance(kind, ir.VectorType) else 1) as column:
                place = b.add(start, column.index)
                emit.store(b, made(kind, place), emit.address(b, self.out, place, self.item))

    def _place(self, o, line):
        """The first number of the line that is joined as number `line`."""
        b = self.ir
        line = b.sub(b.sub(self.count, I64(1)), line) if self.plan.is_reversed else line
        return b.mul(b.add(b.mul(o, self.count), line), self.width)

    def _at(self, base, place, kind):
        return emit.load(self.ir, emit.address(self.ir, base, place, self.item), kind)

    def _joined(self, so_far, place, kind):
        """What there is so far, joined with what stands at `place`."""
        x = self._at(self.x, place, kind)
        if self.factors:
            return self.ir.fadd(self._multiplied(so_far, self._at(*self.factors, place, kind)), x)
        return self._multiplied(so_far, x) if self.plan.instruction == "fmul" else self.ir.fadd(so_far, x)

    def _multiplied(self, x, y):
        """The product of numbers, or of pairs of numbers that are complex."""
        b = self.ir
        if self.plan.unit == 1:
            return b.fmul(x, y)
        lanes = range(x.type.count)
        real, imag = (emit.shuffle(b, y, y, [lane - lane % 2 + part for lane in lanes]) for part in (0, 1))
        swapped = emit.shuffle(b, x, x, [lane ^ 1 for lane in lanes])
        # (a + ib)(c + id): real parts take away b·d, imaginary ones add a·d.
        signs = ir.Constant(x.type, [2.0 * (lane % 2) - 1 for lane in lanes])
        return b.fadd(b.fmul(x, real), b.fmul(swapped, b.fmul(imag, signs)))
