"""The error function and its complement, on flat NumPy arrays.

float64: rational approximations by intervals, those of fdlibm's s_erf.c (Sun Microsystems, 1993): erf is x + x R(x^2) up to
0.84; 0.845 + R(|x| - 1) up to 1.25; beyond, erfc is e^(-x^2 - 0.5625 + R(1/x^2)) / x, with x^2 in two parts. What the sums
and the quotient lose by rounding is given back.
float32: minimax polynomials, x + x P(x^2) up to 0.93 and 1 - e^(-x - x P(x)) beyond.
"""

import numpy as np

from ._series import upper_half

_CENTRE = 8.45062911510467529297e-01
_SMALL = (
    (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03,
     -2.37630166566501626084e-05),
    (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03, 1.32494738004321644526e-04,
     -3.96022827877536812320e-06),
)
_MIDDLE = (
    (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01, 3.18346619901161753674e-01,
     -1.10894694282396677476e-01, 3.54783043256182359371e-02, -2.16637559486879084300e-03),
    (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02, 1.26171219808761642112e-01,
     1.36370839120290507362e-02, 1.19844998467991074170e-02),
)
_LARGE = (
    (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01, -6.23753324503260060396e01,
     -1.62396669462573470355e02, -1.84605092906711035994e02, -8.12874355063065934246e01, -9.81432934416914548592e00),
    (1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02, 6.45387271733267880336e02,
     4.29008140027567833386e02, 1.08635005541779435134e02, 6.57024977031928170135e00, -6.04244152148580987438e-02),
)
_HUGE = (
    (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01, -1.60636384855821916062e02,
     -6.37566443368389627722e02, -1.02509513161107724954e03, -4.83519191608651397019e02),
    (1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03, 3.19985821950859553908e03,
     2.55305040643316442583e03, 4.74528541206955367215e02, -2.24409524465858183362e01),
)
# log(e^(x^2) erfc(x)) + 0.875 in x - 1.046875 (interpolated at Chebyshev's points in 50 digits), where fdlibm loses two bits.
_NEAR_ONE = (
    -0.004216609793800911, -0.6245286954481708, 0.15117847623359953, -0.03972272258335019, 0.009578162192769638,
    -0.0019100940977641978, 0.0002443556973588452, 1.6825265510819743e-05, -2.3298788059761283e-05,
    8.646532229050772e-06, -1.937632006830932e-06, 1.557886285495431e-07,
)
_SMALL_FLOAT32 = (1.2837915e-01, -3.761249e-01, 1.128173e-01, -2.6762916e-02, 4.9872594e-03, -5.959062e-04)
_LARGE_FLOAT32 = (1.286485e-01, 6.3515127e-01, 1.06236994e-01, -2.3762163e-02, 3.6425062e-03, -3.2281526e-04, 1.1232416e-05)


def error_function(x):
    """erf of a flat float64 array."""
    size = np.abs(x)
    result = np.sign(x)
    _fill(result, x, size < 0.84375, _near_zero)
    _fill(result, x, (size >= 0.84375) & (size < 1.25), lambda x: np.copysign(_CENTRE + _near_one(np.abs(x)), x))
    _fill(result, x, (size >= 1.25) & (size < 6), lambda x: np.copysign(1 - _tail(np.abs(x)), x))
    return result


def complement(x):
    """erfc of a flat float64 array."""
    size = np.abs(x)
    result = 1 - np.sign(x)
    _fill(result, x, size < 0.84375, _complement_near_zero)
    _fill(result, x, (size >= 0.84375) & (size < 1.25), _complement_near_one)
    _fill(result, x, (size >= 1.25) & (x < 28) & (x > -6), _complement_far)
    return result


def error_function_float32(x):
    """erf of a flat float32 array."""
    size = np.minimum(np.abs(x), np.float32(4))
    near = _polynomial(x * x, _SMALL_FLOAT32)
    near *= x
    near += x
    far = _polynomial(size, _LARGE_FLOAT32)
    far *= size
    far += size
    np.negative(far, out=far)
    np.exp(far, out=far)
    np.subtract(1, far, out=far)
    np.copysign(far, x, out=far)
    return np.where(size < np.float32(0.93), near, far)


def complement_float32(x):
    """erfc of a flat float32 array."""
    return complement(x.astype(np.float64)).astype(np.float32)


def _fill(result, x, mask, function):
    if mask.any():
        result[mask] = function(x[mask])


def _near_zero(x):
    return x + x * _ratio(x * x, _SMALL)


def _near_one(size):
    return _ratio(size - 1, _MIDDLE)


def _complement_near_zero(x):
    part = x * _ratio(x * x, _SMALL)
    return np.where(x < 0.25, 1 - (x + part), 0.5 - (x - 0.5 + part))


def _complement_near_one(x):
    size = np.abs(x)
    total, lost = _power(size, 0.875, _polynomial(size - 1.046875, _NEAR_ONE))
    return np.where(x >= 0, total + lost, 1 + (_CENTRE + _near_one(size)))


def _complement_far(x):
    tail = _tail(np.abs(x))
    return np.where(x >= 0, tail, 2 - tail)


def _tail(x):
    """erfc of positive numbers from 1.25 up."""
    inverse_square, is_near = 1 / (x * x), x < 1 / 0.35
    ratio = np.where(is_near, _ratio(inverse_square, _LARGE), _ratio(inverse_square, _HUGE))
    # Most of the ratio goes into the first exponent: the smaller the second, the less is lost by rounding.
    shift = np.where(is_near, 0.75, 0.5625)
    total, lost = _power(x, shift, ratio + (shift - 0.5625))
    return _quotient(total, x, lost)


def _power(x, shift, exponent):
    """e^(-x^2 - shift + exponent) for a small exponent, and what rounding took from it."""
    upper = upper_half(x)
    power = np.exp(-upper * upper - shift)
    part = power * np.expm1((upper - x) * (upper + x) + exponent)
    total = power + part
    return total, part - (total - power)


def _quotient(x, y, more):
    """`x + more`, where `more` is tiny, over `y`: the quotient's own rounding error is found and given back."""
    quotient = x / y
    left, right = upper_half(quotient), upper_half(y)
    rest = x - left * right - left * (y - right) - (quotient - left) * y
    return quotient + (rest + more) / y


def _ratio(x, coefficients):
    return _polynomial(x, coefficients[0]) / _polynomial(x, coefficients[1])


def _polynomial(x, coefficients):
    """Horner's scheme in place; the lowest coefficient comes first."""
    total = x * x.dtype.type(coefficients[-1])
    for c in coefficients[-2:0:-1]:
        total += x.dtype.type(c)
        total *= x
    total += x.dtype.type(coefficients[0])
    return total
