"""Pairs: products of bfloat16 by the instruction that takes two numbers of k at a time, and adds up in float32.

Two neighbours along k, four bytes, are moved as one number of float32 would be; so packing, panels and tiles are those of float32
with half of k. Where neighbours along k do not lie side by side, packing puts them there.

The instruction takes subnormal numbers for zero, and makes no subnormal sums.
"""

from .. import emit, ir
from ..emit import BYTE, I32, address

_HALF, _FACTORS = ir.IntType(16), ir.BFloatType()


def products_added(b, x, y, z):
    """Sums with the products of pairs added to them: in each lane both of one pair."""
    kind = ir.VectorType(_FACTORS, 2 * z.type.count)
    return b.call_external("llvm.x86.avx512bf16.dpbf16ps.512", z.type, [z, b.bitcast(x, kind), b.bitcast(y, kind)])


def loaded(b, pointer, step, kind, mask=None):
    """Numbers at a pointer, one or a vector of them, each paired with the one that lies `step` bytes behind it; as `kind`, which
    has their bits.
    """
    halves, whole = emit.like(kind, _HALF), emit.like(kind, I32)
    first, second = (b.zext(emit.load(b, place, halves, mask), whole) for place in (pointer, address(b, pointer, step, BYTE)))
    sixteen = ir.Constant(whole, [16] * kind.count if isinstance(kind, ir.VectorType) else 16)
    return b.bitcast(b.or_(first, b.shl(second, sixteen)), kind)
