"""Powers of two, which stand for exponentials here: products are taken times the logarithm of e to base 2."""

import math

from ..builder import Builder
from ..vecmath.elements import constant
from ..vecmath.exponential import LOG2_E, exponential_less_one, power_of_two, round_to_integer

#: Below this power of two there is nothing: such numbers would be slow, and no sum would feel them.
_LEAST = {"float32": -126.0, "float64": -1022.0}


def power(b, plan, x):
    """2 to the power `x`, which is not much above 0; NaN passes."""
    k = Builder(b, plan.dtype, plan.lanes)
    least = constant(_LEAST[plan.dtype], x.type)
    n, whole = round_to_integer(k, k.where(k.greater(least, x), least, x))
    two = power_of_two(k, n)
    found = k.fma(exponential_less_one(k, k.multiply(k.subtract(x, whole), math.log(2))), two, two)
    return k.where(k.less(x, least), constant(0, x.type), found)


def masked(plan):
    """What makes elements of a mask into numbers that are added to products."""
    def from_booleans(b, vector):
        is_open = b.icmp_unsigned("!=", vector, constant(0, vector.type))
        return b.select(is_open, constant(0.0, plan.vector), constant(-math.inf, plan.vector))

    def from_numbers(b, vector):
        return b.fmul(vector, constant(LOG2_E, plan.vector))

    return from_booleans if plan.has_booleans else from_numbers
