"""Blocks of quantised weights as integers of 8 bits, with the scales that make numbers of them.

The formulas are those of `ops.networks._quantizing`.
"""

from typing import NamedTuple

from .. import emit, ir
from ..emit import BYTE, I32
from ..quantized_blocks import BLOCKS
from ..vecmath.elements import constant

_SHORT, _HALF = ir.IntType(16), ir.HalfType()


class Part(NamedTuple):
    """32 weights: their `codes`, and vectors of float32 with what makes numbers of them.

    scale  what codes are multiplied by: in all lanes, or in the first half of them that of the first 16 codes; where codes are
           `is_signed` False, in even lanes, and in odd ones what is added to each number
    """

    codes: ir.Value
    scale: ir.Value


class Codes:
    """How blocks of a format are read: `is_signed` says whether codes may be negative, in which case nothing is added to numbers.

    `together` outputs are computed at once, for one row of activations.
    """

    together = 4

    def __init__(self, name, is_signed):
        self.block, self.is_signed = BLOCKS[name], is_signed

    def parts(self, r, pointer):
        """Yield the parts of the block at `pointer`; `r` reads it."""
        raise NotImplementedError


class _Bytes(Codes):
    """Q8_0."""

    def parts(self, r, pointer):
        yield Part(r.bytes(pointer, 2, 32), r.halves(pointer, 0))


class _Nibbles(Codes):
    """Codes of 4 bits or 5: see `quantized_blocks`."""

    def parts(self, r, pointer):
        b, block = r.b, self.block
        codes = _both(r, r.bytes(pointer, block.nbytes - 16))
        if block.is_of_five:
            codes = b.or_(codes, _fifth_bits(r, pointer, 4 if block.has_least else 2))
        if block.has_least:
            yield Part(codes, _pairs(r, pointer))
            return
        middle = 16 if block.is_of_five else 8
        yield Part(b.sub(codes, constant(middle, codes.type)), r.halves(pointer, 0))


class _FourBits(Codes):
    """Q4_K."""

    together = 1

    def parts(self, r, pointer):
        b = r.b
        scales, leasts = self.block.scales(r, pointer)
        leasts = b.fneg(leasts)
        for pair in range(4):
            for half, codes in enumerate(r.nibbles(r.bytes(pointer, 16 + 32 * pair, 32))):
                part = 2 * pair + half
                yield Part(codes, emit.shuffle(b, scales, leasts, [part, 8 + part] * (r.lanes // 2)))


class _SixBits(Codes):
    """Q6_K."""

    together = 1

    def parts(self, r, pointer):
        b, scales = r.b, self.block.scales(r, pointer)
        for half in range(2):
            low = [r.nibbles(r.bytes(pointer, 64 * half + place, 32)) for place in (0, 32)]
            high = r.bytes(pointer, 128 + 32 * half, 32)
            for part in range(4):
                bits = b.and_(b.lshr(high, constant(2 * part, high.type)), constant(3, high.type))
                codes = b.or_(low[part % 2][part // 2], b.shl(bits, constant(4, high.type)))
                first = 8 * half + 2 * part
                picks = [first + (2 * lane) // r.lanes for lane in range(r.lanes)]
                yield Part(b.sub(codes, constant(32, codes.type)), emit.shuffle(b, scales, scales, picks))


def _both(r, codes):
    """The lower halves of 16 bytes, then the upper ones."""
    b, words = r.b, ir.VectorType(I32, 8)
    # Spread and then shifted by words, each by a number of its own: x86 does that at once, and a byte takes nothing of the next one
    # that the mask does not cut off.
    both = b.bitcast(emit.shuffle(b, codes, codes, [*range(16)] * 2), words)
    both = b.bitcast(b.lshr(both, ir.Constant(words, [0] * 4 + [4] * 4)), ir.VectorType(BYTE, 32))
    return b.and_(both, constant(15, both.type))


def _fifth_bits(r, pointer, place):
    """32 bits, each as 0 or 16."""
    b, kind = r.b, ir.VectorType(BYTE, 32)
    four = r.bytes(pointer, place, 4)
    spread = emit.shuffle(b, four, four, [i // 8 for i in range(32)])
    mask = ir.Constant(kind, [(1 << i % 8) - (256 if i % 8 == 7 else 0) for i in range(32)])
    return b.select(b.icmp_unsigned("!=", b.and_(spread, mask), emit.zeros(kind)), constant(16, kind), emit.zeros(kind))


def _pairs(r, pointer):
    """A scale in even lanes and what is added in odd ones."""
    b = r.b
    if r.has_halves:
        # Spread before they are widened: the processor loads and spreads at once.
        whole = emit.splat(b, b.load(pointer, typ=I32, align=1), r.lanes // 2)
        return r.widened(b.bitcast(whole, ir.VectorType(_HALF, r.lanes)))
    pair = r.widened(b.load(pointer, typ=ir.VectorType(_SHORT, 2), align=1))
    return emit.shuffle(b, pair, pair, [0, 1] * (r.lanes // 2))


#: How each format of integers is read.
CODES = {
    "Q8_0": _Bytes("Q8_0", True), "Q4_0": _Nibbles("Q4_0", True), "Q4_1": _Nibbles("Q4_1", False),
    "Q5_0": _Nibbles("Q5_0", True), "Q5_1": _Nibbles("Q5_1", False), "Q4_K": _FourBits("Q4_K", False),
    "Q6_K": _SixBits("Q6_K", True)}
