"""The incomplete gamma functions and their derivatives in their order, on float64 arrays, each to its own digits in both tails.

P(a, x) is the sum over j of x^(a + j) e^-x / Gamma(a + j + 1). Each term is the exponential of a function of a whose
derivatives are polygamma functions, so that the derivatives of the sum are sums of the same terms, each times a polynomial.
Where x is above the order, Q = 1 - P is smaller, and comes from Legendre's continued fraction (DLMF 8.9.2), whose derivatives in a
follow from its recurrence. Where the terms are many, Euler and Maclaurin's formula gives their sum, on the side that is smaller.
"""

import math
from functools import partial

import numpy as np

from ...once import once
from ._log_gamma import NEAR_TWO, digamma, log_gamma, polygamma
from ._series import log1p_less, polynomial

_BLOCK = 1 << 12
# Above this place the terms near the greatest are so many and smooth that their sum is an integral with corrections at its end.
_SMOOTH = 1e3
# How far the order may be from the place then, over the place: further away the terms are few.
_NEAR = 0.1
# How many standard deviations that integral goes, in how many pieces, and the points of Gauss and Legendre's rule for each: exact
# to rounding. NumPy's rules of many more points are not.
_LEAD, _PANELS, _POINTS = 10.0, 6, 16
# The factors of Euler and Maclaurin's formula: of the function at the end, and of its derivatives 1, 3 and 5 there (DLMF 2.10.1).
_CORRECTIONS = ((0, 1 / 2), (1, -1 / 12), (3, 1 / 720), (5, -1 / 30240))
# From here on Stirling's series, with so many of its terms, gives the gamma function to rounding (DLMF 5.11.1).
_STIRLING = 16.0
_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
# From here on the continued fraction converges in some hundred steps, also for an order near 0.
_FRACTION = 1.1
ROUNDING = 2.0**-50
# After each so many steps it is asked whether it has; after so many it has, with its derivatives, whatever rounding does.
_STRIDE, _STEPS = 4, 240


def lower(order, a, x, rounding=ROUNDING):
    """Derivative number `order` in `a` of the regularised incomplete gamma function P(a, x), to a `rounding`; P itself for 0."""
    return _regularised(order, a, x, rounding, False)


def upper(order, a, x, rounding=ROUNDING):
    """The same of Q(a, x), which is 1 - P(a, x)."""
    return _regularised(order, a, x, rounding, True)


def _regularised(order, a, x, rounding, is_upper):
    a, x = np.broadcast_arrays(a, x)
    result = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        is_known = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        is_smooth = (x > _SMOOTH) & (np.abs(x - a) <= _NEAR * x)
        is_above = (x >= a) & ((x >= _FRACTION) | is_smooth)
        is_small = (a < 1) & (x < _FRACTION) & is_upper & (order == 0)
        flat, rows, values = result.reshape(-1), a.reshape(-1), x.reshape(-1)
        for function, gives_upper, chosen in (
                (_summed, False, ~is_above & ~is_smooth & ~is_small),
                (partial(_fraction, rounding=rounding), True, is_above & ~is_smooth),
                (_integrated, False, ~is_above & is_smooth), (_integrated_down, True, is_above & is_smooth),
                (_near_zero, True, is_small)):
            places = np.flatnonzero(chosen & is_known)
            for start in range(0, len(places), _BLOCK):
                part = places[start : start + _BLOCK]
                found = function(order, rows[part], values[part])
                flat[part] = found if gives_upper == is_upper else (1 if order == 0 else 0) - found
    whole, nothing = (0, 1) if is_upper else (1, 0)
    if order:
        whole = nothing = 0
    else:
        result[(a == 0) & (x > 0)] = whole  # the limit; its slope is infinite there, and stays NaN
    result[(x == 0) & (a > 0)] = nothing
    result[np.isinf(x) & (x > 0) & (a > 0)] = whole
    # An infinite order is above every place but an infinite one, where the limit depends on the way.
    result[np.isinf(a) & (a > 0) & (x >= 0)] = nothing
    result[np.isinf(a) & np.isinf(x)] = np.nan
    return result


def density(order, a, x, _rounding=ROUNDING):
    """Derivative number `order` in `a` of x^(a - 1) e^-x / Gamma(a), the derivative of P(a, x) in x."""
    a, x = np.broadcast_arrays(a, x)
    result = np.full(a.shape, np.nan)
    is_known = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    with np.errstate(all="ignore"):
        result[is_known] = _densities(order, a[is_known], x[is_known])[order] / x[is_known]
    result[(a > 1) & (x == 0)] = 0
    result[(np.isinf(a) != np.isinf(x)) & (a > 0) & (x > 0)] = 0
    if order == 0:
        result[(a == 1) & (x == 0)] = 1
        result[(a > 0) & (a < 1) & (x == 0)] = np.inf
    return result


def _summed(order, a, x):
    """P from the term of the order on: for a place below it, these fall."""
    b = a.copy()
    term, slopes = _term(b, x), _slopes(order, b, x)
    total, most = np.zeros_like(x), 0.0
    while True:
        added = term * _bell(slopes)[-1]
        total += added
        most = np.maximum(most, np.abs(added))
        b += 1
        if ((b > x) & (np.abs(added) <= 1e-18 * most)).all():
            return total
        term *= x / b
        for k in range(len(slopes)):
            slopes[k] += (-1) ** (k + 1) * math.factorial(k) / b ** (k + 1)


def _fraction(order, a, x, rounding):
    """Q from the continued fraction. Lists hold a value and its derivatives in the order."""
    factors = _densities(order, a, x)
    # Where nothing is left the steps would be of numbers that do not fit.
    x = np.where(factors[0] == 0, 1e3, x)
    a = np.where(factors[0] == 0, 1, a)
    found, rows = [np.empty_like(x) for _ in factors], np.arange(len(x))
    nothing = np.zeros_like(x)
    nothings, z = [nothing] * order, x + 2 - a
    before, ahead = ([nothing + 1, *nothings], [x, *nothings]), ([x + 1, *nothings], _times([x, *nothings], z, -1))
    quotients = _quotients(*ahead)
    for n in range(1, _STEPS):
        z, share = z + 2, (n + 1 - a) * n
        step = [[p - q for p, q in zip(_times(new, z, -1), _times(old, share, -n), strict=True)]
                for new, old in zip(ahead, before, strict=True)]
        # Both parts of the quotient grow, and are kept near 1.
        scale = 2.0 ** -np.frexp(step[1][0])[1]
        before, ahead = [[[value * scale for value in part] for part in parts] for parts in (ahead, step)]
        if n % _STRIDE == 0:
            last, quotients = quotients, _quotients(*ahead)
            # A derivative is a difference, which is known as well as what it is one of.
            sizes = [np.maximum(np.abs(q), np.abs(p / ahead[1][0])) for p, q in zip(ahead[0], quotients, strict=True)]
            waits = np.any([np.abs(p - q) > rounding * size for p, q, size in zip(quotients, last, sizes, strict=True)], axis=0)
            if not waits.any():
                break
            # Steps are for those that need them: near the order ten times as many as far from it.
            if 4 * np.count_nonzero(waits) < 3 * len(waits):
                _put(found, rows, quotients)
                rows, z, a = rows[waits], z[waits], a[waits]
                before, ahead = [[[value[waits] for value in part] for part in parts] for parts in (before, ahead)]
                quotients = [value[waits] for value in quotients]
    _put(found, rows, quotients)
    return _leibniz(factors, found)


def _put(found, rows, values):
    for whole, part in zip(found, values, strict=True):
        whole[rows] = part


def _times(values, factor, slope):
    """The derivatives of a product with what is linear in the order."""
    return [value * factor + (m * slope * values[m - 1] if m else 0) for m, value in enumerate(values)]


def _quotients(above, below):
    found: list = []
    for m, value in enumerate(above):
        found.append((value - sum(math.comb(m, k) * found[k] * below[m - k] for k in range(m))) / below[0])
    return found


def _leibniz(x, y):
    order = len(x) - 1
    return sum(math.comb(order, k) * x[k] * y[order - k] for k in range(order + 1))


def _near_zero(_, a, x):
    """Q for orders below 1 and small places, where most of P is the first factor of its alternating series (DLMF 8.7.1)."""
    power = a * np.log(x) - _log_gamma_above_one(a)
    total, factor, n = np.zeros_like(x), np.ones_like(x), 0
    while True:
        n += 1
        factor *= -x / n
        added = factor / (a + n)
        total += added
        if (np.abs(added) <= 1e-17 * np.abs(total)).all():
            return -np.expm1(power) - a * np.exp(power) * total


def _log_gamma_above_one(a):
    """The logarithm of Gamma(1 + a) for a between 0 and 1."""
    t = np.where(a < 0.5, a, a - 1)
    return t * polynomial(t, NEAR_TWO) - np.where(a < 0.5, np.log1p(a), 0)


def _integrated(order, a, x):
    """P from the order on by Euler and Maclaurin's formula; the integral of a derivative is known."""
    return _corrections(order, a, x) + (_integral(a, x, 1) if order == 0 else 0)


def _integrated_down(order, a, x):
    """Q from the order down: over all whole numbers the terms add up to 1."""
    return (_integral(a, x, -1) if order == 0 else 0) - _corrections(order, a, x)


def _corrections(order, a, x):
    found = _bell(_slopes(order + _CORRECTIONS[-1][0], a, x))
    total = sum([factor * found[order + n] for n, factor in _CORRECTIONS])
    return _term(a, x) * (total - (found[order - 1] if order else 0))


def _integral(a, x, direction):
    deviation = _LEAD * np.sqrt(x)
    # Places are counted from x on, which may be so great that the next number above it is further than where terms end.
    decay = np.abs(np.log1p((a - x) / x))
    span = direction * np.minimum(deviation, 50 / np.maximum(decay, 1e-300))
    nodes, weights = _rule()
    places, x = (a - x)[:, None] + span[:, None] * nodes, x[:, None]
    return np.abs(span) * (_term(x + places, x, -places) @ weights)


@once
def _rule():
    """Places between 0 and 1, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    places = (np.arange(_PANELS)[:, None] + (1 + nodes) / 2) / _PANELS
    return places.reshape(-1), np.tile(weights / (2 * _PANELS), _PANELS)


def _densities(order, a, x):
    """x^a e^-x / Gamma(a) and its derivatives in a."""
    term = _term(a, x)
    terms = [term * factor for factor in _bell(_slopes(order, a, x))]
    return [a * terms[k] + (k * terms[k - 1] if k else 0) for k in range(order + 1)]


def _term(b, x, apart=None):
    """x^b e^-x / Gamma(b + 1), from how far `apart` x lies from b: powers and exponentials as great as b would cancel."""
    apart = x - b if apart is None else apart
    # The exponential in two halves, which do not vanish where the whole does and the power is great.
    far = np.exp(-x / 2) * x**b * np.exp(-x / 2) * np.exp(-log_gamma(b + 1))
    u = apart / b
    depth = np.where(np.abs(u) < 0.5, log1p_less(u), np.log(x / b) - u)
    near = np.exp(b * depth - _stirling(b)) / np.sqrt(2 * np.pi * b)
    return np.where(b < _STIRLING, far, near)


def _slopes(count, b, x):
    """The derivatives in b, as many as asked, of the logarithm of the term."""
    far = np.log(x) - digamma(b + 1)
    level = np.where(np.abs(x - b) < b / 2, np.log1p((x - b) / b), np.log(x / b))
    near = level - 1 / (2 * b) + 1 / (12 * b**2) - 1 / (120 * b**4) + 1 / (252 * b**6) - 1 / (240 * b**8)
    first = np.where(b < _STIRLING, far, near)
    return [first, *(-polygamma(k, b + 1) for k in range(1, count))][:count]


def _stirling(b):
    """The logarithm of Gamma(b + 1) over its greatest part, sqrt(2 pi b) (b / e)^b."""
    return sum([factor / b ** (2 * k + 1) for k, factor in enumerate(_TERMS)])


def _bell(slopes):
    """The derivatives of exp(f), over exp(f), from those of f: the n-th is number n."""
    found: list = [1.0]
    for n in range(1, len(slopes) + 1):
        found.append(sum(math.comb(n - 1, k) * slopes[k] * found[n - 1 - k] for k in range(n)))
    return found
