"""Blocks of quantised weights in registers: for each format, the numbers of a block as vectors of float32, in order.

The formulas are those of `ops.networks._quantizing`, and give the same bits: all products but the last are exact.
"""

from . import emit, ir
from .emit import BYTE, I32
from .vecmath.elements import constant

_FLOAT, _SHORT, _HALF = ir.FloatType(), ir.IntType(16), ir.HalfType()


class Block:
    """How a block of `size` weights in `nbytes` is read.

    `together` rows of such blocks are read at once, which is worth it for those that take few instructions.
    """

    together = 1

    def __init__(self, size, nbytes):
        self.size, self.nbytes = size, nbytes

    def weights(self, r, pointer):
        """Yield the numbers of the block at `pointer`, vector by vector; `r` reads it."""
        raise NotImplementedError


class Reader:
    """Reads parts of blocks: bytes, codes, scales."""

    def __init__(self, builder, plan):
        self.b, self.lanes, self.is_fused = builder, plan.lanes, plan.is_fused
        self.has_halves, self.has_tables = plan.has_halves, plan.has_tables
        self.vector, self.integers = ir.VectorType(_FLOAT, self.lanes), ir.VectorType(I32, self.lanes)

    def at(self, pointer, place):
        return emit.address(self.b, pointer, place, BYTE)

    def bytes(self, pointer, place, count=16):
        """So many bytes as a vector; blocks lie at any address."""
        return self.b.load(self.at(pointer, place), typ=ir.VectorType(BYTE, count), align=1)

    def word(self, pointer, place):
        """Four bytes as one integer."""
        return self.b.load(self.at(pointer, place), typ=I32, align=1)

    def half(self, pointer, place):
        """A number of 16 bits, widened."""
        where = self.at(pointer, place)
        return self.widened(self.b.load(where, typ=_HALF if self.has_halves else _SHORT, align=1))

    def halves(self, pointer, place):
        """A number of 16 bits, widened, in all lanes."""
        if not self.has_halves:
            return self.splat(self.half(pointer, place))
        # Spread before it is widened: the processor loads and spreads at once.
        return self.widened(emit.splat(self.b, self.b.load(self.at(pointer, place), typ=_HALF, align=1), self.lanes))

    def looked_up(self, table, codes):
        """The numbers of a table of sixteen at the places that the lower four bits of integers say."""
        return self.b.call_external("llvm.x86.avx512.permvar.sf.512", self.vector, [table, codes])

    def widened(self, halves):
        """Numbers of 16 bits, or vectors of them, as float32."""
        b = self.b
        if self.has_halves:
            return b.fpext(halves, emit.like(halves.type, _FLOAT))
        # Moved to where float32 has exponent and mantissa, and times what the biases of the exponents differ by.
        integers, floats = emit.like(halves.type, I32), emit.like(halves.type, _FLOAT)
        bits = b.zext(halves, integers)
        size = b.shl(b.and_(bits, constant(0x7FFF, integers)), constant(13, integers))
        number = b.bitcast(b.fmul(b.bitcast(size, floats), constant(2.0**112, floats)), integers)
        is_special = b.icmp_unsigned(">=", size, constant(0x7C00 << 13, integers))
        number = b.select(is_special, b.or_(size, constant(0x7F800000, integers)), number)
        sign = b.shl(b.and_(bits, constant(0x8000, integers)), constant(16, integers))
        return b.bitcast(b.or_(number, sign), floats)

    def splat(self, number):
        return emit.splat(self.b, number, self.lanes)

    def lane(self, vector, i):
        """A vector with one of the lanes of another one everywhere."""
        return emit.shuffle(self.b, vector, vector, [i] * self.lanes)

    def pieces(self, vector):
        """A longer vector in pieces of as many lanes as vectors of numbers have."""
        count = vector.type.count
        if count == self.lanes:
            return [vector]
        return [emit.shuffle(self.b, vector, vector, range(i, i + self.lanes)) for i in range(0, count, self.lanes)]

    def nibbles(self, codes):
        """The lower half of each byte, and the upper one."""
        b = self.b
        return b.and_(codes, constant(15, codes.type)), b.lshr(codes, constant(4, codes.type))

    def integers_of(self, codes, is_signed=False):
        """Bytes as integers of 32 bits."""
        extend = self.b.sext if is_signed else self.b.zext
        return extend(codes, ir.VectorType(I32, codes.type.count))

    def floats_of(self, integers):
        return self.b.sitofp(integers, ir.VectorType(_FLOAT, integers.type.count))

    def line(self, codes, factor, addend):
        """codes · factor + addend."""
        return emit.multiply_add(self.b, codes, factor, addend, self.is_fused)


class _Bytes(Block):
    """Q8_0: a scale, and integers of 8 bits."""

    together = 4

    def weights(self, r, pointer):
        scale = r.halves(pointer, 0)
        for place in range(2, 34, 16):
            for codes in r.pieces(r.bytes(pointer, place)):
                yield r.b.fmul(r.floats_of(r.integers_of(codes, is_signed=True)), scale)


class _Nibbles(Block):
    """A scale, a least number if `has_least`, a fifth bit of each code if `is_of_five`, and codes of 4 bits."""

    def __init__(self, nbytes, has_least, is_of_five):
        super().__init__(32, nbytes)
        self.has_least, self.is_of_five = has_least, is_of_five

    def weights(self, r, pointer):
        b, scale, middle = r.b, r.halves(pointer, 0), 16 if self.is_of_five else 8
        # A code less its middle, times the scale: exact either way.
        addend = r.halves(pointer, 2) if self.has_least else b.fmul(scale, constant(-float(middle), r.vector))
        place = 4 if self.has_least else 2
        if r.has_tables and not self.is_of_five:
            yield from self._from_table(r, pointer, scale, addend)
            return
        bits = emit.splat(b, r.word(pointer, place), r.lanes) if self.is_of_five else None
        number = 0
        for half in r.nibbles(r.bytes(pointer, self.nbytes - 16)):
            for piece in r.pieces(half):
                codes = r.integers_of(piece)
                if bits is not None:
                    mask = ir.Constant(r.integers, [_signed(1 << (number + i)) for i in range(r.lanes)])
                    is_set = b.icmp_unsigned("!=", b.and_(bits, mask), constant(0, r.integers))
                    codes = b.or_(codes, b.select(is_set, constant(16, r.integers), constant(0, r.integers)))
                number += r.lanes
                yield r.line(r.floats_of(codes), scale, addend)

    def _from_table(self, r, pointer, scale, addend):
        """The numbers by a table of the sixteen that there are: two instructions for each vector."""
        table = r.line(ir.Constant(r.vector, [float(i) for i in range(16)]), scale, addend)
        codes = r.integers_of(r.bytes(pointer, self.nbytes - 16))
        yield r.looked_up(table, codes)
        yield r.looked_up(table, r.b.lshr(codes, constant(4, r.integers)))


def _signed(word):
    """32 bits as LLVM writes them."""
    return word - (1 << 32) if word >> 31 else word


class _FourBits(Block):
    """Q4_K: eight parts of 32 codes, each with a scale and a least number of 6 bits."""

    def scales(self, r, pointer):
        """The scales of the parts, and the numbers that are taken away: vectors of eight."""
        b = r.b
        words = [r.word(pointer, place) for place in (4, 8, 12)]
        six, four, two = (lambda x, bits=bits: b.and_(x, I32(bits)) for bits in (0x3F3F3F3F, 0x0F0F0F0F, 0x03030303))
        upper = [b.shl(two(b.lshr(word, I32(6))), I32(4)) for word in words[:2]]
        scales = six(words[0]), b.or_(four(words[2]), upper[0])
        leasts = six(words[1]), b.or_(four(b.lshr(words[2], I32(4))), upper[1])
        return [self._numbers(r, pair, r.half(pointer, place)) for pair, place in ((scales, 0), (leasts, 2))]

    def weights(self, r, pointer):
        b, (scales, leasts) = r.b, self.scales(r, pointer)
        for pair in range(4):
            codes = [r.nibbles(r.bytes(pointer, 16 + 32 * pair + place)) for place in (0, 16)]
            for half in range(2):
                part = 2 * pair + half
                factor, addend = r.lane(scales, part), b.fneg(r.lane(leasts, part))
                for sixteen in codes:
                    for piece in r.pieces(sixteen[half]):
                        yield r.line(r.floats_of(r.integers_of(piece)), factor, addend)

    @staticmethod
    def _numbers(r, words, factor):
        """The eight bytes of two words, times a factor."""
        b = r.b
        pair = emit.zeros(ir.VectorType(I32, 2))
        for i, word in enumerate(words):
            pair = b.insert_element(pair, word, I32(i))
        numbers = r.floats_of(r.integers_of(b.bitcast(pair, ir.VectorType(BYTE, 8))))
        return b.fmul(numbers, emit.splat(b, factor, 8))


class _SixBits(Block):
    """Q6_K: sixteen parts of 16 codes, each with a scale of 8 bits; two bits of each code lie apart."""

    def scales(self, r, pointer):
        """The scales of the parts, a vector of sixteen."""
        scales = r.floats_of(r.integers_of(r.bytes(pointer, 192), is_signed=True))
        return r.b.fmul(scales, emit.splat(r.b, r.half(pointer, 208), 16))

    def weights(self, r, pointer):
        b, short, scales = r.b, ir.VectorType(BYTE, 16), self.scales(r, pointer)
        for half in range(2):
            low = [r.nibbles(r.bytes(pointer, 64 * half + place)) for place in (0, 16, 32, 48)]
            high = [r.bytes(pointer, 128 + 32 * half + place) for place in (0, 16)]
            for part in range(4):
                for i in range(2):
                    bits = b.and_(b.lshr(high[i], constant(2 * part, short)), constant(3, short))
                    codes = b.or_(low[2 * (part % 2) + i][part // 2], b.shl(bits, constant(4, short)))
                    factor = r.lane(scales, 8 * half + 2 * part + i)
                    for piece in r.pieces(codes):
                        centred = b.sub(r.integers_of(piece), constant(32, r.integers))
                        yield b.fmul(r.floats_of(centred), factor)


class _Halves(Block):
    """F16 and BF16: 32 numbers of 16 bits."""

    together = 4

    def __init__(self, is_brain):
        super().__init__(32, 64)
        self.is_brain = is_brain

    def weights(self, r, pointer):
        b, item = r.b, _HALF if r.has_halves and not self.is_brain else _SHORT
        for place in range(0, 64, 2 * r.lanes):
            numbers = b.load(r.at(pointer, place), typ=ir.VectorType(item, r.lanes), align=1)
            if not self.is_brain:
                yield r.widened(numbers)
                continue
            yield b.bitcast(b.shl(b.zext(numbers, r.integers), constant(16, r.integers)), r.vector)


class _Floats(Block):
    """F32: numbers as they are."""

    together = 4

    def weights(self, r, pointer):
        for place in range(0, self.nbytes, 4 * r.lanes):
            yield r.b.load(r.at(pointer, place), typ=r.vector, align=4)


#: How each format is read.
BLOCKS = {
    "Q8_0": _Bytes(32, 34), "Q4_0": _Nibbles(18, has_least=False, is_of_five=False),
    "Q4_1": _Nibbles(20, has_least=True, is_of_five=False), "Q5_0": _Nibbles(22, has_least=False, is_of_five=True),
    "Q5_1": _Nibbles(24, has_least=True, is_of_five=True), "Q4_K": _FourBits(256, 144), "Q6_K": _SixBits(256, 210),
    "F16": _Halves(is_brain=False), "BF16": _Halves(is_brain=True), "F32": _Floats(16, 64)}
