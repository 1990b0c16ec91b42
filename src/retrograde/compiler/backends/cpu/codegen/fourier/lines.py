"""Discrete Fourier transforms of a few lines, one after the other, in vectors along each line.

A line goes through a few passes between two buffers (Stockham's way, which leaves numbers in order), each of which transforms as
many numbers at a time as registers hold. The vectors of the first pass lie along its butterflies, whose results are transposed
as they are stored: from there on all that lies side by side is treated alike. The first pass reads memory as it is, and the last
one writes there.
"""

from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import numpy as np

from ..... import cost
from .....index.fourier import Transform, factors_of
from .....target import ITEM_BYTES
from .. import emit, ir
from ..emit import I64
from ..entry import Entry
from ..vecmath.elements import constant, undefined
from ..vectors import InVectors
from .butterflies import Butterflies


class _Plan(NamedTuple):
    transform: Transform
    lanes: int
    is_fused: bool
    sizes: tuple


class LinePlan(_Plan, InVectors):
    """A transform of lines in vectors of so many `lanes` along each, in passes of `sizes`."""

    @property
    def dtype(self):
        """The dtype of parts."""
        return self.transform.dtype

    @property
    def key(self):
        """What the code depends on."""
        return "line transform", *self.transform[:6], self.lanes, self.sizes, self.transform.inner == 1

    @property
    def lines(self):
        """How many lines there are."""
        return self.transform.outer * self.transform.inner

    @property
    def step(self):
        """How many lines one chunk takes, whatever the number of threads."""
        return cost.TRANSFORMS.share(self.lines, self.lines * self.transform.size)

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.lines // self.step)

    @property
    def buffer_bytes(self):
        """The bytes of each of the two buffers of a chunk."""
        return 2 * self.transform.halved * ITEM_BYTES[self.dtype]

    @property
    def words(self):
        """The numbers that the code is handed."""
        return self.step, self.lines, self.transform.inner

    @property
    def table(self):
        """The factors that numbers are rotated by."""
        t = self.transform
        return _table(self.sizes, t.size if t.is_from_real or t.is_to_real else 0, t.sign, t.dtype)


def plan_lines(transform, target):
    """The plan of a transform of few lines for a target."""
    # A complex number is two vectors, so that a butterfly has half as many numbers as there are registers.
    lanes, most = target.lanes(transform.dtype), target.registers // 2
    while (sizes := _sizes(transform.halved, lanes, most)) is None:
        lanes //= 2
    return LinePlan(transform, lanes, target.has_fma, sizes)


@cache
def _sizes(length, lanes, most):
    """The numbers of a butterfly in each pass, None where vectors of `lanes` are too long for the first or the others."""
    if lanes == 1 and (length <= most or len(factors_of(length)) == 1):
        return (length,)
    firsts = [n for n in _divisors(length, most) if n >= lanes and length // n >= lanes]
    if not firsts:
        return None
    found = [(n, *_fewest(length // n, most)) for n in firsts]
    # Passes cost memory; a first one that is no multiple of the lanes stores some of its columns twice.
    return min(found, key=lambda sizes: (len(sizes), sizes[0] % lanes > 0, sum(sizes)))


@cache
def _fewest(length, most):
    """The fewest sizes that have this product, and of these the ones with the least sum."""
    if length == 1:
        return ()
    found = [(n, *_fewest(length // n, most)) for n in _divisors(length, most)]
    return min(found, key=lambda sizes: (len(sizes), sum(sizes)))


def _divisors(length, most):
    """The sizes of a butterfly that divide a length: small ones, and prime ones."""
    return [n for n in range(2, length + 1) if length % n == 0 and (n <= most or factors_of(n) == (n,))]


@cache
def _table(sizes, real_size, sign, dtype):
    """Cosines and sines: for the first pass and for taking the spectrum of real numbers apart all cosines before all sines; for
    other passes in pairs.
    """
    length = int(np.prod(sizes))
    parts, left = [], length
    for number, size in enumerate(sizes):
        rest = left // size
        angles = np.outer(np.arange(1, size), np.arange(rest)) / left
        parts.append(_twiddles(angles, sign).ravel() if number == 0 else np.moveaxis(_twiddles(angles.T, sign), 0, -1).ravel())
        left = rest
    if real_size:
        parts.append(_twiddles(np.arange(length) / real_size, sign).ravel())
    return np.concatenate(parts).astype(dtype)


def _twiddles(angles, sign):
    """The cosines and the sines of parts of a circle."""
    twiddles = sign * 2 * np.pi * angles
    return np.stack([np.cos(twiddles), np.sin(twiddles)])


def write_lines(module, name, plan):
    """Add the function of a plan to `module`; its slots are x, the result, the table, scratch memory and the words."""
    _Writer(module, name, plan).write()


class _Writer:
    def __init__(self, module, name, plan):
        self.plan, self.t, self.lanes, self.length = plan, plan.transform, plan.lanes, plan.transform.halved
        entry = Entry(module, name)
        self.ir, self.chunk = entry.builder, entry.chunk
        self.x, self.out, self.table, scratch = (entry.pointer(i) for i in range(4))
        self.step, self.lines, self.inner = (entry.word(4 + i) for i in range(3))
        place = self.ir.mul(self.chunk, I64(2 * plan.buffer_bytes))
        first = self.ir.gep(scratch, [place], source_etype=ir.IntType(8))
        self.buffers = [first, self.ir.gep(first, [I64(plan.buffer_bytes)], source_etype=ir.IntType(8))]
        self.flies = Butterflies(self.ir, plan.vector, self.t.sign, plan.is_fused)

    def write(self):
        """The whole function."""
        b, real = self.ir, self.length + 1
        lengths = [real if self.t.is_to_real else self.length, real if self.t.is_from_real else self.length]
        first = b.mul(self.chunk, self.step)
        with emit.loop(b, first, emit.minimum(b, b.add(first, self.step), self.lines)) as line:
            outer, column = b.sdiv(line.index, self.inner), b.srem(line.index, self.inner)
            starts = []
            for length, is_real in zip(lengths, (self.t.is_from_real, self.t.is_to_real), strict=True):
                start = b.mul(b.mul(outer, I64(2 * length)), self.inner)
                starts.append(b.add(start, column if is_real else b.mul(column, I64(2))))
            self.read = _Memory(self, self.x, starts[0], self.t.is_from_real)
            self.written = _Memory(self, self.out, starts[1], self.t.is_to_real)
            if self.t.is_to_real:
                self._put_together()
            self._passes()
            if self.t.is_from_real:
                self._take_apart()
        b.ret_void()

    def _passes(self):
        """All passes: the first from memory, the last to memory, unless a spectrum of real numbers is there to be seen to."""
        left, stride, table, last = self.length, 1, 0, len(self.plan.sizes) - 1
        for number, size in enumerate(self.plan.sizes):
            rest = left // size
            source = self.read if number == 0 and not self.t.is_to_real else _Buffer(self, self.buffers[0])
            target = self.written if number == last and not self.t.is_from_real else _Buffer(self, self.buffers[1])
            if number == 0 and last:
                self._first_pass(size, rest, source, target)
            else:
                self._pass(size, rest, stride, table, source, target)
            self.buffers.reverse()
            left, stride, table = rest, stride * size, table + 2 * rest * (size - 1)
        self.last = _Buffer(self, self.buffers[0])

    def _first_pass(self, size, rest, source, target):
        """Butterflies side by side, whose results are rotated and then transposed."""
        b = self.ir
        with _along(b, rest, self.lanes) as at:
            found = self._transformed([source.vector(b.add(at, I64(rest * j))) for j in range(size)])
            for k in range(1, size):
                place = b.add(at, I64(rest * (k - 1)))
                twiddle = [self.load(self.table, at) for at in (place, b.add(place, I64(rest * (size - 1))))]
                found[k] = self.flies.rotated(found[k], *twiddle)
            # The last square begins early enough to be whole, and overlaps the one before it.
            for start in [*range(0, size - self.lanes, self.lanes), size - self.lanes]:
                block = found[start : start + self.lanes]
                rows = [emit.transpose(b, [x[part] for x in block], ITEM_BYTES[self.plan.dtype]) for part in (0, 1)]
                for lane in range(self.lanes):
                    place = b.add(b.mul(b.add(at, I64(lane)), I64(size)), I64(start))
                    target.put(place, (rows[0][lane], rows[1][lane]))

    def _pass(self, size, rest, stride, table, source, target):
        """Butterflies of numbers that lie side by side and are rotated alike."""
        b = self.ir
        with emit.loop(b, 0, rest) as group:
            first = b.mul(group.index, I64(size - 1))
            # The last pass has one group, whose numbers are not rotated.
            twiddles = [] if rest == 1 else [self._twiddle(b.add(first, I64(k)), table) for k in range(size - 1)]
            with _along(b, stride, self.lanes) as column:
                read = b.add(column, b.mul(group.index, I64(stride)))
                written = b.add(column, b.mul(group.index, I64(stride * size)))
                found = self._transformed([source.vector(b.add(read, I64(stride * rest * j))) for j in range(size)])
                for k, value in enumerate(found):
                    value = self.flies.rotated(value, *twiddles[k - 1]) if k and twiddles else value
                    target.put(b.add(written, I64(stride * k)), self._scaled(value) if target is self.written else value)

    def _transformed(self, x):
        """The transform of as many numbers as a butterfly has, by those of its factors."""
        left, stride = len(x), 1
        for factor in factors_of(len(x)):
            rest, made = left // factor, [None] * len(x)
            for p in range(rest):
                for q in range(stride):
                    found = self.flies.transformed([x[q + stride * (p + rest * j)] for j in range(factor)])
                    for k, value in enumerate(found):
                        made[q + stride * (factor * p + k)] = self.flies.rotated_by(value, p * k, left)
            x, left, stride = made, rest, stride * factor
        return x

    def _twiddle(self, number, table):
        """What pair `number` of a part of the table is rotated by, in all lanes."""
        b = self.ir
        place = b.add(b.mul(number, I64(2)), I64(table))
        numbers = [emit.load(b, emit.address(b, self.table, b.add(place, I64(i)), self.plan.item), self.plan.item) for i in (0, 1)]
        return [self.splat(number) for number in numbers]

    def splat(self, number):
        """A number in all lanes."""
        return emit.splat(self.ir, number, self.lanes)

    def load(self, pointer, place):
        """A vector of numbers that lie side by side."""
        return emit.load(self.ir, emit.address(self.ir, pointer, place, self.plan.item), self.plan.vector)

    def _scaled(self, value):
        scale = self.t.scale * (0.5 if self.t.is_from_real else 1)
        return value if scale == 1 else tuple([self.ir.fmul(part, constant(scale, self.plan.vector)) for part in value])

    # Spectra of real numbers

    def _pairs(self, source, put, made):
        """Let `put` write what `made` makes of each number but the first, of its mirror image, and of what they are rotated by."""
        b, half = self.ir, self.length
        table = len(self.plan.table) - 2 * half
        with _along(b, half - 1, self.lanes) as at:
            k = b.add(at, I64(1))
            x, y = source.vector(k), source.vector(b.sub(I64(half + 1 - self.lanes), k))
            y = tuple([emit.shuffle(b, part, part, range(self.lanes - 1, -1, -1)) for part in y])
            sums = b.fadd(x[0], y[0]), b.fsub(x[1], y[1])
            differences = b.fsub(x[0], y[0]), b.fadd(x[1], y[1])
            twiddle = [self.load(self.table, b.add(k, I64(table + i * half))) for i in (0, 1)]
            put(k, made(sums, self.flies.rotated(differences, *twiddle)))

    def _take_apart(self):
        """The spectrum of real numbers, from that of half as many complex ones."""
        b = self.ir
        self._pairs(self.last, lambda k, value: self.written.put(k, self._scaled(value)),
                    lambda even, odd: (b.fadd(even[0], odd[1]), b.fsub(even[1], odd[0])))
        x, y = self.last.number(I64(0))
        zero = constant(0, self.plan.item)
        for place, value in ((0, b.fadd(x, y)), (self.length, b.fsub(x, y))):
            value = b.fmul(value, constant(self.t.scale, self.plan.item))
            self.written.put_number(I64(place), (value, zero))

    def _put_together(self):
        """The other way round; the imaginary parts of the first and the last frequency do not count."""
        b, target = self.ir, _Buffer(self, self.buffers[0])
        self._pairs(self.read, target.put, lambda even, odd: (b.fsub(even[0], odd[1]), b.fadd(even[1], odd[0])))
        (x, _), (y, _) = self.read.number(I64(0)), self.read.number(I64(self.length))
        target.put_number(I64(0), (b.fadd(x, y), b.fsub(x, y)))


@contextmanager
def _along(builder, count, lanes):
    """A loop over `count` places in vectors; the last one begins early enough to be whole."""
    with emit.loop(builder, 0, -(-count // lanes)) as block:
        at = builder.mul(block.index, I64(lanes))
        yield emit.minimum(builder, at, count - lanes) if count % lanes else at


class _Buffer:
    """A line in scratch memory: all real parts, then all imaginary ones."""

    def __init__(self, writer, pointer):
        self._ir, self._plan = writer.ir, writer.plan
        self._parts = [pointer, emit.address(self._ir, pointer, writer.length, self._plan.item)]

    def vector(self, place):
        """The complex numbers from a place on."""
        return self._loaded(place, self._plan.vector)

    def number(self, place):
        """The complex number at a place."""
        return self._loaded(place, self._plan.item)

    def _loaded(self, place, kind):
        return tuple([emit.load(self._ir, emit.address(self._ir, part, place, self._plan.item), kind) for part in self._parts])

    def put(self, place, value):
        """Write complex numbers, one or a vector of them."""
        for pointer, part in zip(self._parts, value, strict=True):
            emit.store(self._ir, part, emit.address(self._ir, pointer, place, self._plan.item))

    put_number = put


class _Memory:
    """A line of the arrays that are read and written: of complex numbers, or of real ones seen as complex, two at a time."""

    def __init__(self, writer, pointer, start, is_real):
        self._ir, self._plan, self._pointer, self._start = writer.ir, writer.plan, pointer, start
        self._inner, self._is_real = writer.inner, is_real
        self._is_row = writer.t.inner == 1

    def vector(self, place):
        """The complex numbers from a place on."""
        b, lanes = self._ir, self._plan.lanes
        if self._is_row:
            where = emit.address(b, self._pointer, b.add(self._start, b.mul(place, I64(2))), self._plan.item)
            both = emit.load(b, where, ir.VectorType(self._plan.item, 2 * lanes))
            return tuple([emit.shuffle(b, both, both, range(part, 2 * lanes, 2)) for part in (0, 1)])
        found = [undefined(self._plan.vector)] * 2
        for lane in range(lanes):
            number = self.number(b.add(place, I64(lane)))
            found = [b.insert_element(vector, part, emit.I32(lane)) for vector, part in zip(found, number, strict=True)]
        return tuple(found)

    def number(self, place):
        """The complex number at a place."""
        return tuple([emit.load(self._ir, self._at(place, part), self._plan.item) for part in (0, 1)])

    def put(self, place, value):
        """Write a vector of complex numbers."""
        b, lanes = self._ir, self._plan.lanes
        if self._is_row:
            picks = [lane // 2 + lane % 2 * lanes for lane in range(2 * lanes)]
            where = emit.address(b, self._pointer, b.add(self._start, b.mul(place, I64(2))), self._plan.item)
            emit.store(b, emit.shuffle(b, *value, picks), where)
            return
        for lane in range(lanes):
            self.put_number(b.add(place, I64(lane)), [b.extract_element(part, emit.I32(lane)) for part in value])

    def put_number(self, place, value):
        """Write one complex number."""
        for number, part in enumerate(value):
            emit.store(self._ir, part, self._at(place, number))

    def _at(self, place, part):
        b = self._ir
        step = b.add(b.mul(place, I64(2)), I64(part)) if self._is_real else place
        moved = b.mul(step, self._inner if self._is_real else b.mul(self._inner, I64(2)))
        moved = moved if self._is_real else b.add(moved, I64(part))
        return emit.address(b, self._pointer, b.add(self._start, moved), self._plan.item)
