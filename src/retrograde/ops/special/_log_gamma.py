"""The logarithm of the gamma function and its derivatives, on flat float64 arrays.

From 10 up these are Stirling's series; below, recurrences lead to an interval of length 1 around a zero of the function,
where it is the distance from that zero times a polynomial that was interpolated at Chebyshev's points in 60 digits, so
that nothing is lost near the zero. Negative arguments are reflected.
"""

import math

import numpy as np

from ._series import chebyshev, fill, polynomial

LARGE = 10.0
#: Below this the gamma function is 1 / x.
_TINY = 1e-17
#: log gamma(2 + t) / t in t, for |t| <= 1/2.
NEAR_TWO = (
    0.42278433509846713, 0.3224670334241132, -0.06735230105319814, 0.02058080842778463, -0.007385551028668096,
    0.0028905103307343394, -0.0011927539120033873, 0.0005096695250262799, -0.00022315475069647703, 9.945750665169768e-05,
    -4.492635166770339e-05, 2.0507292365463726e-05, -9.438454884054915e-06, 4.3742212083414155e-06, -2.0449353231792894e-06,
    9.584290248945052e-07, -4.303234692973014e-07, 2.0192169927023717e-07, -1.3415702734455407e-07, 6.473973444600987e-08,
)
#: Stirling's series: B(2k) / (2k (2k - 1)).
STIRLING = (
    0.08333333333333333, -0.002777777777777778, 0.0007936507936507937, -0.0005952380952380953, 0.0008417508417508417,
    -0.0019175269175269176, 0.00641025641025641, -0.029550653594771242,
)
#: The positive zero of digamma, in two parts.
ROOT = (1.4616321449683622, 9.549995429965697e-17)
#: digamma(x) / (x - root) for 1 <= x <= 2, by Chebyshev's polynomials of 2x - 3.
NEAR_ROOT = (
    0.983570260441567, -0.2270640863346444, 0.03336889902393011, -0.005320077271596548, 0.0008788656937820505,
    -0.00014773492650606044, 2.5060543468359146e-05, -4.2721034029993324e-06, 7.302769272465923e-07, -1.2502886813559594e-07,
    2.1425009322359472e-08, -3.673295918565179e-09, 6.299717236108931e-10, -1.080593028883266e-10, 1.853735192053638e-11,
    -3.18023536582553e-12, 5.456147570322795e-13, -9.360993131036438e-14, 1.606064636295075e-14, -2.755543137743881e-15,
    4.727736178601909e-16, -8.111484203464955e-17, 1.3917077694733694e-17, -2.3877901081731248e-18,
)
#: B(2k) / 2k, and B(2k) / (2k)! for the formula of Euler and Maclaurin.
HARMONIC = (
    0.08333333333333333, -0.008333333333333333, 0.003968253968253968, -0.004166666666666667, 0.007575757575757576,
    -0.021092796092796094, 0.08333333333333333, -0.4432598039215686,
)
#: zeta(2k) - 1: pi cot(pi r) = 1 / r - 2 r (1 / (1 - r^2) + the sum of these times r^(2k - 2)).
COTANGENT = (
    0.6449340668482264, 0.08232323371113819, 0.01734306198444914, 0.00407735619794434, 0.0009945751278180853,
    0.0002460865533080483, 6.124813505870483e-05, 1.528225940865187e-05, 3.81729326499984e-06, 9.539620338727962e-07,
    2.38450502727733e-07, 5.960818905125948e-08, 1.4901554828365043e-08, 3.725334024788457e-09,
)
#: The logarithm of 2, in a part with few digits and the rest.
LOG_TWO = (0.6931471803691238, 1.9082149292705877e-10)
_MACLAURIN = (
    0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07, 2.08767569878681e-08,
    -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15, -2.174868698558062e-16,
    5.5090028283602295e-18, -1.3954464685812522e-19,
)


def log_gamma(x):
    """The logarithm of the absolute value of gamma; infinite at 0, at the negative integers and at -inf."""
    result = np.full_like(x, np.nan)
    fill(result, x, x >= LARGE, _stirling)
    fill(result, x, (x > 0) & (x < LARGE), _log_gamma_below)
    fill(result, x, x < 0, _log_gamma_reflected)
    result[(x == 0) | np.isinf(x)] = np.inf
    return result


def _stirling(x):
    series = polynomial(1 / (x * x), STIRLING) / x
    return (x - 0.5) * (np.log(x) - 1) + (0.5 * math.log(2 * math.pi) - 0.5) + series


def _log_gamma_below(x):
    steps = np.maximum(np.floor(x - 1.5), 0)
    product, y = np.ones_like(x), x - steps
    for k in range(int(steps.max(initial=0))):
        product *= np.where(k < steps, y + k, 1)
    # Where x was less than 1.5 the way up to the interval leads through log1p, which is precise near the zero at 1.
    lower, lowest = y < 1.5, y < 0.5
    t = np.where(lowest, y, np.where(lower, y - 1, y - 2))
    result = t * polynomial(t, NEAR_TWO)
    result[lower] -= np.log1p(t[lower])
    result[lowest] -= np.log(y[lowest])
    return result + np.log(product)


def _log_gamma_reflected(x):
    above = np.pi / np.abs(sine(x)) / -x
    return np.where(x > -_TINY, log_gamma(-x), np.log(above) - log_gamma(-x))


def sine(x):
    """sin(pi x), precise for large x."""
    nearest = np.round(x)
    return np.where(nearest % 2 == 0, 1.0, -1.0) * np.sin(np.pi * (x - nearest))


def digamma(x):
    """The derivative of the logarithm of gamma; NaN at the negative integers, minus and plus infinity at 0 and -0."""
    result = np.full_like(x, np.nan)
    fill(result, x, x >= LARGE, _digamma_large)
    fill(result, x, (x > 0) & (x < LARGE), _digamma_below)
    fill(result, x, (x < 0) & (x != np.floor(x)), _digamma_reflected)
    is_zero = x == 0
    result[is_zero] = -np.copysign(np.inf, x[is_zero])
    return result


def _digamma_large(x):
    inverse_square = 1 / (x * x)
    return np.log(x) - 0.5 / x - inverse_square * polynomial(inverse_square, HARMONIC)


def _digamma_below(x):
    steps = np.maximum(np.ceil(x - 2), 0)
    total, y = np.zeros_like(x), x - steps
    for k in range(int(steps.max(initial=0))):
        total += np.where(k < steps, 1 / (y + k), 0)
    low = y < 1
    total[low] -= 1 / y[low]
    y[low] += 1
    return (y - ROOT[0] - ROOT[1]) * chebyshev(2 * y - 3, NEAR_ROOT) + total


def _digamma_reflected(x):
    """digamma(1 - x) - pi cot(pi x), each in two parts, since they may cancel."""
    above, r = 1 - x, x - np.round(x)
    lost = (1 - above) - x
    whole, part = np.empty_like(x), np.empty_like(x)
    for mask, function in ((above >= LARGE, _parts_of_large), (above < LARGE, _parts_below)):
        whole[mask], part[mask] = function(above[mask])
    pole, square = 1 / r, r * r
    total = whole - pole
    part += _lost_by_sum(whole, -pole, total) - _lost_by_inverse(r, pole)
    part += 2 * r * (1 / (1 - square) + polynomial(square, COTANGENT))
    # Beside a pole that does not fit, the parts do not matter, and are NaN.
    return np.where(np.isinf(pole), -pole, total + (part + lost / above * (1 + 0.5 / above)))


def _lost_by_sum(x, y, total):
    """What rounding has taken from a sum (Knuth)."""
    of_y = total - x
    return (x - (total - of_y)) + (y - of_y)


def _lost_by_inverse(x, inverse):
    """What rounding has taken from an inverse, where it is not too great to matter."""
    is_great = np.abs(inverse) > 2.0**20
    x, inverse = np.where(is_great, 1, x), np.where(is_great, 1, inverse)
    (a, b), (c, d) = _halves(x), _halves(inverse)
    return ((1 - a * c) - (a * d + b * c) - b * d) * inverse


def _halves(x):
    """Two numbers of half the digits whose sum is `x` (Dekker)."""
    large = x * (2.0**27 + 1)
    high = large - (large - x)
    return high, x - high


def _parts_of_large(x):
    mantissa, exponent = np.frexp(x)
    is_low = mantissa < math.sqrt(0.5)
    mantissa, exponent = np.where(is_low, 2 * mantissa, mantissa), exponent - is_low
    inverse_square = 1 / (x * x)
    rest = exponent * LOG_TWO[1] - 0.5 / x - inverse_square * polynomial(inverse_square, HARMONIC)
    return exponent * LOG_TWO[0], np.log(mantissa) + rest


def _parts_below(x):
    """For x of at least 1."""
    steps = np.maximum(np.ceil(x - 2), 0)
    total, y, part = np.zeros_like(x), x - steps, np.zeros_like(x)
    for k in range(int(steps.max(initial=0))):
        term = np.where(k < steps, 1 / (y + k), 0)
        before, total = total, total + term
        part += _lost_by_sum(before, term, total)
    return total, part + (y - ROOT[0] - ROOT[1]) * chebyshev(2 * y - 3, NEAR_ROOT)


def _cotangent(x):
    """cot(pi x)."""
    part = np.pi * (x - np.round(x))
    return np.cos(part) / np.sin(part)


def polygamma(n, x):
    """Derivative `n`, at least 1, of digamma; infinite at 0 and the negative integers, with the sign of (-1)^(n + 1)."""
    sign = -1.0 if n % 2 == 0 else 1.0
    result = np.full_like(x, np.nan)
    fill(result, x, x > 0, lambda x: sign * math.factorial(n) * _zeta(n + 1, x))
    fill(result, x, (x < 0) & (x != np.floor(x)), lambda x: (
        -sign * polygamma(n, 1 - x) - np.pi ** (n + 1) * polynomial(_cotangent(x), _slopes_of_cotangent(n))))
    result[(x <= 0) & (x == np.floor(x)) & np.isfinite(x)] = np.inf if n % 2 else np.nan
    return result


def _slopes_of_cotangent(n):
    """Derivative `n` of the cotangent as a polynomial in the cotangent, whose own derivative is -1 - c^2."""
    found = np.array([0.0, 1.0])
    for _ in range(n):
        found = np.convolve(found[1:] * np.arange(1, len(found)), (-1.0, 0.0, -1.0))
    return found


def _zeta(s, q):
    """Hurwitz's zeta, the sum of (q + k)^-s for all k from 0, for positive q, by Euler and Maclaurin's formula.

    It starts after 12 terms; at once where q is large, since each addition to q costs precision.
    """
    is_small = q < s + 12
    at = np.where(is_small, q + 12, q)
    total = at ** (1 - s) / (s - 1) + at**-s / 2
    rising, power = float(s), at ** (-s - 1)
    for j, c in enumerate(_MACLAURIN):
        total += c * rising * power
        rising *= (s + 2 * j + 1) * (s + 2 * j + 2)
        power /= at * at
    for k in range(11, -1, -1):
        total += np.where(is_small, (q + k) ** -s, 0)
    return total
