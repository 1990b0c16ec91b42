"""Reduction of an angle to a quarter turn: x = n pi/2 + r with |r| a little over pi/4 at most.

Up to a limit: Cody and Waite, with pi/2 in three parts and fused steps, the first of which is exact. Beyond it: Payne
and Hanek (Radian reduction for trigonometric functions, 1983), which multiplies by the bits of 2/pi that matter for the
exponent at hand; it works on one lane at a time, out of line, and is entered only if some lane needs it.
"""

import math
from itertools import pairwise

from .. import ir
from ..counting import counted
from .exponential import SHIFT
from .table import call_cold

_LIMIT = {"float32": 2.0**17, "float64": 2.0**22}
# Each part is rounded down, so that all are positive and -0 stays -0 through the steps.
_HALF_PI = {
    "float32": (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15),
    "float64": (1.5707963267948966, 6.123233995736765e-17, 1.0828566739219139e-32),
}
_HALF_PI_TAIL = 6.123233995736766e-17
# The bits of 2/pi after the point, with one word of zeros in front.
_TWO_OVER_PI = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D,
)  # fmt: skip
_WORD, _WIDE, _DOUBLE = ir.IntType(64), ir.IntType(128), ir.DoubleType()


def quarter_turns(k, x):
    """`n` and `r` with x = n pi/2 + r; of the integer `n` only the low bits count."""
    n, whole = _nearest_turn(k, x)
    r = x
    for part in _HALF_PI[k.dtype]:
        r = k.fma(whole, -part, r)
    n, r, _ = _mend_huge(k, x, n, r, k.constant_like(0, r))
    return n, r


def quarter_turns_exactly(k, x):
    """`n`, `r` and `excess` with x = n pi/2 + r - excess: `excess` is what rounding added to `r`."""
    n, whole = _nearest_turn(k, x)
    first, second, third = _HALF_PI[k.dtype]
    exact = k.fma(whole, -first, x)
    product = k.multiply(whole, second)
    nearly = k.subtract(exact, product)
    owed = k.add(k.subtract(product, k.subtract(exact, nearly)), k.fma(whole, second, k.negative(product)))
    owed = k.fma(whole, third, owed)
    r = k.subtract(nearly, owed)
    return _mend_huge(k, x, n, r, k.add(k.subtract(r, nearly), owed))


def _nearest_turn(k, x):
    shifted = k.fma(x, 2 / math.pi, SHIFT[k.dtype])
    return k.bits(shifted), k.subtract(shifted, SHIFT[k.dtype])


def _mend_huge(k, x, n, r, excess):
    def reduce_exactly():
        return call_cold(k, "payne_hanek", _reduce_lanes, (x, n, r, excess), [n.type, r.type, r.type])

    return k.rarely(_is_huge(k, x), (n, r, excess), reduce_exactly)


def _is_huge(k, x):
    # NaN needs no reduction.
    return k.greater_equal(k.abs(x), _LIMIT[k.dtype])


def _reduce_lanes(k, x, n, r, excess):
    # Nor does infinity: the usual steps have made NaN of it.
    is_huge = k.logical_and(_is_huge(k, x), k.less(k.abs(x), math.inf))
    wide = k.convert(k.where(is_huge, x, _LIMIT[k.dtype]), "float64")
    lanes = [_Lanes(k, v) for v in (wide, k.convert(n, "int64"), wide, wide)]
    with counted(k.ir, _WORD(0), _WORD(k.lanes)) as i:
        _reduce_lane(k, lanes, i)
    exact = _narrow(k, *[lane.vector() for lane in lanes[1:]])
    return tuple(k.where(is_huge, new, old) for new, old in zip(exact, (n, r, excess), strict=True))


def _reduce_lane(k, lanes, i):
    scalar = type(k)(k.ir, "float64", 1)
    found = call_cold(scalar, "payne_hanek_lane", _reduce_one, (lanes[0].read(i),), [_WORD, _DOUBLE, _DOUBLE])
    for lane, value in zip(lanes[1:], found, strict=True):
        lane.write(value, i)


class _Lanes:
    """A vector in memory, so that a loop can go through its lanes: code for each lane would be long."""

    def __init__(self, k, value):
        self._ir, self._kind = k.ir, value.type
        self._item = getattr(value.type, "element", value.type)
        self._memory = k.ir.alloca(value.type)
        k.ir.store(value, self._memory)

    def _place(self, i):
        return self._ir.gep(self._memory, [i], source_etype=self._item)

    def read(self, i):
        return self._ir.load(self._place(i), typ=self._item)

    def write(self, value, i):
        self._ir.store(value, self._place(i))

    def vector(self):
        return self._ir.load(self._memory, typ=self._kind)


def _narrow(k, n, r, excess):
    if k.dtype == "float64":
        return n, r, excess
    narrow = k.convert(r, "float32")
    return k.convert(n, "int32"), narrow, k.convert(k.subtract(k.convert(narrow, "float64"), r), "float32")


def _reduce_one(k, x):
    """Payne and Hanek's reduction of one double of at least 2^17, to some 75 bits after the leading one."""
    b = k.ir
    bits = k.bits(k.abs(x))
    exponent = k.shift_right_unsigned(bits, 52)
    mantissa = b.or_(b.and_(bits, _WORD((1 << 52) - 1)), _WORD(1 << 52))
    # Bits of 2/pi that stand before this place only add multiples of four quarter turns.
    high, middle, low = _window(k, b.sub(exponent, _WORD(1013)))
    upper = b.mul(mantissa, high)
    lower = b.add(b.lshr(_product(b, mantissa, low), _WIDE(64)), _product(b, mantissa, middle))
    turns = b.add(b.shl(b.zext(upper, _WIDE), _WIDE(64)), lower)
    fraction = b.shl(turns, _WIDE(2))
    is_negative = b.icmp_signed("<", fraction, _WIDE(0))
    n = b.add(b.trunc(b.lshr(turns, _WIDE(126)), _WORD), b.zext(is_negative, _WORD))
    parts = _angle(k, b.select(is_negative, b.sub(_WIDE(0), fraction), fraction))
    flips = b.xor(is_negative, k.less(x, 0))
    r, excess = (k.where(flips, k.negative(part), part) for part in parts)
    return k.where(k.less(x, 0), k.negative(n), n), r, excess


def _window(k, place):
    """192 bits of 2/pi from this place on, as three words."""
    b = k.ir
    index, count = b.lshr(place, _WORD(6)), b.and_(place, _WORD(63))
    words = []
    for i in range(4):
        pointer = b.gep(_table(b.module), [b.add(index, _WORD(i))], source_etype=_WORD)
        words.append(b.load(pointer, typ=_WORD))
    return [k.intrinsic("llvm.fshl", first, second, count) for first, second in pairwise(words)]


def _table(module):
    name = "retrograde.two_over_pi"
    if name not in module.globals:
        ir.Table(module, name, ir.Constant(ir.ArrayType(_WORD, len(_TWO_OVER_PI)), _TWO_OVER_PI))
    return module.globals[name]


def _product(b, x, y):
    return b.mul(b.zext(x, _WIDE), b.zext(y, _WIDE))


def _angle(k, fraction):
    """`fraction` times 2^-128 quarter turns, in radians, and what rounding added to it, from its leading 106 bits."""
    b = k.ir
    zeros = k.call_external("llvm.ctlz.i128", _WIDE, fraction, ir.Constant(ir.IntType(1), 0))
    normal = b.shl(fraction, zeros)
    high = b.uitofp(b.trunc(b.lshr(normal, _WIDE(75)), _WORD), _DOUBLE)
    low = b.uitofp(b.lshr(b.trunc(b.lshr(normal, _WIDE(11)), _WORD), _WORD(11)), _DOUBLE)
    scale = k.from_bits(k.shift_left(k.subtract(1023 - 53, b.trunc(zeros, _WORD)), 52))
    tail = k.fma(low, math.pi / 2 * 2.0**-53, k.multiply(high, _HALF_PI_TAIL))
    r = k.fma(high, math.pi / 2, tail)
    excess = k.subtract(k.fma(high, -math.pi / 2, r), tail)
    return k.multiply(r, scale), k.multiply(excess, scale)
