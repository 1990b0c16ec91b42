"""Discrete Fourier transforms of many lines at once, a line in each lane of a vector.

Lines are brought into scratch memory, where the numbers of all of them at one place are a vector for each part, go through one
pass for each factor of their length between two buffers (Stockham's way, which leaves them in order), and are brought out again.
A line of real numbers is seen as half as many complex ones, whose spectrum is taken apart in one more pass.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from ..... import cost
from .....index.fourier import Transform, factors_of
from .....target import ITEM_BYTES
from .. import emit, ir
from ..emit import I64
from ..entry import Entry
from ..vecmath.elements import constant
from ..vectors import InVectors
from .butterflies import Butterflies


class _Plan(NamedTuple):
    transform: Transform
    lanes: int
    is_fused: bool


class TransformPlan(_Plan, InVectors):
    """A transform in vectors of so many lanes."""

    @property
    def dtype(self):
        """The dtype of parts."""
        return self.transform.dtype

    @property
    def key(self):
        """What the code depends on."""
        return "transform", *self.transform[:6], self.lanes, self.is_in_rows

    @property
    def is_in_rows(self):
        """Whether lines are rows of memory, rather than columns."""
        return self.transform.inner == 1

    @property
    def lengths(self):
        """How many numbers, parts of complex ones included, a line has that is read, and one that is made."""
        t = self.transform
        spectrum = 2 * (t.halved + 1) if t.is_from_real or t.is_to_real else 2 * t.size
        return t.size if t.is_from_real else spectrum, t.size if t.is_to_real else spectrum

    @property
    def groups(self):
        """How many groups of lines there are that are transformed together. The last one has some of the one before it, too."""
        t = self.transform
        return -(-t.outer // self.lanes) if self.is_in_rows else t.outer * -(-t.inner // self.lanes)

    @property
    def step(self):
        """How many groups one chunk takes, whatever the number of threads."""
        work = self.groups * self.lanes * self.transform.size
        return cost.TRANSFORMS.share(self.groups, work)

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.groups // self.step)

    @property
    def buffer_bytes(self):
        """The bytes of each of the two buffers of a chunk."""
        return 2 * (self.transform.halved + 1) * self.lanes * ITEM_BYTES[self.dtype]

    @property
    def words(self):
        """The numbers that the code is handed."""
        t = self.transform
        return self.step, self.groups, t.outer if self.is_in_rows else t.inner

    @property
    def table(self):
        """The factors that numbers are rotated by."""
        t = self.transform
        return _table(t.halved, t.size if t.is_from_real or t.is_to_real else 0, t.sign, t.dtype)


def plan_transform(transform, target):
    """The plan of a transform for a target."""
    return TransformPlan(transform, target.lanes(transform.dtype), target.has_fma)


@cache
def _table(size, real_size, sign, dtype):
    """Cosines and sines for the passes in order, and for taking the spectrum of real numbers apart."""
    angles, left = [np.zeros(0)], size
    for factor in factors_of(size):
        steps = np.outer(np.arange(left // factor), np.arange(1, factor))
        angles.append(steps.ravel() / left)
        left //= factor
    if real_size:
        angles.append(np.arange(size) / real_size)
    twiddles = sign * 2 * np.pi * np.concatenate(angles)
    return np.stack([np.cos(twiddles), np.sin(twiddles)], 1).astype(dtype)


def write_transform(module, name, plan):
    """Add the function of a plan to `module`; its slots are x, the result, the table, scratch memory and the words."""
    _Writer(module, name, plan).write()


class _Writer:
    def __init__(self, module, name, plan):
        self.plan, self.t, self.lanes = plan, plan.transform, plan.lanes
        entry = Entry(module, name)
        self.ir, self.chunk = entry.builder, entry.chunk
        self.x, self.out, self.table, scratch = (entry.pointer(i) for i in range(4))
        self.step, self.groups, self.count = (entry.word(4 + i) for i in range(3))
        place = self.ir.mul(self.chunk, I64(2 * plan.buffer_bytes))
        first = self.ir.gep(scratch, [place], source_etype=ir.IntType(8))
        self.buffers = [first, self.ir.gep(first, [I64(plan.buffer_bytes)], source_etype=ir.IntType(8))]
        self.flies = Butterflies(self.ir, plan.vector, self.t.sign, plan.is_fused)

    def write(self):
        """The whole function."""
        b = self.ir
        first = b.mul(self.chunk, self.step)
        with emit.loop(b, first, emit.minimum(b, b.add(first, self.step), self.groups)) as group:
            read, written = self._starts(group.index)
            self._bring(read, self._read_row, self._read_column, self.plan.lengths[0], self.t.is_from_real)
            if self.t.is_to_real:
                self._put_together()
            self._passes()
            if self.t.is_from_real:
                self._take_apart()
            self._bring(written, self._write_row, self._write_column, self.plan.lengths[1], self.t.is_to_real)
        b.ret_void()

    def _starts(self, group):
        """Where the first number is of the lines that are read, and of those that are made."""
        b, lanes = self.ir, I64(self.lanes)
        if self.plan.is_in_rows:
            line = emit.minimum(b, b.mul(group, lanes), b.sub(self.count, lanes))
            return [b.mul(line, I64(length)) for length in self.plan.lengths]
        across = b.sdiv(b.add(self.count, I64(self.lanes - 1)), lanes)
        outer, column = b.sdiv(group, across), emit.minimum(b, b.mul(b.srem(group, across), lanes), b.sub(self.count, lanes))
        starts = []
        for length, is_real in zip(self.plan.lengths, (self.t.is_from_real, self.t.is_to_real), strict=True):
            line = b.mul(b.mul(outer, I64(length)), self.count)
            starts.append(b.add(line, column if is_real else b.mul(column, I64(2))))
        return starts

    # Between lines and buffers

    def _bring(self, start, row, column, length, is_real):
        """Go through the lines of a group: in blocks of so many numbers as there are lanes, or number by number."""
        b, lanes = self.ir, self.lanes
        if self.plan.is_in_rows:
            with emit.loop(b, 0, -(-length // lanes)) as block:
                at = emit.minimum(b, b.mul(block.index, I64(lanes)), length - lanes)
                row([b.add(b.add(start, I64(line * length)), at) for line in range(lanes)], at)
            return
        width = 1 if is_real else 2
        with emit.loop(b, 0, length // width) as number:
            column(b.add(start, b.mul(b.mul(number.index, self.count), I64(width))), b.mul(number.index, I64(width)), width)

    def _read_row(self, places, at):
        vectors = emit.transpose(self.ir, [self._from(self.x, place) for place in places], ITEM_BYTES[self.plan.dtype])
        for i, vector in enumerate(vectors):
            self._keep(self.ir.add(at, I64(i)), vector)

    def _write_row(self, places, at):
        vectors = [self._scaled(self._kept(self.ir.add(at, I64(i)))) for i in range(self.lanes)]
        for place, vector in zip(places, emit.transpose(self.ir, vectors, ITEM_BYTES[self.plan.dtype]), strict=True):
            emit.store(self.ir, vector, emit.address(self.ir, self.out, place, self.plan.item))

    def _read_column(self, place, at, width):
        vectors = self._from(self.x, place, width)
        for part in range(width):
            picks = range(part, width * self.lanes, width)
            self._keep(self.ir.add(at, I64(part)), emit.shuffle(self.ir, vectors, vectors, picks) if width > 1 else vectors)

    def _write_column(self, place, at, width):
        parts = [self._scaled(self._kept(self.ir.add(at, I64(part)))) for part in range(width)]
        picks = [lane // 2 + lane % 2 * self.lanes for lane in range(2 * self.lanes)]
        value = emit.shuffle(self.ir, *parts, picks) if width > 1 else parts[0]
        emit.store(self.ir, value, emit.address(self.ir, self.out, place, self.plan.item))

    def _scaled(self, vector):
        scale = self.t.scale * (0.5 if self.t.is_from_real else 1)
        return vector if scale == 1 else self.ir.fmul(vector, constant(scale, self.plan.vector))

    def _from(self, pointer, place, width=1):
        kind = ir.VectorType(self.plan.item, width * self.lanes)
        return emit.load(self.ir, emit.address(self.ir, pointer, place, self.plan.item), kind)

    # Passes over buffers

    def _passes(self):
        """One pass for each factor: from one buffer to the other."""
        left, stride, table = self.t.halved, 1, 0
        for factor in self.t.factors:
            rest = left // factor
            with emit.loop(self.ir, 0, rest) as group:
                twiddles = [] if rest == 1 else [self._twiddle(table, group.index, factor - 1, k) for k in range(factor - 1)]
                with emit.loop(self.ir, 0, stride) as column:
                    self._butterfly(factor, rest, stride, group.index, column.index, twiddles)
            self.buffers.reverse()
            left, stride, table = rest, stride * factor, table + rest * (factor - 1)

    def _butterfly(self, factor, rest, stride, group, column, twiddles):
        b = self.ir
        read = b.add(column, b.mul(group, I64(stride)))
        written = b.add(column, b.mul(group, I64(stride * factor)))
        found = self.flies.transformed([self._number(b.add(read, I64(stride * rest * j))) for j in range(factor)])
        for k, value in enumerate(found):
            value = self.flies.rotated(value, *twiddles[k - 1]) if k and twiddles else value
            self._put(b.add(written, I64(stride * k)), value)

    def _twiddle(self, table, row, width, column):
        """What entry (`row`, `column`) of a part of the table, which is `width` wide, is rotated by."""
        b = self.ir
        place = b.mul(b.add(b.mul(row, I64(width)), I64(table + column)), I64(2))
        numbers = [emit.load(b, emit.address(b, self.table, b.add(place, I64(i)), self.plan.item), self.plan.item) for i in (0, 1)]
        return [emit.splat(b, number, self.lanes) for number in numbers]

    def _take_apart(self):
        """Twice the spectrum of real numbers, from that of half as many complex ones."""
        self._for_pairs(self._taken_apart)
        x, y = self._number(I64(0))
        zero = constant(0, self.plan.vector)
        for place, value in ((0, self.ir.fadd(x, y)), (self.t.halved, self.ir.fsub(x, y))):
            self._put(I64(place), (self.ir.fadd(value, value), zero))
        self.buffers.reverse()

    def _put_together(self):
        """The other way round; the imaginary parts of the first and the last frequency do not count."""
        self._for_pairs(self._made_one)
        (x, _), (y, _) = self._number(I64(0)), self._number(I64(self.t.halved))
        self._put(I64(0), (self.ir.fadd(x, y), self.ir.fsub(x, y)))
        self.buffers.reverse()

    def _for_pairs(self, made):
        """Write what `made` makes of each number but the first, of its mirror image, and of what they are rotated by."""
        b, half = self.ir, self.t.halved
        table = len(self.plan.table) - half
        with emit.loop(b, 1, half) as k:
            x, y = self._number(k.index), self._number(b.sub(I64(half), k.index))
            sums = b.fadd(x[0], y[0]), b.fsub(x[1], y[1])
            differences = b.fsub(x[0], y[0]), b.fadd(x[1], y[1])
            self._put(k.index, made(sums, self.flies.rotated(differences, *self._twiddle(table, k.index, 1, 0))))

    def _taken_apart(self, even, odd):
        return self.ir.fadd(even[0], odd[1]), self.ir.fsub(even[1], odd[0])

    def _made_one(self, even, odd):
        return self.ir.fsub(even[0], odd[1]), self.ir.fadd(even[1], odd[0])

    def _number(self, place):
        """The complex number at a place of the buffer that is read."""
        at = self.ir.mul(place, I64(2))
        return self._kept(at), self._kept(self.ir.add(at, I64(1)))

    def _put(self, place, value):
        """Write a complex number to a place of the buffer that is written."""
        at = self.ir.mul(place, I64(2))
        for i, part in enumerate(value):
            self._keep(self.ir.add(at, I64(i)), part, 1)

    def _keep(self, at, vector, buffer=0):
        place = self.ir.mul(at, I64(self.lanes))
        emit.store(self.ir, vector, emit.address(self.ir, self.buffers[buffer], place, self.plan.item))

    def _kept(self, at):
        place = self.ir.mul(at, I64(self.lanes))
        return emit.load(self.ir, emit.address(self.ir, self.buffers[0], place, self.plan.item), self.plan.vector)
