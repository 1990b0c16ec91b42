"""power, hypot, cbrt, rsqrt and reciprocal.

x^y = e^(y log x), where the logarithm needs some ten bits more than the result: float32 computes in float64, and
float64 carries the leading terms of log x = 2 atanh(s), s = (m - 1) / (m + 1), in pairs of numbers (Dekker, A
floating-point technique for extending the available precision, 1971).
"""

import math

from .exponential import LIMITS, SHIFT, exponential_less_one, power_of_two, reduce, round_to_integer, scale
from .logarithmic import is_positive, split, split_normal
from .table import function

# log2((1 + s) / (1 - s)) / s in s^2, and (2^r - 1) / r for |r| <= 1/2; enough for float32.
_SHORT_LOGARITHM = (2.885390081790155, 0.9617966732737953, 0.5770835962499202, 0.41167211068291665, 0.34074039201193895)
_SHORT_POWER = (
    0.6931472062557404,
    0.2402265134591796,
    0.055503277861823457,
    0.009618003909752006,
    0.0013400269861845726,
    0.00015476292010588164,
)
# ((2 atanh(s) / s - 2) / s^2 - 2/3) / s^2 in s^2.
_LONG_LOGARITHM = (
    0.4,
    0.2857142857142156,
    0.22222222225824664,
    0.1818181749715954,
    0.15384675451557803,
    0.13330829251618978,
    0.11803745872616529,
    0.10782513699689616,
)
_TWO_THIRDS = (2 / 3, 3.700743415417188e-17)
# The leading part has zeros at its end, so that its product with an exponent is exact.
_LN2 = (0.693147180559663, 2.8235290563031577e-13)
# The cube root from 0.35 to 2.83, to 0.2 %.
_CUBE_ROOT = (0.44356493885361215, 0.8983848014802716, -0.47389979953814126, 0.15333920587964428, -0.0195543118545584)


@function
def power(k, x, y):
    """`x` to the power `y`, with the special cases of IEEE 754 `pow`; negative `x` needs a whole `y`."""
    magnitude = k.abs(x)
    result = _POWER_FOR[k.dtype](k, magnitude, y)
    # 1 to an infinite power.
    result = k.where(k.logical_and(k.equal(magnitude, 1), k.logical_not(k.isnan(y))), 1, result)
    half = k.multiply(y, 0.5)
    is_whole = k.equal(k.trunc(y), y)
    is_odd = k.logical_and(is_whole, k.not_equal(k.trunc(half), half))
    result = k.where(is_odd, k.copysign(result, x), result)
    is_negative = k.logical_and(k.less(x, 0), k.greater(x, -math.inf))
    result = k.where(k.logical_and(is_negative, k.logical_not(is_whole)), k.constant_like(math.nan, x), result)
    return k.where(k.logical_or(k.equal(x, 1), k.equal(y, 0)), 1, result)


@function
def hypot(k, x, y):
    """Length of the vector (`x`, `y`), without overflow on the way; infinite if either is."""
    x, y = k.abs(x), k.abs(y)
    larger = k.where(k.greater(x, y), x, y)
    high, low, step = (2.0**60, 2.0**-40, 100) if k.dtype == "float32" else (2.0**500, 2.0**-400, 600)
    is_high, is_low = k.greater(larger, high), k.less(larger, low)
    factor = k.where(is_high, 2.0**-step, k.where(is_low, k.constant_like(2.0**step, x), 1))
    inverse = k.where(is_high, 2.0**step, k.where(is_low, k.constant_like(2.0**-step, x), 1))
    x, y = k.multiply(x, factor), k.multiply(y, factor)
    length = k.multiply(k.sqrt(k.fma(x, x, k.multiply(y, y))), inverse)
    is_infinite = k.logical_or(k.equal(x, math.inf), k.equal(y, math.inf))
    return k.where(is_infinite, k.constant_like(math.inf, x), length)


@function
def cbrt(k, x):
    """Cube root, with the sign of `x`."""
    magnitude = k.abs(x)
    n, f = split(k, magnitude)
    third = k.round(k.multiply(n, 1 / 3))
    rest = power_of_two(k, _integer(k, k.fma(third, -3, n)))
    m = k.multiply(k.add(f, 1), rest)
    root = k.polynomial(m, _CUBE_ROOT)
    for _ in range(1 if k.dtype == "float32" else 2):
        root = _halley(k, root, m)
    result = k.multiply(root, power_of_two(k, _integer(k, third)))
    return k.where(is_positive(k, magnitude), k.copysign(result, x), x)


@function
def rsqrt(k, x):
    """One over the square root."""
    return k.divide(1, k.sqrt(x))


@function
def reciprocal(k, x):
    """One over `x`."""
    return k.divide(1, x)


def _halley(k, root, m):
    """One step of Halley's iteration for the cube root of `m`; triples the number of right digits."""
    square = k.multiply(root, root)
    cube = k.multiply(square, root)
    # The remainder m - root^3 in one rounding: what both products lost is given back.
    lost = k.fma(k.fma(root, root, k.negative(square)), root, k.fma(square, root, k.negative(cube)))
    remainder = k.subtract(k.subtract(m, cube), lost)
    return k.fma(root, k.divide(remainder, k.add(k.add(cube, cube), m)), root)


def _integer(k, whole):
    shifted = k.bits(k.add(whole, SHIFT[k.dtype]))
    return k.subtract(shifted, k.bits(k.constant_like(SHIFT[k.dtype], whole)))


def _power_single(k, x, y):
    wide = k.with_dtype("float64")
    x, y = k.convert(x, "float64"), k.convert(y, "float64")
    n, f = split_normal(wide, x)
    s = k.divide(f, k.add(f, 2))
    logarithm = k.fma(s, k.polynomial(k.multiply(s, s), _SHORT_LOGARITHM), n)
    exponent = k.clip(k.multiply(y, _mend_ends(k, x, logarithm)), -160.0, 135.0)
    n, whole = round_to_integer(wide, exponent)
    r = k.subtract(exponent, whole)
    value = k.fma(r, k.polynomial(r, _SHORT_POWER), 1)
    return k.convert(k.multiply(value, power_of_two(wide, n)), "float32")


def _power_double(k, x, y):
    high, low = _long_logarithm(k, x)
    high = _mend_ends(k, x, high)
    product = k.multiply(y, high)
    rest = k.fma(y, low, k.fma(y, high, k.negative(product)))
    # Beyond the range of results, and for infinity, the rest would be noise or NaN.
    rest = k.where(k.less(k.abs(product), 800.0), rest, 0)
    n, r = reduce(k, k.clip(product, *LIMITS["float64"]), rest)
    return scale(k, k.add(exponential_less_one(k, r), 1), n)


_POWER_FOR = {"float32": _power_single, "float64": _power_double}


def _mend_ends(k, x, logarithm):
    return k.where(k.equal(x, 0), -math.inf, k.where(k.less(x, math.inf), logarithm, x))


def _long_logarithm(k, x):
    """log(x) as a sum of two numbers, good to some 65 bits."""
    n, f = split(k, x)
    s, s_low = _long_ratio(k, f)
    z = k.multiply(s, s)
    z_low = k.fma(k.add(s, s), s_low, k.fma(s, s, k.negative(z)))
    cube = k.multiply(z, s)
    cube_low = k.fma(z, s_low, k.fma(z_low, s, k.fma(z, s, k.negative(cube))))
    term = k.multiply(cube, _TWO_THIRDS[0])
    term_low = k.fma(cube, _TWO_THIRDS[0], k.negative(term))
    term_low = k.fma(cube_low, _TWO_THIRDS[0], k.fma(cube, _TWO_THIRDS[1], term_low))
    rest = k.fma(k.multiply(cube, z), k.polynomial(z, _LONG_LOGARITHM), k.fma(n, _LN2[1], term_low))
    first, lost = _sum(k, k.multiply(n, _LN2[0]), k.add(s, s))
    second, lost_again = _sum(k, first, term)
    low = k.add(k.add(lost, lost_again), k.fma(s_low, 2, rest))
    return _sum(k, second, low)


def _long_ratio(k, f):
    """The ratio `f` / (2 + `f`) as a sum of two numbers."""
    below = k.add(f, 2)
    below_low = k.subtract(f, k.subtract(below, 2))
    inverse = k.divide(1, below)
    ratio = k.multiply(f, inverse)
    remainder = k.fma(k.negative(ratio), below_low, k.fma(k.negative(ratio), below, f))
    return ratio, k.multiply(remainder, inverse)


def _sum(k, larger, smaller):
    """The sum and what rounding lost; the larger may also be zero."""
    total = k.add(larger, smaller)
    return total, k.add(k.subtract(larger, total), smaller)
