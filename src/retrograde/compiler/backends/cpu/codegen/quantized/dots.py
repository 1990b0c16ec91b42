"""Sums of products of integers of 8 bits, four neighbours in each lane of 32 bits, by what a processor has for that."""

from .. import emit, ir
from ..emit import I32
from ..vecmath.elements import constant

_SHORT = ir.IntType(16)
#: So many bytes are added up in a lane.
_GROUP = 4


def lanes_of(way):
    """How many sums of 32 bits one instruction makes."""
    return 8 if way in ("vnni", "avx2") else 4


def dot(b, way, codes, x, is_signed):
    """For each lane the sum of four products, exact: of `codes` by `x`, vectors of bytes, four times as many as lanes.

    `x` is from -127 to 127; `codes` from -128 to 127 if `is_signed`, else from 0 to 63.
    """
    if way == "dotprod":
        lanes = codes.type.count // _GROUP
        kind = ir.VectorType(I32, lanes)
        return b.call_external(f"llvm.aarch64.neon.sdot.v{lanes}i32.v{codes.type.count}i8", kind, [emit.zeros(kind), codes, x])
    if not way:
        return _widened(b, codes, x)
    if is_signed:
        # These instructions take one factor without a sign, so that the sign of the code goes to x: -128 is 128 without one, and x,
        # which is not -128, has a negative.
        codes, x = _magnitude(b, codes), b.call_external(_SIGN[way], x.type, [x, codes])
    return _SUMS[way](b, codes, x)


def _magnitude(b, codes):
    return b.call_external(f"llvm.abs.v{codes.type.count}i8", codes.type, [codes, ir.Constant(ir.IntType(1), 0)])


def _vnni(b, codes, x):
    lanes = ir.VectorType(I32, codes.type.count // _GROUP)
    return b.call_external("llvm.x86.avx512.vpdpbusd.256", lanes, [emit.zeros(lanes), codes, x])


def _pairs(products, sums):
    """Adds up pairs of products in 16 bits, and pairs of these in 32. The instruction saturates at 32767, and no pair is beyond
    2 · 128 · 127 = 32512.
    """
    def added(b, codes, x):
        half, whole = (ir.VectorType(kind, codes.type.count // step) for kind, step in ((_SHORT, 2), (I32, _GROUP)))
        return b.call_external(sums, whole, [b.call_external(products, half, [codes, x]), constant(1, half)])

    return added


_SIGN = {"vnni": "llvm.x86.avx2.psign.b", "avx2": "llvm.x86.avx2.psign.b", "ssse3": "llvm.x86.ssse3.psign.b.128"}
_SUMS = {"vnni": _vnni, "avx2": _pairs("llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd"),
         "ssse3": _pairs("llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.sse2.pmadd.wd")}


def _widened(b, codes, x):
    """In 16 bits, which hold each product, and then in 32."""
    count = codes.type.count
    half, whole = ir.VectorType(_SHORT, count), ir.VectorType(I32, count)
    found = b.sext(b.mul(b.sext(codes, half), b.sext(x, half)), whole)
    for _ in range(2):
        even, odd = (emit.shuffle(b, found, found, range(first, found.type.count, 2)) for first in (0, 1))
        found = b.add(even, odd)
    return found
