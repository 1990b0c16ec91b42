"""asin, acos, atan and atan2: minimax polynomials (Remez exchange in 50 digits) in the square of a reduced argument.

asin(x) for |x| > 1/2 comes from pi/2 - 2 asin(sqrt((1 - |x|) / 2)); atan(x) for |x| > 1 from pi/2 - atan(1 / |x|), as
in Cody and Waite (Software Manual for the Elementary Functions, 1980).
"""

import math

from .table import function

# pi / 2 as a leading and a trailing part.
_HALF_PI = {"float32": (1.5707963705062866, -4.371138828673793e-08), "float64": (math.pi / 2, 6.123233995736766e-17)}
# (asin(s) / s - 1) / s^2 for s^2 <= 1/4.
_ARC_SINE = {
    "float32": (1.6666752e-01, 7.4953094e-02, 4.546915e-02, 2.4184786e-02, 4.2158272e-02),
    "float64": (
        0.16666666666665408,
        0.07500000000337163,
        0.04464285682818489,
        0.030381959143432807,
        0.02237175788648266,
        0.017359707333907817,
        0.013885209306185439,
        0.012169387747294742,
        0.006527196264085023,
        0.019530442998850123,
        -0.016227741442650174,
        0.03191470980406922,
    ),
}
# (atan(t) / t - 1) / t^2 for t <= 1.
_ARC_TANGENT = {
    "float32": (
        -3.33333e-01,
        1.999853e-01,
        -1.4264014e-01,
        1.0950861e-01,
        -8.399208e-02,
        5.787887e-02,
        -3.1093534e-02,
        1.0866272e-02,
        -1.7821451e-03,
    ),
    "float64": (
        -0.3333333333333307,
        0.19999999999951745,
        -0.14285714282587805,
        0.11111111007333511,
        -0.09090907007645531,
        0.07692279887080226,
        -0.06666404407975106,
        0.05880529715006983,
        -0.05253526363711337,
        0.04722346950473166,
        -0.042192399304881445,
        0.0366430873352405,
        -0.029905635358088805,
        0.02198694385985839,
        -0.013902454116482945,
        0.007197798153621405,
        -0.0028855643095075474,
        0.0008315434696518839,
        -0.00015220762469598812,
        1.322964680503177e-05,
    ),
}


@function
def asin(k, x):
    """The angle between -pi/2 and pi/2 whose sine is `x`; NaN outside [-1, 1]."""
    high, low = _HALF_PI[k.dtype]
    is_large, s, rest = _reduced_arc_sine(k, k.abs(x))
    # pi/2 - 2 s with what rounding took from it; the smaller rest comes last.
    double = k.add(s, s)
    main = k.subtract(high, double)
    lost = k.subtract(k.subtract(high, main), double)
    large = k.add(main, k.subtract(lost, k.subtract(k.add(rest, rest), low)))
    return k.copysign(k.where(is_large, large, k.add(s, rest)), x)


@function
def acos(k, x):
    """The angle between 0 and pi whose cosine is `x`; NaN outside [-1, 1]."""
    high, low = _HALF_PI[k.dtype]
    is_large, s, rest = _reduced_arc_sine(k, k.abs(x))
    angle = k.add(s, rest)
    double = k.add(angle, angle)
    large = k.where(k.less(x, 0), k.subtract(2 * high, k.subtract(double, 2 * low)), double)
    signed = k.copysign(angle, x)
    return k.where(is_large, large, k.subtract(high, k.subtract(signed, low)))


@function
def atan(k, x):
    """The angle between -pi/2 and pi/2 whose tangent is `x`."""
    magnitude = k.abs(x)
    is_large = k.greater(magnitude, 1)
    t = k.where(is_large, k.divide(1, magnitude), magnitude)
    return k.copysign(_reflect(k, is_large, _arc_tangent(k, t)), x)


@function
def atan2(k, y, x):
    """The angle between -pi and pi of the point (`x`, `y`), with the signs of zeros and infinities as in C."""
    across, up = k.abs(x), k.abs(y)
    is_steep = k.greater(up, across)
    smaller, larger = k.where(is_steep, across, up), k.where(is_steep, up, across)
    # Equal operands include 0 / 0 and inf / inf, whose ratio would be NaN; the sum brings NaN operands in.
    ratio = k.where(k.equal(up, across), 1, k.divide(smaller, larger))
    ratio = k.where(k.equal(larger, 0), 0, ratio)
    total = k.add(across, up)
    ratio = k.where(k.isnan(total), total, ratio)
    angle = _reflect(k, is_steep, _arc_tangent(k, ratio))
    high, low = _HALF_PI[k.dtype]
    is_left = k.less(k.bits(x), 0)
    return k.copysign(k.where(is_left, k.subtract(2 * high, k.subtract(angle, 2 * low)), angle), y)


def _reduced_arc_sine(k, magnitude):
    """Whether the magnitude is above 1/2; then asin of sqrt((1 - magnitude) / 2), or else of itself, as two numbers."""
    is_large = k.greater(magnitude, 0.5)
    half = k.multiply(k.subtract(1, magnitude), 0.5)
    square = k.where(is_large, half, k.multiply(magnitude, magnitude))
    s = k.where(is_large, k.sqrt(half), magnitude)
    return is_large, s, k.multiply(k.multiply(s, square), k.polynomial(square, _ARC_SINE[k.dtype]))


def _arc_tangent(k, t):
    square = k.multiply(t, t)
    return k.fma(k.multiply(t, square), k.polynomial(square, _ARC_TANGENT[k.dtype]), t)


def _reflect(k, mask, angle):
    high, low = _HALF_PI[k.dtype]
    return k.where(mask, k.subtract(high, k.subtract(angle, low)), angle)
