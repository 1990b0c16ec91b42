"""The logarithm of the gamma function and its derivative, in float64, from the constants of the kernels for NumPy.

From 10 up these are Stirling's series; below, the recurrence leads to an interval of length 1, in one product and with one
logarithm or division, and negative arguments are reflected. float32 is computed in float64.
"""

import math

from numpy.polynomial.chebyshev import cheb2poly

from ......ops.special import _log_gamma as constants
from .logarithmic import split_normal
from .table import function

#: So many steps lead from 10 down to the interval.
_STEPS = 8
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_NEAR_ROOT = tuple(cheb2poly(constants.NEAR_ROOT).tolist())
#: Below this the gamma function is 1 / x.
_TINY = 1e-17


@function
def lgamma(k, x):
    """The logarithm of the absolute value of gamma; infinite at 0, at the negative integers and at both infinities."""
    if k.dtype == "float32":
        return in_double(k, x, "lgamma")
    size = k.abs(x)
    found = _log_gamma(k, size)
    is_reflected = k.logical_and(k.less(x, 0), k.less(_TINY, size))

    def reflected():
        above = k.divide(k.divide(math.pi, k.abs(k.sin(k.multiply(math.pi, _part(k, x))))), size)
        of_negative = k.where(k.isinf(x), size, k.subtract(k.log(above), found))
        return [k.where(is_reflected, of_negative, found)]

    return k.rarely(is_reflected, (found,), reflected)[0]


def _log_gamma(k, x):
    """For x of at least 0."""
    is_large, steps = k.less_equal(constants.LARGE, x), k.maximum(k.floor(k.subtract(x, 1.5)), 0)
    y = k.subtract(x, k.minimum(steps, _STEPS))
    product, factor = k.constant(1), y
    for i in range(_STEPS):
        product = k.where(k.less(i, steps), k.multiply(product, factor), product)
        factor = k.add(factor, 1)
    # Where x was less than 1.5 the way up to the interval leads through log1p, which is precise near the zero at 1.
    is_lower, is_lowest = k.less(y, 1.5), k.less(y, 0.5)
    t = k.subtract(y, k.where(is_lowest, 0, k.where(is_lower, 1, 2)))
    t = k.where(is_large, 0, t)
    logarithm = k.log(k.where(is_large, x, k.where(is_lowest, y, product)))
    rest = k.subtract(k.multiply(t, k.polynomial(t, constants.NEAR_TWO)), k.where(is_lower, k.log1p(t), 0))
    below = k.add(rest, k.where(is_lowest, k.negative(logarithm), logarithm))
    inverse = k.divide(1, x)
    series = k.multiply(k.polynomial(k.multiply(inverse, inverse), constants.STIRLING), inverse)
    above = k.add(k.multiply(k.subtract(x, 0.5), k.subtract(logarithm, 1)), k.add(_LOG_ROOT_TWO_PI - 0.5, series))
    return k.where(is_large, above, below)


@function
def digamma(k, x):
    """The derivative of `lgamma`; NaN at the negative integers, minus and plus infinity at 0 and -0."""
    if k.dtype == "float32":
        return in_double(k, x, "digamma")
    found = _digamma(k, x)

    def reflected():
        turned = k.where(k.equal(x, k.floor(x)), math.nan, _digamma_reflected(k, x))
        return [k.where(k.less(x, 0), turned, k.where(k.equal(x, 0), k.negative(k.copysign(math.inf, x)), found))]

    return k.rarely(k.less_equal(x, 0), (found,), reflected)[0]


def _digamma_reflected(k, x):
    """digamma(1 - x) - pi cot(pi x), each in two parts, since they may cancel."""
    above, r = k.subtract(1, x), _part(k, x)
    lost = k.subtract(k.subtract(1, above), x)
    is_large = k.less_equal(constants.LARGE, above)
    (large, rest_of_large), (small, rest_of_small) = _parts_of_large(k, above), _parts_below(k, above)
    whole, rest = k.where(is_large, large, small), k.where(is_large, rest_of_large, rest_of_small)
    pole, square = k.divide(1, r), k.multiply(r, r)
    rest = k.subtract(rest, k.where(k.less(k.abs(pole), 2.0**20), k.multiply(k.fma(k.negative(r), pole, 1), pole), 0))
    total = k.subtract(whole, pole)
    rest = k.add(rest, _lost_by_sum(k, whole, k.negative(pole), total))
    slope = k.add(k.divide(1, k.subtract(1, square)), k.polynomial(square, constants.COTANGENT))
    rest = k.fma(k.multiply(2, r), slope, rest)
    inverse = k.divide(1, above)
    found = k.add(total, k.fma(k.multiply(lost, inverse), k.fma(0.5, inverse, 1), rest))
    # Beside a pole that does not fit, the parts do not matter, and are NaN.
    return k.where(k.equal(k.abs(pole), math.inf), k.negative(pole), found)


def _lost_by_sum(k, x, y, total):
    """What rounding has taken from a sum (Knuth)."""
    of_y = k.subtract(total, x)
    return k.add(k.subtract(x, k.subtract(total, of_y)), k.subtract(y, of_y))


def _parts_of_large(k, x):
    n, f = split_normal(k, k.maximum(x, 1))
    inverse = k.divide(1, x)
    square = k.multiply(inverse, inverse)
    series = k.fma(square, k.polynomial(square, constants.HARMONIC), k.multiply(0.5, inverse))
    return k.multiply(n, constants.LOG_TWO[0]), k.add(k.log1p(f), k.fma(n, constants.LOG_TWO[1], k.negative(series)))


def _parts_below(k, x):
    """For x of at least 1."""
    steps = k.maximum(k.ceil(k.subtract(x, 2)), 0)
    y = k.subtract(x, k.minimum(steps, _STEPS))
    total, rest, place = k.constant(0), k.constant(0), y
    for i in range(_STEPS):
        term = k.where(k.less(i, steps), k.divide(1, place), 0)
        before, total = total, k.add(total, term)
        rest = k.add(rest, _lost_by_sum(k, before, term, total))
        place = k.add(place, 1)
    from_root = k.subtract(k.subtract(y, constants.ROOT[0]), constants.ROOT[1])
    return total, k.fma(from_root, k.polynomial(k.fma(y, 2, -3), _NEAR_ROOT), rest)


def _digamma(k, x):
    """For positive x."""
    is_large, steps = k.less_equal(constants.LARGE, x), k.maximum(k.ceil(k.subtract(x, 2)), 0)
    y = k.subtract(x, k.minimum(steps, _STEPS))
    above, below, term = k.constant(0), k.constant(1), y
    for i in range(_STEPS):  # 1 / y + 1 / (y + 1) + ..., as one fraction
        is_wanted = k.less(i, steps)
        above, below = (k.where(is_wanted, k.fma(above, term, below), above), k.where(is_wanted, k.multiply(below, term), below))
        term = k.add(term, 1)
    is_low = k.less(y, 1)
    fraction = k.divide(k.where(is_low, -1, above), k.where(is_low, y, below))
    y = k.where(is_large, 1.5, k.where(is_low, k.add(y, 1), y))
    near = k.polynomial(k.fma(y, 2, -3), _NEAR_ROOT)
    small = k.fma(k.subtract(k.subtract(y, constants.ROOT[0]), constants.ROOT[1]), near, fraction)
    inverse = k.divide(1, x)
    square = k.multiply(inverse, inverse)
    series = k.fma(square, k.polynomial(square, constants.HARMONIC), k.multiply(0.5, inverse))
    return k.where(is_large, k.subtract(k.log(x), series), small)


def _part(k, x):
    """`x` less the nearest integer."""
    return k.subtract(x, k.round(x))


def in_double(k, x, name):
    """What the function `name` gives for float32 `x`, computed in float64."""
    wide = getattr(k.with_dtype("float64"), name)(k.convert(x, "float64"))
    return k.convert(wide, "float32")
