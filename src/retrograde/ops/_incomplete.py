"""The incomplete gamma function and its derivatives in its order, on float64 arrays, by one series and its integral.

P(a, x) is the sum over j of x^(a + j) e^-x / Gamma(a + j + 1). Each term is the exponential of a function of a whose
derivatives are polygamma functions, so that the derivatives of the sum are sums of the same terms, each times a polynomial.
The terms far below the greatest are left out on both sides: about 20 sqrt(x) remain. Where these are many, Euler and Maclaurin's
formula gives their sum.
"""

import math

import numpy as np

from ..once import once
from ._gamma import digamma, log_gamma, polygamma

# How many standard deviations before the greatest term the sum starts.
_LEAD = 10.0
_BLOCK = 1 << 12
# Above this place the terms are so many, and so smooth, that their sum is an integral with corrections at its end.
_SMOOTH = 1e4
# Points of Gauss and Legendre's rule for that integral, over 20 standard deviations: exact to rounding.
_POINTS = 96
# The factors of Euler and Maclaurin's formula: of the function at the end, and of its derivatives 1, 3 and 5 there (DLMF 2.10.1).
_CORRECTIONS = ((0, 1 / 2), (1, -1 / 12), (3, 1 / 720), (5, -1 / 30240))
# From here on Stirling's series, with so many of its terms, gives the gamma function to rounding (DLMF 5.11.1).
_STIRLING = 16.0
_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


def slope(order, a, x):
    """Derivative number `order` in `a` of the regularised incomplete gamma function P(a, x); P itself for 0."""
    a, x = np.broadcast_arrays(a, x)
    result = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        is_known = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        flat, rows, values = result.reshape(-1), a.reshape(-1), x.reshape(-1)
        for function, chosen in ((_summed, is_known & (x <= _SMOOTH)), (_integrated, is_known & (x > _SMOOTH))):
            places = np.flatnonzero(chosen)
            for start in range(0, len(places), _BLOCK):
                part = places[start : start + _BLOCK]
                flat[part] = function(order, rows[part], values[part])
    if order == 0:
        result[(a == 0) & (x > 0)] = 1  # the limit; its slope is infinite there, and stays NaN
    result[(x == 0) & (a > 0)] = 0
    result[np.isinf(x) & (x > 0) & (a > 0)] = 1 if order == 0 else 0
    # An infinite order is above every place but an infinite one, where the limit depends on the way.
    result[np.isinf(a) & (a > 0) & (x >= 0)] = 0
    result[np.isinf(a) & np.isinf(x)] = np.nan
    return result


def _summed(order, a, x):
    skipped = np.floor(np.maximum(x - a - _LEAD * np.sqrt(x), 0))
    b = a + skipped
    term, slopes = _term(b, x), _slopes(order, b, x)
    total, most = np.zeros_like(x), 0.0
    while True:
        added = term * _bell(slopes)
        total += added
        most = np.maximum(most, np.abs(added))
        b += 1
        if ((b > x) & (np.abs(added) <= 1e-18 * most)).all():
            return total
        term *= x / b
        for k in range(len(slopes)):
            slopes[k] += (-1) ** (k + 1) * math.factorial(k) / b ** (k + 1)


def _integrated(order, a, x):
    """The sum from `a` on by Euler and Maclaurin's formula. The integral of a derivative is known; of the terms themselves it is
    taken over 10 standard deviations on both sides of the greatest one, or as far as they matter after `a`.
    """
    slopes, term = _slopes(order + _CORRECTIONS[-1][0], a, x), _term(a, x)
    derivative = lambda n: term * _bell(slopes[:n])
    total = sum([factor * derivative(order + n) for n, factor in _CORRECTIONS])
    if order:
        return total - derivative(order - 1)
    deviation = _LEAD * np.sqrt(x)
    # Places are counted from x on, which may be so great that the next number above it is further than where terms end.
    first = np.maximum(a - x, -deviation)
    decay = np.log1p(np.maximum(a - x, 0) / x)
    last = np.where(a > x, first + np.minimum(deviation, 50 / np.maximum(decay, 1e-300)), deviation)
    half = (last - first) / 2
    nodes, weights = _rule()
    places, x = first[:, None] + half[:, None] * (1 + nodes), x[:, None]
    # Far below the greatest term the sum is one, whatever the rule gives.
    return np.clip(total + half * (_term(x + places, x, -places) @ weights), 0, 1)


@once
def _rule():
    return np.polynomial.legendre.leggauss(_POINTS)


def _term(b, x, apart=None):
    """x^b e^-x / Gamma(b + 1), from how far `apart` x lies from b: powers and exponentials as great as b would cancel."""
    apart = x - b if apart is None else apart
    far = np.exp(b * np.log(x) - x - log_gamma(b + 1))
    near = np.exp(-b * _beyond_logarithm(apart / b) - _stirling(b)) / np.sqrt(2 * np.pi * b)
    return np.where(b < _STIRLING, far, near)


def _slopes(count, b, x):
    """The derivatives in b, as many as asked, of the logarithm of the term."""
    far = np.log(x) - digamma(b + 1)
    near = np.log1p((x - b) / b) - 1 / (2 * b) + 1 / (12 * b**2) - 1 / (120 * b**4) + 1 / (252 * b**6) - 1 / (240 * b**8)
    first = np.where(b < _STIRLING, far, near)
    return [first, *(-polygamma(k, b + 1) for k in range(1, count))][:count]


def _stirling(b):
    """The logarithm of Gamma(b + 1) over its greatest part, sqrt(2 pi b) (b / e)^b."""
    return sum([factor / b ** (2 * k + 1) for k, factor in enumerate(_TERMS)])


def _beyond_logarithm(u):
    """u - log(1 + u), by its series where both are nearly equal."""
    series = np.zeros_like(u)
    for k in range(24, 1, -1):
        series = (-1) ** k / k + series * u
    return np.where(np.abs(u) < 0.15, series * u * u, u - np.log1p(u))


def _bell(slopes):
    """The n-th derivative of exp(f), over exp(f), from the n derivatives of f."""
    found = [1.0]
    for n in range(1, len(slopes) + 1):
        found.append(sum(math.comb(n - 1, k) * slopes[k] * found[n - 1 - k] for k in range(n)))
    return found[-1]
