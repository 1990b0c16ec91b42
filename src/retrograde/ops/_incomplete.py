"""The incomplete gamma function and its derivatives in its order, on float64 arrays, by one series.

P(a, x) is the sum over j of x^(a + j) e^-x / Gamma(a + j + 1). Each term is the exponential of a function of a whose
derivatives are polygamma functions, so that the derivatives of the sum are sums of the same terms, each times a polynomial.
The terms far below the greatest are left out on both sides: about 20 sqrt(x) remain.
"""

import math

import numpy as np

from ._gamma import digamma, log_gamma, polygamma

# How many standard deviations before the greatest term the sum starts.
_LEAD = 10.0
_BLOCK = 1 << 12


def slope(order, a, x):
    """Derivative number `order` in `a` of the regularised incomplete gamma function P(a, x); P itself for 0."""
    a, x = np.broadcast_arrays(a, x)
    result = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        is_known = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        places = np.flatnonzero(is_known)
        flat, rows, values = result.reshape(-1), a.reshape(-1), x.reshape(-1)
        for start in range(0, len(places), _BLOCK):
            part = places[start : start + _BLOCK]
            flat[part] = _summed(order, rows[part], values[part])
    result[(x == 0) & (a > 0)] = 0
    result[np.isinf(x) & (x > 0) & (a > 0)] = 1 if order == 0 else 0
    return result


def _summed(order, a, x):
    skipped = np.floor(np.maximum(x - a - _LEAD * np.sqrt(x), 0))
    b, logarithm = a + skipped, np.log(x)
    term = np.exp(b * logarithm - x - log_gamma(b + 1))
    slopes = [logarithm - digamma(b + 1), *(-polygamma(k, b + 1) for k in range(1, order))][:order]
    total, most = np.zeros_like(x), 0.0
    for _ in range(10_000_000):
        added = term * _bell(slopes)
        total += added
        most = np.maximum(most, np.abs(added))
        b += 1
        if ((b > x) & (np.abs(added) <= 1e-18 * most)).all():
            break
        term *= x / b
        for k in range(len(slopes)):
            slopes[k] += (-1) ** (k + 1) * math.factorial(k) / b ** (k + 1)
    return total


def _bell(slopes):
    """The n-th derivative of exp(f), over exp(f), from the n derivatives of f."""
    found = [1.0]
    for n in range(1, len(slopes) + 1):
        found.append(sum(math.comb(n - 1, k) * slopes[k] * found[n - 1 - k] for k in range(n)))
    return found[-1]
