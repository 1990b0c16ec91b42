"""sinh, cosh, tanh and their inverses.

sinh and cosh are from e^|x|, sinh near zero from a minimax polynomial (Remez exchange in 50 digits). tanh is that of a
reduced argument, another such polynomial, and its addition theorem. The inverses are logarithms of 1 + t with t free of
cancellation.
"""

import math

from .exponential import BIAS, LN2, LOG2_E, MANTISSA, SHIFT, exponential_less_one, power_of_two, reduce
from .logarithmic import log_of_one_plus
from .table import function

# (sinh(x) / x - 1) / x^2 for |x| <= 1.
_SINH = {
    "float32": (1.6666667e-01, 8.3333105e-03, 1.9842896e-04, 2.7822132e-06),
    "float64": (
        0.16666666666666666,
        0.008333333333333573,
        0.00019841269841061157,
        2.7557319310093437e-06,
        2.505208941162752e-08,
        1.6061339383145676e-10,
        7.50324629651447e-13,
        6.4759618877991105e-15,
    ),
}
# (tanh(r) / r - 1) / r^2 for |r| <= 0.2602.
_TANH = {
    "float32": (-3.3333215e-01, 1.3322698e-01, -5.1226312e-02),
    "float64": (
        -0.33333333333333326,
        0.13333333333329572,
        -0.05396825396208812,
        0.02186948804682139,
        -0.00886321401503404,
        0.0035915754532753005,
        -0.0014475619736037269,
        0.0005226424949513206,
    ),
}
_TANH_IS_ONE_FROM = 20.0
# (atanh(s) / s - 1) / s^2 for |s| <= 0.24.
_ARC_TANH = {
    "float32": (3.3333325e-01, 2.0001331e-01, 1.421686e-01, 1.2496076e-01),
    "float64": (
        0.3333333333333334,
        0.19999999999992998,
        0.14285714287457013,
        0.11111110902397739,
        0.09090923084849184,
        0.07691745364208635,
        0.0668047615947664,
        0.05680444230716147,
        0.06851690708689058,
    ),
}


@function
def sinh(k, x):
    """Hyperbolic sine."""
    magnitude = k.abs(x)
    square = k.multiply(x, x)
    small = k.fma(k.multiply(x, square), k.polynomial(square, _SINH[k.dtype]), x)
    half, inverse = _half_powers(k, magnitude)
    return k.where(k.less(magnitude, 1), small, k.copysign(k.subtract(half, inverse), x))


@function
def cosh(k, x):
    """Hyperbolic cosine."""
    return k.add(*_half_powers(k, k.abs(x)))


@function
def tanh(k, x):
    """Hyperbolic tangent."""
    # e^2|x| = 2^n e^2r. With u = tanh(r) the result is (2^n - 1 + u (2^n + 1)) / (2^n + 1 + u (2^n - 1)): u itself where n is 0.
    magnitude = k.abs(x)
    # Beyond the bound it is 1; NaN passes.
    power, r = _reduce_twice(k, k.where(k.less(_TANH_IS_ONE_FROM, magnitude), _TANH_IS_ONE_FROM, magnitude))
    square = k.multiply(r, r)
    u = k.fma(k.multiply(r, square), k.polynomial(square, _TANH[k.dtype]), r)
    numerator = k.fma(u, k.add(power, 1), k.subtract(power, 1))
    # The denominator as the numerator and what is missing of it: what rounding does to the former matters less then.
    return k.with_sign(k.divide(numerator, k.add(numerator, k.fma(u, -2, 2))), x)


def _reduce_twice(k, x):
    """2^n and r with 2x = n ln 2 + 2r, for `x` from 0 on, so that 2^n is a normal number.

    r is from -1/8 to 3/8 of ln 2: numbers are rounded to halves, and then down.
    """
    bits = MANTISSA[k.dtype]
    shift = SHIFT[k.dtype] / 2 + BIAS[k.dtype]
    halves = k.bitwise_and(k.bits(k.fma(x, 2 * LOG2_E, shift)), -2)
    whole = k.subtract(k.from_bits(halves), shift)
    r = k.fma(whole, -LN2[k.dtype][0] / 2, x)
    if k.dtype == "float64":
        r = k.fma(whole, -LN2[k.dtype][1] / 2, r)
    return k.from_bits(k.shift_left(halves, bits - 1)), r


@function
def asinh(k, x):
    """Inverse hyperbolic sine."""
    # asinh(x) = log1p(t), t = x + x^2 / (1 + sqrt(1 + x^2)).
    magnitude = k.abs(x)
    is_large, a = _bounded(k, magnitude)
    square = k.multiply(a, a)
    t = k.add(a, k.divide(square, k.add(k.sqrt(k.add(square, 1)), 1)))
    result = _log_of_one_plus(k, is_large, magnitude, t)
    is_tiny = k.less(magnitude, 2.0**-12 if k.dtype == "float32" else 2.0**-28)
    return k.where(is_tiny, x, k.copysign(result, x))


@function
def acosh(k, x):
    """Inverse hyperbolic cosine, not negative; NaN below 1."""
    # acosh(x) = log1p(t), t = u + sqrt(2 u + u^2), u = x - 1.
    is_large, a = _bounded(k, x)
    u = k.subtract(a, 1)
    t = k.add(u, k.sqrt(k.fma(u, u, k.add(u, u))))
    return k.where(k.less(x, 1), k.constant_like(math.nan, x), _log_of_one_plus(k, is_large, x, t))


@function
def atanh(k, x):
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond."""
    # (1 + x) / (1 - x) = 2^n (1 + s) / (1 - s): the logarithm is n ln 2 + 2 atanh(s), and s is x itself near zero.
    a = k.abs(x)
    above, below = k.bits(k.add(a, 1)), k.bits(k.subtract(1, a))
    # A little less than one half, so that the first step to n = 1 is late, where there is less to cancel.
    almost_half = (1 << MANTISSA[k.dtype]) * 2 // 5
    n = k.shift_right_unsigned(k.add(k.subtract(above, below), almost_half), MANTISSA[k.dtype])
    power = power_of_two(k, n)
    above, below = k.add(power, 1), k.subtract(1, power)
    # Below 1/2 the power is so small that 1 + power is exact; above, 1 - a is.
    near = (k.fma(a, above, below), k.fma(a, below, above))
    rest, sum_ = k.subtract(1, a), k.add(a, 1)
    far = (k.fma(k.negative(power), rest, sum_), k.fma(power, rest, sum_))
    quotient = k.divide(*(k.where(k.less(a, 0.5), x, y) for x, y in zip(near, far, strict=True)))
    s = k.where(k.equal(n, 0), a, quotient)
    square = k.multiply(s, s)
    series = k.fma(k.multiply(s, square), k.polynomial(square, _ARC_TANH[k.dtype]), s)
    result = k.fma(_small_integer(k, n), LN2[k.dtype][0] / 2, series)
    special = k.where(k.equal(a, 1), math.inf, k.constant_like(math.nan, a))
    return k.copysign(k.where(k.less(a, 1), result, special), x)


def _small_integer(k, n):
    if k.dtype == "float32":
        return k.convert(n, "float32")
    return k.subtract(k.from_bits(k.bitwise_or(n, 0x4330000000000000)), 2.0**52)


def _half_powers(k, magnitude):
    """e^x / 2 and e^-x / 2, where the first overflows only if it must."""
    # A quarter of the bound is still finite, and twice that is not; NaN passes.
    bound = 89.7 if k.dtype == "float32" else 710.7
    magnitude = k.where(k.less(bound, magnitude), bound, magnitude)
    n, r = reduce(k, magnitude)
    power = power_of_two(k, k.subtract(n, 2))
    quarter = k.fma(exponential_less_one(k, r), power, power)
    return k.add(quarter, quarter), k.divide(0.125, quarter)


def _bounded(k, x):
    """Whether `x` is so large that 1 + x is lost in 2 x, and `x` with such values replaced."""
    is_large = k.greater(x, 2.0**30 if k.dtype == "float32" else 2.0**60)
    return is_large, k.where(is_large, 1, x)


def _log_of_one_plus(k, is_large, x, t):
    """log1p(t), or log(2 x) where `x` is large."""
    result = log_of_one_plus(k, k.where(is_large, x, t))
    result = k.add(result, k.where(is_large, k.constant_like(math.log(2), x), 0))
    return k.where(k.less(x, math.inf), result, x)
