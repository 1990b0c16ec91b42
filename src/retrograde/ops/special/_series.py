"""Sums of series in place, on flat arrays: what the kernels of the special functions are made of."""

import numpy as np


def polynomial(x, coefficients):
    """Horner's scheme; the lowest coefficient comes first."""
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= x
        total += c
    return total


def chebyshev(x, coefficients):
    """The sum of Chebyshev's polynomials of `x`, between -1 and 1, by Clenshaw's recurrence; the lowest comes first."""
    twice, ahead, behind = 2 * x, np.zeros_like(x), np.zeros_like(x)
    for c in coefficients[:0:-1]:
        ahead, behind = twice * ahead - behind + c, ahead
    return x * ahead - behind + coefficients[0]


def fill(result, x, mask, function):
    """Write `function` of the elements of `x` that `mask` selects into their places in `result`."""
    if not mask.any():
        return
    if mask.all():
        result[...] = function(x)
    else:
        result[mask] = function(x[mask])


#: log(1 + x) - x over x^2.
_LESS = tuple([(-1) ** (k + 1) / k for k in range(2, 25)])


def log1p_less(x):
    """log(1 + x) - x, by its series where both are nearly equal."""
    is_near = np.abs(x) < 0.15
    near = np.where(is_near, x, 0)
    return np.where(is_near, near * near * polynomial(near, _LESS), np.log1p(x) - x)


def upper_half(x):
    """`x` without the lower half of its bits, so that its square is exact."""
    return (x.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)
