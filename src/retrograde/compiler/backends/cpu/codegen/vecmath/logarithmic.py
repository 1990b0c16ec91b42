"""log, log2, log10, log1p, logaddexp, and the parts of a logarithm that other functions are made of.

x = 2^n m, and f = m - 1 is exact.
float32: m between 2/3 and 4/3, and a minimax polynomial in f (by linear programming).
float64: m between sqrt(1/2) and sqrt(2); with s = f / (2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), as in FDLIBM
(Sun Microsystems, 1993).
"""

import math

from .exponential import BIAS, LN2, MANTISSA, exp_of_nonpositive
from .table import call_cold, function

SMALLEST_NORMAL = {"float32": 2.0**-126, "float64": 2.0**-1022}
# The bits of the lower end of m's interval; subtracting them makes the exponent field n.
_LOWEST = {"float32": 0x3F2AAAAB, "float64": 0x3FE6A09E667F3BCD}
# (log(1 + f) - f) / f^2 for m in [2/3, 4/3].
_SERIES = (
    -0.5,
    3.3333215e-01,
    -2.4999806e-01,
    2.0010427e-01,
    -1.6680196e-01,
    1.4005734e-01,
    -1.2187479e-01,
    1.3984594e-01,
    -1.2880042e-01,
)
# (log((1 + s) / (1 - s)) / s - 2) / s^2 for s^2 up to 0.02945.
_SYMMETRIC_SERIES = (
    0.6666666666666734,
    0.3999999999941656,
    0.28571428742061283,
    0.22222198600508392,
    0.18183563136069641,
    0.15314076487348446,
    0.14795726552635652,
)
# For each base: 1 / ln(base) and ln 2 / ln(base), each as a leading and a trailing part.
_BASE_2 = {
    "float32": ((1.4426950216293335, 1.925963033500011e-08), (1.0, 0.0)),
    "float64": ((1.4426950408889634, 2.0355273740931033e-17), (1.0, 0.0)),
}
_BASE_10 = {
    "float32": ((0.4342944920063019, -1.0103049952192578e-08), (0.301025390625, 4.605039066518657e-06)),
    "float64": ((0.4342944819032518, 1.098319650216765e-17), (0.3010299956640665, -8.532344317057107e-14)),
}


@function
def log(k, x):
    """Natural logarithm."""
    return _with_edges(k, "log", _natural, x)


@function
def log2(k, x):
    """Logarithm to base 2."""
    return _with_edges(k, "log2", _binary, x)


@function
def log10(k, x):
    """Logarithm to base 10."""
    return _with_edges(k, "log10", _decimal, x)


@function
def log1p(k, x):
    """Natural logarithm of 1 + `x`, without cancellation near zero."""
    total, above = log_of_one_plus(k, x), k.add(x, 1)
    # It is never above x. Where the two are equal, x has the right sign of zero.
    total = k.where(k.less(total, x), total, x)
    return k.rarely(k.logical_not(is_positive(k, above)), (total,), lambda: [_mend_domain(k, above, total)])[0]


@function
def log1p_of_nonnegative(k, x):
    """`log1p` for `x` that is not below zero."""
    total = log_of_one_plus(k, x)
    # As above. Infinity and NaN pass.
    return k.where(k.less(x, math.inf), k.where(k.less(total, x), total, x), x)


@function
def logaddexp(k, x, y):
    """Logarithm of e^x + e^y; where the two cancel to almost zero, the absolute error is that of `x`."""
    larger = k.maximum(x, y)
    distance = k.negative(k.abs(k.subtract(x, y)))
    total = k.add(larger, log1p_of_exp(k, distance))
    # Equal infinities have no difference; any other NaN was in an operand.
    return k.where(k.equal(x, y), k.add(x, math.log(2)), total)


def log1p_of_exp(k, x):
    """log(1 + e^x) for x <= 0, down to denormal results."""
    power = exp_of_nonpositive(k, x)
    return log_of_one_plus(k, power)


def split(k, x):
    """`n` and `f`, both floats, with x = 2^n (1 + f), for positive finite `x`, denormals included."""
    is_denormal = k.less(x, SMALLEST_NORMAL[k.dtype])
    # A power of two that makes any denormal normal.
    lift = MANTISSA[k.dtype] + 1
    n, f = split_normal(k, k.where(is_denormal, k.multiply(x, 2.0**lift), x))
    return k.subtract(n, k.where(is_denormal, k.constant_like(float(lift), x), 0)), f


def split_normal(k, x):
    """As `split`, for normal numbers."""
    offset = k.subtract(k.bits(x), _LOWEST[k.dtype])
    rest = k.add(k.bitwise_and(offset, (1 << MANTISSA[k.dtype]) - 1), _LOWEST[k.dtype])
    return _exponent(k, offset), k.subtract(k.from_bits(rest), 1)


def _exponent(k, offset):
    if k.dtype == "float32":
        return k.convert(k.shift_right(offset, MANTISSA[k.dtype]), "float32")
    # Without a vector conversion from int64: put the biased exponent into the low bits of 2^52, then take 2^52 away.
    biased = k.shift_right_unsigned(k.add(offset, 1 << 62), 52)
    whole = k.from_bits(k.bitwise_or(biased, 0x4330000000000000))
    return k.subtract(whole, 2.0**52 + 1024)


def log_of_one_plus(k, x):
    """log(1 + x) for finite `x` above -1; all digits of a small `x` count."""
    # 1 + x = 2^n (1 + f), f = 2^-n x + (2^-n - 1), and n is 0 for `x` whose exponent is too small.
    bits = MANTISSA[k.dtype]
    offset = k.subtract(k.bits(k.add(x, 1)), _LOWEST[k.dtype])
    power = k.bitwise_and(offset, -1 << bits)
    four_times = k.from_bits(k.subtract((BIAS[k.dtype] + 2) << bits, power))
    f = k.add(k.from_bits(k.subtract(k.bits(x), power)), k.fma(four_times, 0.25, -1))
    return _natural(k, _exponent(k, offset), f)


def _parts(k, f):
    """log(1 + f) as `f` and the rest."""
    if k.dtype == "float32":
        return f, k.multiply(k.multiply(f, f), _series(k, f))
    half_square = k.multiply(k.multiply(f, f), 0.5)
    s = k.divide(f, k.add(f, 2))
    square = k.multiply(s, s)
    rest = k.multiply(square, k.polynomial(square, _SYMMETRIC_SERIES))
    return f, k.subtract(k.multiply(s, k.add(half_square, rest)), half_square)


def _series(k, f):
    # Its first step is apart, so that Estrin's scheme has a round number of terms.
    first, *others = _SERIES
    return k.fma(f, k.polynomial(f, others), first)


def _with_edges(k, name, logarithm, x):
    """The logarithm of `x`; denormals and what has no finite logarithm are left to a function out of line."""

    def mend(k, x):
        return _mend_domain(k, x, logarithm(k, *split(k, x)))

    usual = logarithm(k, *split_normal(k, x))
    rare = k.logical_not(is_positive(k, x, SMALLEST_NORMAL[k.dtype]))
    return k.rarely(rare, (usual,), lambda: [call_cold(k, f"{name}_edges", mend, (x,), [x.type])])[0]


def _natural(k, n, f):
    n_high, n_low = LN2[k.dtype]
    if k.dtype == "float32":
        # The fused step rounds once, and n is so small that the trailing part of ln 2 does not count.
        return k.fma(n, n_high, k.fma(k.multiply(f, f), _series(k, f), f))
    high, low = _parts(k, f)
    return k.fma(n, n_high, k.add(high, k.fma(n, n_low, low)))


def _binary(k, n, f):
    return _log_to_base(k, n, f, *_BASE_2[k.dtype])


def _decimal(k, n, f):
    return _log_to_base(k, n, f, *_BASE_10[k.dtype])


def _log_to_base(k, n, f, inverse, log_of_two):
    high, low = _parts(k, f)
    # `high + low` again with a high part that holds all leading digits, so that the product below loses none.
    total = k.add(high, low)
    low = k.add(k.subtract(high, total), low)
    product = k.multiply(total, inverse[0])
    error = k.fma(total, inverse[0], k.negative(product))
    error = k.fma(total, inverse[1], k.fma(low, inverse[0], error))
    main = k.fma(n, log_of_two[0], product)
    lost = k.add(k.fma(n, log_of_two[0], k.negative(main)), product)
    return k.add(main, k.add(k.fma(n, log_of_two[1], error), lost))


def _mend_domain(k, x, result):
    # Infinity and NaN pass; zero gives -inf, and what is below zero NaN.
    special = k.where(k.equal(x, 0), -math.inf, k.where(k.less(x, 0), k.constant_like(math.nan, x), x))
    return k.where(is_positive(k, x), result, special)


def is_positive(k, x, lowest=5e-324):
    """Mask of finite numbers of at least `lowest`, which is above zero.

    Compared as integers: of the comparison of floats with zero and infinity LLVM would make a dozen instructions.
    """
    bits, infinite = k.bits(x), k.bits(k.constant_like(math.inf, x))
    least = 0 if lowest < SMALLEST_NORMAL[k.dtype] else k.subtract(k.bits(k.constant_like(lowest, x)), 1)
    return k.logical_and(k.greater(bits, least), k.less(bits, infinite))
