"""How a gamma distributed number moves with its shape while its rank stays, on float64 arrays.

The slope s = dx / da with P(a, x) as it is has the derivative ds / dx = psi(a) - log x - s ((a - 1) / x - 1), since that of P in
x is the density, and P has one derivative in a and x. With x = a e^u and s = e^u q that is q (e^u - 1) = u - (psi(a) - log a) +
(dq / du) / a, and so q is a series in the inverse of a whose terms are q_0 = u / (e^u - 1) and
q_k = (dq_(k-1) / du - c_k) / (e^u - 1), where c_k are the coefficients of psi(a) - log a (DLMF 5.11.2). They have their poles at
u = 2 pi i, and are polynomials here.

A small shape is reached from a larger one: as P(a + 1, x) is P(a, x) less its density times x / a, s(a) = x / a (s(a + 1) +
psi(a + 1) - log x). Each step makes an error smaller where x is less than the shape, so that what is far below it takes steps
too. Far above it there is Legendre's continued fraction of Q = 1 - P over the density, x / F with
F = x + 1 - a - 1 (1 - a) / (x + 3 - a - ...) (DLMF 8.9.2). The result is the exact slope to five parts in 10^12.
"""

import numpy as np

from ..special._log_gamma import HARMONIC
from ..special._series import polynomial

#: From this shape on the series needs no steps, and this many lead there.
STEPS = LEAST = 16
#: Less than this part of the shape is far below it; the series is asked for u between these two.
FAR_BELOW, LOWEST, HIGHEST = 0.4, -2.6, 1.15
#: More than this, and more than so many times the shape, is far above it, where the fraction takes so many steps.
GREAT, FAR_ABOVE, FRACTION = 6.0, 2.3, 12
#: The Taylor coefficients of q_0, q_1 and so on, from the recurrence above in rational numbers.
SERIES = (
    (1.0, -0.5, 0.08333333333333333, 0.0, -0.001388888888888889, 0.0, 3.306878306878307e-05, 0.0, -8.267195767195768e-07, 0.0,
     2.08767569878681e-08, 0.0, -5.284190138687493e-10, 0.0, 1.3382536530684679e-11, 0.0, -3.3896802963225827e-13),
    (0.16666666666666666, -0.08333333333333333, 0.008333333333333333, 0.002777777777777778, -0.000496031746031746,
     -9.92063492063492e-05, 2.3148148148148147e-05, 3.306878306878307e-06, -9.394540644540645e-07, -1.043837849393405e-07,
     3.4875654915337455e-08, 3.1705140832124957e-09, -1.2178108242923058e-09, -9.367775571479276e-11, 4.0676163555871e-11,
     2.711744237058066e-12),
    (0.016666666666666666, 0.0, -0.004761904761904762, 0.0011904761904761906, 0.0001984126984126984, -9.92063492063492e-05,
     -4.2087542087542085e-06, 5.711880711880712e-06, -8.01116872545444e-08, -2.7323316013792205e-07, 1.4031016015142999e-08,
     1.1649689229054309e-08, -9.37407323572901e-10, -4.589422821993628e-10, 4.831292700972737e-11),
    (-0.009523809523809525, 0.008333333333333333, -0.0017857142857142857, -0.0005952380952380953, 0.0003021284271284271,
     6.313131313131313e-06, -2.4154086654086653e-05, 2.0003145003145e-06, 1.3856431267145554e-06, -2.2182127836889742e-07,
     -6.442955862306936e-08, 1.5559324178605223e-08, 2.548507872146831e-09, -8.840221894559127e-10),
    (-0.0035714285714285713, 0.0, 0.0018037518037518038, -0.0007215007215007215, -5.5037555037555035e-05,
     9.157509157509158e-05, -9.789593122926455e-06, -6.475006475006475e-06, 1.5218629539357831e-06, 3.100070210247615e-07,
     -1.299476614090764e-07, -9.348195991274275e-09, 8.489102396922923e-09),
    (0.0036075036075036075, -0.003968253968253968, 0.0011627261627261628, 0.00038757538757538756, -0.000311031561031561,
     2.5206275206275207e-05, 3.036768968141517e-05, -7.781991325408693e-06, -1.6086154571153835e-06, 8.592956892525258e-07,
     2.6399936382204143e-08, -6.53357238498605e-08),
    (0.0023254523254523257, 0.0, -0.0016317016317016317, 0.000844988344988345, 1.2283468165821107e-05, -0.0001366892911010558,
     3.135674381804413e-05, 9.492034453334762e-06, -4.971369861075744e-06, -1.2735617257031086e-07, 4.5654589701661237e-07),
    (-0.0032634032634032634, 0.004166666666666667, -0.001490298916769505, -0.000496766305589835, 0.0005384906845820158,
     -8.81006463436804e-05, -5.7490865830649114e-05, 2.5309353385978772e-05, 1.5673316909393434e-06, -3.006089400285475e-06),
    (-0.00298059783353901, 0.0, 0.0026507290439178985, -0.0016416761772798925, 5.89430349492269e-05, 0.0003149993281572229,
     -0.00010787969589625264, -1.799781421870532e-05, 1.847081311397072e-05),
    (0.005301458087835797, -0.007575757575757576, 0.0031400745797030625, 0.0010466915265676877, -0.0014224919536872693,
     0.0003357444256286631, 0.00015666685819128948, -0.0001018601736228604),
)
_BLOCK = 1 << 12


def slope(a, x):
    """The slope for each shape `a` and number `x`; 0 where the number is 0, NaN where one is negative or the shape not positive."""
    a, x = np.broadcast_arrays(a, x)
    result, shapes, places = np.empty(a.shape), a.reshape(-1), x.reshape(-1)
    found = result.reshape(-1)
    with np.errstate(all="ignore"):
        for start in range(0, found.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            found[part] = _slope(shapes[part], places[part])
    return result


def _slope(a, x):
    is_moved = (a < LEAST) | (x < FAR_BELOW * a)
    b, logarithm = np.where(is_moved, a + STEPS, a), np.log(x)
    inverse, log_of_b = 1 / b, np.log(b)
    u, found = np.clip(logarithm - log_of_b, LOWEST, HIGHEST), 0
    for row in reversed(SERIES):
        found = found * inverse + polynomial(u, row)
    found = x * inverse * found
    square = inverse * inverse
    rise = log_of_b - 0.5 * inverse - square * polynomial(square, HARMONIC) - logarithm
    moved, rest = found, rise
    for n in reversed(range(STEPS)):
        part = 1 / (a + n)
        moved = x * part * (moved + rest)
        rest = rest - part
    found, rise = np.where(is_moved, moved, found), np.where(is_moved, rest, rise)
    found = np.where((x > GREAT) & (x > FAR_ABOVE * a), _far_above(a, x, rise), found)
    return np.where((x > 0) & (a > 0), found, np.where((x == 0) & (a > 0), 0, np.nan))


def _far_above(a, x, rise):
    """By the fraction F and its derivative in `a`; `rise` is psi(a) - log x."""
    fraction, change = x + (2 * FRACTION + 1) - a, np.full_like(x, -1)
    for n in range(FRACTION, 0, -1):
        part = 1 / fraction
        factor = n * (n - a) * part
        change = n * part - 1 + factor * part * change
        fraction = x + (2 * n - 1) - a - factor
    return -(x / fraction) * (rise + change / fraction)
