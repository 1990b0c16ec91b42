"""exp, exp2, expm1, and the parts of an exponential that other functions are made of.

The scheme is Cody and Waite's (Software Manual for the Elementary Functions, 1980): x = n ln 2 + r with |r| at most
half of ln 2, which is taken in two parts by fused steps; then a minimax polynomial (Remez exchange in 50 digits) for
e^r; then scaling by 2^n through the bits of the exponent.
"""

import math

from .table import function

LOG2_E = 1.4426950408889634
LN2 = {
    "float32": (0.693147182464599609375, -1.904654323148236017e-09),
    "float64": (math.log(2), 2.3190468138462996e-17),
}
# Adding 1.5 * 2^(bits of the mantissa) rounds to a whole number and leaves it in the low bits.
SHIFT = {"float32": 1.5 * 2**23, "float64": 1.5 * 2**52}
MANTISSA = {"float32": 23, "float64": 52}
BIAS = {"float32": 127, "float64": 1023}
# Below the first, e^x is zero; above the second, infinite; both leave 2^n within two steps of scaling.
LIMITS = {"float32": (-104.5, 89.5), "float64": (-746.0, 710.5)}
# 2^n times two to this power is no denormal, whatever e^x that is not zero n comes from.
_ABOVE = {"float32": 64, "float64": 512}
# (e^r - 1 - r) / r^2 for |r| <= 0.3468, minimax relative to e^r - 1.
EXPONENTIAL = {
    "float32": (4.9999997e-01, 1.6666543e-01, 4.16672e-02, 8.366554e-03, 1.3882488e-03),
    "float64": (
        0.5000000000000006,
        0.16666666666666588,
        0.04166666666657636,
        0.008333333333389628,
        0.0013888888931703933,
        0.00019841269718976666,
        2.4801505095551147e-05,
        2.7557407396888303e-06,
        2.7626112577744026e-07,
        2.5053886824119572e-08,
    ),
}


@function
def exp(k, x):
    """The exponential of `x`."""
    x = k.clip(x, *LIMITS[k.dtype])
    n, r = reduce(k, x)
    return scale(k, exponential(k, r), n)


@function
def exp2(k, x):
    """2 to the power `x`."""
    x = k.clip(x, *(limit * LOG2_E for limit in LIMITS[k.dtype]))
    n, whole = round_to_integer(k, x)
    r = k.multiply(k.subtract(x, whole), math.log(2))
    return scale(k, exponential(k, r), n)


@function
def expm1(k, x):
    """The exponential of `x` less 1, without cancellation near zero."""
    # Far below zero the result is -1 whatever the exponent; far above it overflows in the last step, the doubling.
    n, r = reduce(k, k.clip(x, -2.0 * MANTISSA[k.dtype], 88.8 if k.dtype == "float32" else 709.8))
    half = power_of_two(k, k.subtract(n, 1))
    # 2^n r + (2^n - 1) is nearly exact, and it comes before the smaller rest of the series.
    value = k.fma(exponential_rest(k, r), half, k.fma(r, half, k.subtract(half, 0.5)))
    value = k.add(value, value)
    # It is never below x. Where the two are equal, x has the right sign of zero.
    return k.where(k.greater(value, x), value, x)


def round_to_integer(k, x):
    """The whole number nearest to `x`, as an integer and as a float; |x| is below 2^21."""
    return _unshift(k, k.add(x, _shift(k)))


def reduce(k, x, low=None):
    """`n` (an integer) and `r` with x + low = n ln 2 + r; `low` is a small correction of `x`, if there is one."""
    n, whole = _unshift(k, k.fma(x, LOG2_E, _shift(k)))
    return n, _less_powers(k, x, low, whole)


def _less_powers(k, x, low, whole):
    """x + low less so many ln 2."""
    high_part, low_part = LN2[k.dtype]
    exact = k.fma(whole, -high_part, x)
    return k.fma(whole, -low_part, exact) if low is None else k.add(exact, k.fma(whole, -low_part, low))


def _shift(k):
    """What rounds, and leaves the whole number with twice the bias in the low bits: `scale` needs nothing else."""
    return SHIFT[k.dtype] + 2 * BIAS[k.dtype]


def _unshift(k, shifted):
    integer = k.subtract(k.bits(shifted), k.bits(k.constant_like(_shift(k), shifted)))
    return integer, k.subtract(shifted, _shift(k))


@function
def exp_of_nonpositive(k, x):
    """e^x for `x` that is not above zero."""
    bound = LIMITS[k.dtype][0]
    power, r = reduce_nonpositive(k, k.where(k.less(x, bound), bound, x))
    return scale_down(k, exponential(k, r), power)


def reduce_nonpositive(k, x, low=None):
    """A power of two for `scale_down` and `r` with x + low = n ln 2 + r, for `x` from the lower one of `LIMITS` to zero."""
    shift = SHIFT[k.dtype] + BIAS[k.dtype] + _ABOVE[k.dtype]
    shifted = k.fma(x, LOG2_E, shift)
    whole = k.subtract(shifted, shift)
    return k.from_bits(k.shift_left(k.bits(shifted), MANTISSA[k.dtype])), _less_powers(k, x, low, whole)


def scale_down(k, x, power):
    """`x` 2^n, of which `power` is made in one step, above all denormals; it comes down last."""
    return k.multiply(k.multiply(x, power), 2.0 ** -_ABOVE[k.dtype])


def exponential(k, r):
    """e^r for a reduced argument."""
    return k.fma(k.fma(k.polynomial(r, EXPONENTIAL[k.dtype]), r, 1), r, 1)


def exponential_less_one(k, r):
    """e^r - 1 for a reduced argument."""
    return k.fma(k.multiply(r, r), k.polynomial(r, EXPONENTIAL[k.dtype]), r)


def exponential_rest(k, r):
    """e^r - 1 - r for a reduced argument."""
    return k.multiply(k.multiply(r, r), k.polynomial(r, EXPONENTIAL[k.dtype]))


def exponential_to_limit(k, x):
    """e^x where 2^n stays a normal number: no overflow, no denormals."""
    n, r = reduce(k, x)
    power = power_of_two(k, n)
    return k.fma(exponential_less_one(k, r), power, power)


def power_of_two(k, n):
    """2^n for a normal exponent `n`."""
    return k.from_bits(k.shift_left(k.add(n, BIAS[k.dtype]), MANTISSA[k.dtype]))


def scale(k, x, n):
    """`x` times 2^n, in two steps, so that results overflow and become denormal with one rounding."""
    # Half of the doubly biased exponent, rounded down, stands in its place after a shift by one less and a mask.
    bits = MANTISSA[k.dtype]
    biased = k.add(n, 2 * BIAS[k.dtype])
    first = k.bitwise_and(k.shift_left(biased, bits - 1), -1 << bits)
    second = k.subtract(k.shift_left(biased, bits), first)
    return k.multiply(k.multiply(x, k.from_bits(first)), k.from_bits(second))
