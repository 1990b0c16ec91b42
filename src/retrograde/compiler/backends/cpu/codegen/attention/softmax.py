"""Powers of two, which stand for exponentials here: products are taken times the logarithm of e to base 2."""

import math

from ..builder import Builder
from ..vecmath.elements import constant
from ..vecmath.exponential import BIAS, EXPONENTIAL, LOG2_E, MANTISSA, SHIFT

#: Below this power of two there is nothing: such numbers would be slow, and no sum would feel them.
_LEAST = {"float32": -126.0, "float64": -1022.0}


def power(b, plan, x):
    """2 to the power `x`, which is not much above 0; NaN passes."""
    k, dtype = Builder(b, plan.dtype, plan.lanes), plan.dtype
    least = constant(_LEAST[dtype], x.type)
    # The whole number stands in the low bits, from where it is moved to those of the exponent.
    # Adding a number so large that its last bit is worth 1 rounds to a whole number.
    shifted = b.fadd(k.where(k.greater(least, x), least, x), constant(SHIFT[dtype], x.type))
    whole = k.add(k.shift_left(k.bits(shifted), MANTISSA[dtype]), BIAS[dtype] << MANTISSA[dtype])
    rest = b.fsub(x, b.fsub(shifted, constant(SHIFT[dtype], x.type)))
    # e^r is 1 + r + r^2 times a polynomial, and r is a part of ln 2.
    found, *others = [c * math.log(2) ** n for n, c in reversed(list(enumerate((1.0, 1.0, *EXPONENTIAL[dtype]))))]
    found = constant(found, x.type)
    for coefficient in others:
        found = k.fma(found, rest, coefficient)
    return k.where(k.less(x, least), constant(0, x.type), b.fmul(found, k.from_bits(whole)))


def masked(b, plan, vector):
    """What a vector of a mask adds to products."""
    if plan.has_booleans:
        is_open = b.icmp_unsigned("!=", vector, constant(0, vector.type))
        return b.select(is_open, constant(0.0, plan.vector), constant(-math.inf, plan.vector))
    return b.fmul(vector, constant(LOG2_E, plan.vector))
