"""The scaled complement of the error function and the inverses of error functions, on flat float64 arrays."""

import math

import numpy as np

from ._error_function import complement, error_function
from ._series import chebyshev, fill, polynomial, upper_half

_SLOPE = 2 / math.sqrt(math.pi)
#: (1 + 2x) e^(x^2) erfc(x) by Chebyshev's polynomials of (x - 4) / (x + 4) (Shepherd and Laframboise, 1981), in 60 digits.
_SCALED = (
    1.1774832005374487, -0.007260796620301901, -0.081265123236185, 0.06009212804122225, -0.02875393558027666,
    0.01059566336347286, -0.003136927294554264, 0.0007456494372536184, -0.0001369696503010054, 1.7183861600300937e-05,
    -7.158364623450346e-07, -2.4261399442449534e-07, 5.5765709395703566e-08, -2.1057869513809494e-09,
    -1.1717889351884957e-09, 1.9098355172456688e-10, 1.408871764208813e-11, -6.901108320480815e-12, 9.167958364111294e-14,
    2.1454508286554553e-13, -1.4716575027010623e-14, -6.668675118770408e-15, 7.504598509880083e-16, 2.22009300666632e-16,
    -3.1704898956330886e-17, -8.193570309884333e-18, 1.2459819733129574e-18, 3.3664022738726354e-19,
)
#: The inverse of the error function over x, in w = -log(1 - x^2): by w - 2.5 up to 5, by the root of w, less 3, beyond (Giles,
#: 2012), to 7 digits.
_START = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06, 3.43273939e-07,
    2.81022636e-08,
)
_START_FAR = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558,
    -0.000200214257,
)


def scaled_complement(x):
    """e^(x^2) erfc(x)."""
    result = np.full_like(x, np.nan)
    fill(result, x, x >= 0, _scaled_positive)
    fill(result, x, x < 0, lambda x: 2 * _exp_square(x) - _scaled_positive(-x))
    return result


def _scaled_positive(x):
    finite = np.minimum(x, 1e300)
    return chebyshev((finite - 4) / (finite + 4), _SCALED) / (1 + 2 * x)


def _exp_square(x):
    """e^(x^2), with what x^2 loses by rounding."""
    upper = upper_half(x)
    return np.exp(upper * upper) * np.exp((x - upper) * (x + upper))


def inverse_error_function(x):
    """The y with erf(y) = x; infinite at -1 and 1, NaN beyond."""
    result = np.full_like(x, np.nan)
    size = np.abs(x)
    fill(result, x, size <= 0.5, _central)
    fill(result, x, (size > 0.5) & (size <= 1), lambda x: np.copysign(_tail(1 - np.abs(x)), x))
    return result


def inverse_complement(p):
    """The y with erfc(y) = p; infinite at 0 and 2, NaN beyond."""
    result = np.full_like(p, np.nan)
    fill(result, p, (p >= 0) & (p < 0.5), _tail)
    fill(result, p, (p >= 0.5) & (p <= 1.5), lambda p: _central(1 - p))
    fill(result, p, (p > 1.5) & (p <= 2), lambda p: -_tail(2 - p))
    return result


def normal_quantile(p):
    """The y that a standard normal number is below with probability p."""
    return -math.sqrt(2) * inverse_complement(2 * p)


def _central(x):
    """By a step of Halley's method on erf(y) = x, from a polynomial that is right to 7 digits."""
    y = x * polynomial(-np.log1p(-x * x) - 2.5, _START)
    step = (error_function(y) - x) / (_SLOPE * np.exp(-y * y))
    return y - step / (1 + y * step)


def _tail(p):
    """By Halley's method on the logarithm of erfc(y) = p: one step from the polynomials, three from Winitzki's formula (2008)."""
    target = np.log(p)
    depth = -target - np.log(2 - p)
    y = np.full_like(p, np.inf)
    fill(y, depth, depth < 5, lambda w: np.sqrt(-np.expm1(-w)) * polynomial(w - 2.5, _START))
    fill(y, depth, (depth >= 5) & (depth < 14), lambda w: np.sqrt(-np.expm1(-w)) * polynomial(np.sqrt(w) - 3, _START_FAR))
    is_deep = (depth >= 14) & np.isfinite(depth)
    fill(y, depth, is_deep, _winitzki)
    y = _closer(y, target)
    if is_deep.any():
        y[is_deep] = _closer(_closer(y[is_deep], target[is_deep]), target[is_deep])
    return y


def _winitzki(depth):
    half = 2 / (math.pi * 0.147) - depth / 2
    return np.sqrt(np.sqrt(half * half + depth / 0.147) - half)


def _closer(y, target):
    """`y` after a step towards log erfc(y) = target."""
    scaled = _scaled_positive(y)
    slope = -_SLOPE / scaled
    step = (np.log(scaled) - y * y - target) / slope
    closer = y - step / (1 + 0.5 * step * (slope + 2 * y))
    return np.where(np.isfinite(y), closer, y)


def normal_distribution(x):
    """The probability that a standard normal number is below x."""
    result = np.full_like(x, np.nan)
    fill(result, x, x < -1, _lower_tail)
    fill(result, x, (x >= -1) & (x <= 1), lambda x: 0.5 * complement(x * -math.sqrt(0.5)))
    fill(result, x, x > 1, lambda x: 1 - _lower_tail(-x))
    return result


def log_normal_distribution(x):
    """The logarithm of that probability."""
    result = np.full_like(x, np.nan)
    fill(result, x, x < -1, lambda x: np.log(0.5 * _scaled_positive(x * -math.sqrt(0.5))) - 0.5 * x * x)
    fill(result, x, x >= -1, lambda x: np.log1p(-normal_distribution(-x)))
    return result


def _lower_tail(x):
    """The scaled complement loses nothing by the rounding of its argument; the square in the exponent is in two parts."""
    x = np.maximum(x, -1e3)
    upper = upper_half(x)
    tail = np.exp(-0.5 * upper * upper) * np.exp(-0.5 * (x - upper) * (x + upper))
    return 0.5 * _scaled_positive(x * -math.sqrt(0.5)) * tail
