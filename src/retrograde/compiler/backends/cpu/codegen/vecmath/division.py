"""remainder, exactly as NumPy has it, and floor_divide, which differs from NumPy's where one operand is infinite.

x - q y is exact in one fused step if q is the whole part of x / y, or one more where the quotient was rounded up to it: then the
difference is negative, and y too much was taken off. Quotients that have no place for a fraction are divided bit by bit.
"""

import math

from .table import call_cold, function

# Below it a quotient is off by less than one.
_LIMIT = {"float32": 2.0**24, "float64": 2.0**53}


@function
def remainder(k, x, y):
    """What is left of `x` after division by `y`, with the sign of `y`."""
    left = _left(k, x, y)
    found = k.where(_crosses(k, left, y), k.add(left, y), left)
    return k.where(k.equal(left, 0), k.copysign(k.constant_like(0.0, y), y), found)


@function
def floor_divide(k, x, y):
    """The largest whole number not above `x / y`, of which what is left is taken off before it is rounded."""
    left, quotient = _left(k, x, y), k.divide(x, y)
    whole = k.divide(k.subtract(x, left), y)
    whole = k.where(k.logical_and(_crosses(k, left, y), k.not_equal(left, 0)), k.subtract(whole, 1), whole)
    found = k.floor(whole)
    found = k.where(k.greater(k.subtract(whole, found), 0.5), k.add(found, 1), found)
    found = k.where(k.equal(whole, 0), k.copysign(k.constant_like(0.0, x), quotient), found)
    is_endless = k.logical_or(k.equal(y, 0), k.logical_xor(k.isinf(x), k.isinf(y)))
    return k.where(is_endless, quotient, found)


def _crosses(k, left, y):
    return k.logical_xor(k.less(left, 0), k.less(y, 0))


def _left(k, x, y):
    """What is left of `x`, with its sign: C's fmod."""
    magnitude, divisor = k.abs(x), k.abs(y)
    quotient = k.divide(magnitude, divisor)
    left = k.fma(k.negative(k.trunc(quotient)), divisor, magnitude)
    left = k.where(k.less(left, 0), k.add(left, divisor), left)
    left = k.where(k.less(magnitude, divisor), magnitude, left)
    is_far = k.logical_not(k.less(quotient, _LIMIT[k.dtype]))  # or not a number
    far = lambda: [call_cold(k, "left_bit_by_bit", _left_bit_by_bit, (magnitude, divisor), [x.type])]
    return k.copysign(k.rarely(is_far, (left,), far)[0], x)


def _left_bit_by_bit(k, x, y):
    """What is left of positive numbers however far apart they are: doubled divisors are taken off, each an exact step."""
    b = k.ir
    has_answer = k.logical_and(k.less(x, math.inf), k.greater(y, 0))
    left, divisor = k.where(has_answer, x, 0), k.where(has_answer, y, 1)
    before, double, doubled = b.block, b.append_basic_block("double"), b.append_basic_block("doubled")
    b.branch(double)
    b.position_at_end(double)
    taken = b.phi(x.type)
    fits = k.less_equal(taken, k.multiply(left, 0.5))
    taken.add_incoming(divisor, before)
    taken.add_incoming(k.where(fits, k.add(taken, taken), taken), double)
    b.cbranch(k.any(fits), double, doubled)
    b.position_at_end(doubled)
    take, after = b.append_basic_block("take"), b.append_basic_block("after")
    b.branch(take)
    b.position_at_end(take)
    rest, part = b.phi(x.type), b.phi(x.type)
    found, goes_on = k.where(k.less_equal(part, rest), k.subtract(rest, part), rest), k.greater(part, divisor)
    for phi, start, following in ((rest, left, found), (part, taken, k.where(goes_on, k.multiply(part, 0.5), part))):
        phi.add_incoming(start, doubled)
        phi.add_incoming(following, take)
    b.cbranch(k.any(goes_on), take, after)
    b.position_at_end(after)
    return k.where(has_answer, found, math.nan)
