"""How a beta distributed number moves with its first parameter while its rank stays, over 1 - x, on float64 arrays.

I_x(a, b), the chance to be below x, is its density times x (1 - x) / a times F, the hypergeometric function of a + b and 1 over
a + 1, which is the continued fraction 1 / (1 + d_1 / (1 + d_2 / ...)) of DLMF 8.17.22. Steps from its end to its beginning give F
and its derivative in a parameter. Below the place (a + 1) / (a + b + 2) the fraction converges within about the root of the smaller
parameter steps, and no numbers cancel; above it there is 1 less the same of 1 - x, b and a. Where both parameters are great the
slope over 1 - x is log(m / x) / ((a + b) (m - x)) x with the mean m, the first term of a series in their inverses. The result is
the exact slope to 1e-9, and to 1e-7 where both parameters are above 10^7.
"""

import numpy as np

from ..special._log_gamma import digamma

#: So many steps are taken, and so many for the root of the smaller parameter, unless that is as great as this.
FEWEST, PER_ROOT, GREAT = 10, 2.5, 1e7
#: From here on products of two parameters would not fit.
BEYOND = 1e150
TINY = float(np.finfo(np.float64).tiny)
_BLOCK = 1 << 12


def slope(x, a, b):
    """The slope over 1 - x; NaN where a parameter is not positive, or x not from 0 to 1."""
    x, a, b = np.broadcast_arrays(x, a, b)
    result, parts = np.empty(x.shape), [part.reshape(-1) for part in (x, a, b)]
    found = result.reshape(-1)
    with np.errstate(all="ignore"):
        for start in range(0, found.size, _BLOCK):
            chosen = slice(start, start + _BLOCK)
            found[chosen] = _slope(*[part[chosen] for part in parts])
    return result


def _slope(x, a, b):
    is_known = (x >= 0) & (x <= 1) & (a > 0) & (b > 0) & (a < BEYOND) & (b < BEYOND)
    x, a, b = np.maximum(np.where(is_known, x, 0.5), TINY), np.where(is_known, a, 1), np.where(is_known, b, 1)
    both, least = a + b, np.minimum(a, b)
    is_above = x * (both + 2) > a + 1
    p, q, y, of_p = np.where(is_above, b, a), np.where(is_above, a, b), np.where(is_above, 1 - x, x), np.where(is_above, 0.0, 1.0)
    steps = int(np.max(FEWEST + PER_ROOT * np.sqrt(np.where(least < GREAT, least, 0)), initial=0))
    value, change = _fraction(steps, y, p, q, of_p)
    rate = np.log(x) + (digamma(both) - digamma(np.where(is_above, a, a + 1)))
    found = x / np.where(is_above, b, -a) * (value * rate + change)
    off = (a / both - x) / x
    at_mean = np.where(off == 0, 1, np.log1p(off) / np.where(off == 0, 1, off)) / both
    return np.where(is_known, np.where(least < GREAT, found, at_mean), np.nan)


def _fraction(steps, y, p, q, of_p):
    """F and its derivative, in `p` where `of_p` is 1 and in `q` where it is 0."""
    value, change, of_q = np.ones_like(y), np.zeros_like(y), 1 - of_p
    for m in range(steps, 0, -1):
        below = p + 2 * m
        first, second = below - 1, below - 2
        inverse = 1 / (below * first)
        factor = m * (q - m) * y * inverse
        slope = m * y * inverse * of_q - factor * inverse * (below + first) * of_p
        value, change = _step(value, change, factor, slope)
        own, other, inverse = p + (m - 1), p + q + (m - 1), 1 / (first * second)
        # The first of all is p (p + q) / (p (p + 1)), where p may be too small for its square.
        factor = -own / second * other / first * y
        slope = -(other * of_p + own) * y * inverse - factor * inverse * (first + second) * of_p
        value, change = _step(value, change, factor, slope)
    inverse = 1 / value
    return inverse, -change * inverse * inverse


def _step(value, change, factor, slope):
    inverse = 1 / value
    part = factor * inverse
    return 1 + part, (slope - part * change) * inverse
