"""Derivatives of the incomplete beta function in its parameters, by series of positive terms, on float64 arrays.

I_x(a, b), the chance to be below x, is x^a (1 - x)^b / (a B(a, b)) times the sum of (a + b)_n / (a + 1)_n x^n (DLMF 8.17.8), and 1
less the same of 1 - x, b and a. Divided by the density the terms are products of a few factors. A derivative of a term is the term
times a polynomial in the derivatives of its logarithm, which are polygamma functions and move from term to term by powers of
inverses.
"""

import math

import numpy as np

from ..special._log_gamma import digamma, polygamma

_LEAST = 1e-18
#: Terms after the greatest, about, until they no longer count, over how much smaller each is than the last.
_TAIL = 40.0
#: Not more terms than this are taken for the digits of a small chance.
_MANY = 2e4


def slope(i, j, x, a, b):
    """Minus the derivative of I_x(a, b) of the orders `i` in `a` and `j` in `b`, over the density at `x` and over 1 - x."""
    shape = np.broadcast_shapes(x.shape, a.shape, b.shape)
    x, a, b = (part.reshape(-1) for part in np.broadcast_arrays(x, a, b))
    found = np.full(x.shape, np.nan)
    with np.errstate(all="ignore"):
        x = np.maximum(x, np.finfo(np.float64).tiny)
        is_known = (x <= 1) & (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
        # Below the mean the other series cancels, as that of a chance near 1 which is taken from 1, and above it this one.
        terms, others, is_below = _terms(x, a, b), _terms(1 - x, b, a), x * (a + b + 2) <= a + 1
        is_direct = np.where(is_below, terms <= np.maximum(others, _MANY), (terms <= others) & (others > _MANY))
        chosen = np.flatnonzero(is_known & is_direct)
        if chosen.size:
            x1, a1, b1 = x[chosen], a[chosen], b[chosen]
            found[chosen] = -_series((i, j), x1 / a1, x1, a1, b1, (np.log(x1), np.log1p(-x1)))
        chosen = np.flatnonzero(is_known & ~is_direct)
        if chosen.size:
            x1, a1, b1 = x[chosen], a[chosen], b[chosen]
            found[chosen] = _series((j, i), x1 / b1, 1 - x1, b1, a1, (np.log1p(-x1), np.log(x1)))
    return found.reshape(shape)


def _terms(x, a, b):
    """About how many terms the series in `x` needs: they grow at first where `x` is beyond the mean."""
    return (np.maximum(x * (a + b) - a, 0) + _TAIL) / np.maximum(1 - x, _LEAST)


def _series(orders, term, x, p, q, logs):
    """The sum of terms, each `x (p + q + n) / (p + 1 + n)` times the last, times their derivatives of the `orders` in p and q."""
    most_orders = sum(orders)
    whole = [_polygamma(m, p + q) for m in range(most_orders)]
    own = [_polygamma(m, p + 1) for m in range(orders[0])]
    other = [_polygamma(m, q) for m in range(orders[1])]
    total, most, n = np.zeros_like(term), np.zeros_like(term), 0
    while True:
        factor = bell(orders, lambda k, m: _slope_of_log(k, m, whole, own, other, logs))
        added = term * factor
        total = total + added
        most = np.maximum(most, np.abs(added))
        ratio = x * (p + q + n) / (p + 1 + n)
        # A factor may pass through 0, so that a term counts as long as it is not small itself.
        if ((ratio < 1) & (term * np.maximum(np.abs(factor), 1) <= _LEAST * most) | (ratio == 0)).all():
            return total
        whole = [value + _step(m, p + q + n) for m, value in enumerate(whole)]
        own = [value + _step(m, p + 1 + n) for m, value in enumerate(own)]
        term = term * ratio
        n += 1


def _slope_of_log(k, m, whole, own, other, logs):
    """The derivative of orders `k` in p and `m` in q of the logarithm of a term."""
    found = whole[k + m - 1]
    if k and m:
        return found
    found = found - (own[k - 1] if k else other[m - 1])
    return found + logs[0 if k else 1] if k + m == 1 else found


def bell(orders, slope_of_log):
    """The derivative of the exponential of a function of two numbers, over that exponential, from the function's own."""
    known = {(0, 0): 1.0}
    for k in range(orders[0] + 1):
        for m in range(orders[1] + 1):
            if (k, m) == (0, 0):
                continue
            # One derivative is taken first, and the others of the product that it leaves by Leibniz' rule.
            one, other = (1, 0) if k else (0, 1)
            left, right = k - one, m - other
            known[k, m] = sum([
                math.comb(left, r) * math.comb(right, s) * slope_of_log(one + r, other + s) * known[left - r, right - s]
                for r in range(left + 1) for s in range(right + 1)])
    return known[orders]


def _polygamma(m, x):
    return polygamma(m, x) if m else digamma(x)


def _step(m, x):
    """How much greater the polygamma function of order `m` is at the next number after `x`."""
    return (-1) ** m * math.factorial(m) / x ** (m + 1)
