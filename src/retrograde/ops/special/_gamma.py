"""The gamma function and its inverse value, on flat float64 arrays.

Whole numbers come from a table of factorials. From 33 on it is Stirling's formula: powers of the argument itself, which is exact.
Below, it is a product of the argument's way down to [1.5, 2.5), where the logarithm is small, and so its exponential precise.
Negative arguments are reflected.
"""

import math

import numpy as np

from ._log_gamma import NEAR_TWO, STIRLING, sine
from ._series import fill, polynomial

_LARGE = 33.0
#: Beyond, the function is infinite and its inverse value nothing.
_GREATEST = 190.0
#: Nearer to 0 the function is one over its argument.
_TINY = 1e-17
_FACTORIALS = np.array([float(math.factorial(n)) for n in range(171)])


def gamma(x):
    """Gamma(x): NaN at the negative integers, plus and minus infinity at 0 and -0."""
    result = np.full_like(x, np.nan)
    fill(result, x, x >= _TINY, lambda x: _product(*_parts(x)))
    fill(result, x, (x <= -_TINY) & (x != np.floor(x)), lambda x: _divided(-np.pi / (x * sine(x)), *_parts(-x)))
    fill(result, x, np.abs(x) < _TINY, lambda x: 1 / x)
    return result


def inverse_gamma(x):
    """1 / Gamma(x), which is 0 at the poles of Gamma."""
    result = np.full_like(x, np.nan)
    fill(result, x, x >= _TINY, lambda x: _divided(1, *_parts(x)))
    fill(result, x, x <= -_TINY, lambda x: _product(-x * sine(x) / np.pi, *_parts(-x)))
    fill(result, x, np.abs(x) < _TINY, lambda x: x)
    result[(x < 0) & (x == np.floor(x))] = 0
    return result


def _product(x, *parts):
    for part in parts:
        x = x * part
    return x


def _divided(x, *parts):
    for part in parts:
        x = x / part
    return x


def _parts(x):
    """Two numbers whose product is Gamma(x), for positive x; either fits where the product may not."""
    first, second = np.empty_like(x), np.ones_like(x)
    is_whole = (x == np.floor(x)) & (x <= len(_FACTORIALS))
    first[is_whole] = _FACTORIALS[x[is_whole].astype(int) - 1]
    fill(first, x, ~is_whole & (x < _LARGE), _by_steps)
    is_large = ~is_whole & (x >= _LARGE)
    y = np.minimum(x[is_large], _GREATEST)
    power = y ** (y / 2 - 0.25) * np.exp(-y / 2)
    series = np.exp(polynomial(1 / (y * y), STIRLING) / y)
    first[is_large], second[is_large] = power, power * math.sqrt(2 * math.pi) * series
    return first, second


def _by_steps(x):
    steps = np.maximum(np.floor(x - 1.5), 0)
    y, product = x - steps, np.ones_like(x)
    for k in range(int(steps.max(initial=0))):
        product *= np.where(k < steps, y + k, 1)
    lower, lowest = y < 1.5, y < 0.5
    t = np.where(lowest, y, np.where(lower, y - 1, y - 2))
    found = np.exp(t * polynomial(t, NEAR_TWO)) * product
    return found / np.where(lowest, y * (1 + y), np.where(lower, y, 1))
