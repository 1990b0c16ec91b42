"""Functions of complex numbers in real ones, as ops on their parts."""

from math import log

import numpy as np

from ...ops.elementary.arithmetic import abs as magnitude
from ...ops.elementary.arithmetic import sqrt
from ...ops.elementary.bits import copysign
from ...ops.elementary.comparisons import clip, isfinite, isinf, isnan, logical_and, logical_not, logical_or, where
from ...ops.elementary.exponential import exp, expm1, log1p
from ...ops.elementary.exponential import log as logarithm
from ...ops.elementary.hyperbolic import cosh, sinh
from ...ops.elementary.trigonometric import atan2, cos, hypot, sin
from .complex_parts import Parts, divided, is_zero, minus, multiplied, plus, scaled, times

#: Whole powers up to this one are products.
_MOST_PRODUCTS = 64
#: Beyond this the hyperbolic tangent is 1 to rounding, in any precision.
_FLAT = 22


def _magnitude(x):
    return magnitude(x.real) if is_zero(x.imag) else magnitude(x.imag) if is_zero(x.real) else hypot(x.real, x.imag)


def _sign(x):
    length = _magnitude(x)
    length = where(length == 0, 1, length)
    return Parts(0 if is_zero(x.real) else x.real / length, 0 if is_zero(x.imag) else x.imag / length)


def _sqrt(x):
    """Kahan's (1987): no part is a difference."""
    half = sqrt(hypot(x.real * 0.5, times(x.imag, 0.5)) + magnitude(x.real) * 0.5)
    other = where(logical_or(half == 0, isinf(x.imag)), x.imag, x.imag / (2 * half))
    is_right = x.real >= 0
    return Parts(where(is_right, half, magnitude(other)), where(is_right, other, copysign(half, x.imag)))


def _exp(x):
    length = exp(x.real) if not is_zero(x.real) else 1
    if is_zero(x.imag):
        return Parts(length, 0)
    return Parts(times(length, cos(x.imag)), _along(length, x.imag))


def _along(length, angle):
    """`length` times the sine of `angle`: where that is zero, so is the result, however large the length."""
    return where(angle == 0, angle, times(length, sin(angle)))


def _expm1(x):
    if is_zero(x.imag):
        return Parts(expm1(x.real), 0)
    # cos - 1 as twice the square of a sine: near 0 the difference would lose all digits.
    half = sin(x.imag * 0.5)
    return Parts(expm1(x.real) * cos(x.imag) - 2 * half * half, _along(exp(x.real), x.imag))


def _log(x):
    """Near 1 the logarithm of the length is found from its difference to 1, which loses nothing."""
    large, small = magnitude(x.real), magnitude(x.imag)
    large, small = where(large > small, large, small), where(large > small, small, large)
    length = hypot(large, small)
    is_near = logical_and(length > 0.5, length < 2)
    near = log1p((large - 1) * (large + 1) + small * small) * 0.5
    return Parts(where(is_near, near, logarithm(length)), atan2(x.imag, x.real))


def _tanh(x):
    real = clip(x.real, -_FLAT, _FLAT)
    # Clipped, since the square of a large sine would be infinite where the quotient is 1.
    s, c = sinh(real), cos(x.imag)
    below = s * s + c * c
    return Parts(s * cosh(real) / below, sin(x.imag) * c / below)


def _rotated(x):
    """`x` times i."""
    return Parts(minus(0, x.imag), x.real)


def _rotated_back(x):
    return Parts(x.imag, minus(0, x.real))


def _sinh(x):
    return Parts(sinh(x.real) * cos(x.imag), _along(cosh(x.real), x.imag))


def _cosh(x):
    return Parts(cosh(x.real) * cos(x.imag), where(x.imag == 0, x.imag * copysign(1, x.real), sinh(x.real) * sin(x.imag)))


def _power(x, y):
    if _is_whole(y):
        found = _whole_power(x, abs(int(y.real)))
        return found if y.real >= 0 else divided(Parts(1.0, 0), found)
    # The logarithm of 0 is infinite, and times a power with an imaginary part NaN: 0 is a case of its own.
    is_origin = _all_hold(_is_nothing, x)
    found = _exp(multiplied(_log(Parts(where(is_origin, 1, x.real), x.imag)), y))
    return Parts(where(is_origin, _power_of_origin(y), found.real), where(is_origin, 0, found.imag))


def _power_of_origin(y):
    if _is_number(y):
        return 0 if y.real > 0 else np.nan
    return where(_all_hold(_is_nothing, y), 1, where(y.real > 0, 0, np.nan))


def _is_number(x):
    return all([part.__class__ in (int, float) for part in x])


def _is_whole(y):
    return _is_number(y) and is_zero(y.imag) and abs(y.real) <= _MOST_PRODUCTS and int(y.real) == y.real


def _whole_power(x, n):
    found = Parts(1.0, 0)
    while n:
        found = multiplied(found, x) if n % 2 else found
        x, n = multiplied(x, x) if n > 1 else x, n // 2
    return found


def _all_hold(test, x):
    return test(x.real) if is_zero(x.imag) else logical_and(test(x.real), test(x.imag))


def one_holds(test, x):
    """Whether a test holds for one part at least."""
    return test(x.real) if is_zero(x.imag) else logical_or(test(x.real), test(x.imag))


def is_other(part):
    """Whether a part is not zero."""
    return part != 0


def _is_nothing(part):
    return part == 0


def _equal(x, y):
    return logical_and(x.real == y.real, x.imag == y.imag)


#: What each op makes of the parts of its operands: `Parts`, or a value where it is real.
FUNCTIONS = {
    "complex": lambda x, y: Parts(x.real, y.real),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "conj": lambda x: Parts(x.real, minus(0, x.imag)),
    "add": lambda x, y: Parts(plus(x.real, y.real), plus(x.imag, y.imag)),
    "subtract": lambda x, y: Parts(minus(x.real, y.real), minus(x.imag, y.imag)),
    "multiply": multiplied,
    "divide": divided,
    "reciprocal": lambda x: divided(Parts(1.0, 0), x),
    "square": lambda x: multiplied(x, x),
    "sqrt": _sqrt,
    "power": _power,
    "abs": _magnitude,
    "sign": _sign,
    "exp": _exp,
    "exp2": lambda x: _exp(scaled(x, log(2))),
    "expm1": _expm1,
    "log": _log,
    "log2": lambda x: scaled(_log(x), 1 / log(2)),
    "log10": lambda x: scaled(_log(x), 1 / log(10)),
    "log1p": lambda x: _log(Parts(x.real + 1, x.imag)),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "sin": lambda x: _rotated_back(_sinh(_rotated(x))),
    "cos": lambda x: _cosh(_rotated(x)),
    "tan": lambda x: _rotated_back(_tanh(_rotated(x))),
    "equal": _equal,
    "not_equal": lambda x, y: logical_not(_equal(x, y)),
    "isnan": lambda x: one_holds(isnan, x),
    "isinf": lambda x: one_holds(isinf, x),
    "isfinite": lambda x: _all_hold(isfinite, x),
    "logical_not": lambda x: logical_not(one_holds(is_other, x)),
}
