"""erf, erfc and the tail of the normal distribution.

erf near zero is x + x S(x^2). The complement is e^(-x^2) P(t) / (x + c) with t = (x - c) / (x + c), after Shepherd and
Laframboise (Chebyshev approximation of (1 + 2x) exp(x^2) erfc(x), 1981); what rounding takes from x^2 is given back.
All polynomials are minimax (Remez exchange in 50 digits).
"""


from .exponential import exponential_rest, exponential_to_limit, reduce, scale
from .table import function

# erf(x) / x - 1 in x^2, for |x| up to 0.93 and 0.875.
_SMALL = {
    "float32": (1.2837915e-01, -3.761249e-01, 1.128173e-01, -2.6762916e-02, 4.9872594e-03, -5.959062e-04),
    "float64": (
        0.1283791670955126,
        -0.3761263890318413,
        0.11283791670974294,
        -0.026866170648921026,
        0.005223977663877379,
        -0.0008548329293935488,
        0.00012055416261976092,
        -1.492759600869139e-05,
        1.649082384337694e-06,
        -1.661867699442053e-07,
        1.5916650895501655e-08,
        -1.288737390474715e-09,
    ),
}
_IS_SMALL_BELOW = {"float32": 0.93, "float64": 0.875}
# -log(erfc(x)) / x - 1 for x from 0.92 to 4, where float32 erf is 1.
_LARGE = (1.286485e-01, 6.3515127e-01, 1.06236994e-01, -2.3762163e-02, 3.6425062e-03, -3.2281526e-04, 1.1232416e-05)
# (x + c) e^(x^2) erfc(x) in t, and c.
_COMPLEMENT = {
    "float32": (
        1.0215827e00,
        -6.871609e-01,
        2.7947113e-01,
        -3.643591e-02,
        -2.1498865e-02,
        6.435725e-03,
        3.029197e-03,
        -7.321647e-04,
        -5.137296e-04,
        -3.6235637e-05,
    ),
    "float64": (
        1.0740069070883398,
        -0.8833944531698822,
        0.5902283571040958,
        -0.31046726190071816,
        0.11952776128764281,
        -0.02682723461997519,
        -0.001212416634760808,
        0.0030340619390004384,
        -0.0005483096130786109,
        -0.00027677736845279504,
        0.00010756103284267138,
        3.0395920846949236e-05,
        -1.7469035202422217e-05,
        -4.742495220357793e-06,
        2.7623792670987038e-06,
        9.857942486518046e-07,
        -4.0483661809615923e-07,
        -2.172420994246384e-07,
        4.5123551448351956e-08,
        3.834998749332484e-08,
        -2.110044246692246e-09,
        -3.4217002390317286e-09,
    ),
}
_CENTRE = {"float32": 2.0, "float64": 3.0}
# Where the complement is below half the smallest denormal.
ZERO_ABOVE = {"float32": 10.2, "float64": 27.3}


@function
def erf(k, x):
    """The error function."""
    magnitude, square = k.abs(x), k.multiply(x, x)
    small = k.fma(x, k.polynomial(square, _SMALL[k.dtype]), x)
    large = k.copysign(k.subtract(1, _COMPLEMENT_FOR_ERF[k.dtype](k, magnitude)), x)
    return k.where(k.less(magnitude, _IS_SMALL_BELOW[k.dtype]), small, large)


@function
def erfc(k, x):
    """One less the error function, with its full precision down to denormal results."""
    part, n = complement(k, _bounded(k, k.abs(x)))
    tail = scale(k, part, n)
    return k.where(k.less(x, 0), k.subtract(2, tail), tail)


def complement(k, x):
    """erfc(x) for x >= 0 as a number and the power of two that it is to be scaled by."""
    square = k.multiply(x, x)
    n, r = reduce(k, k.negative(square), k.negative(k.fma(x, x, k.negative(square))))
    inverse, owed = _inverse(k, x, _CENTRE[k.dtype])
    t = k.fma(inverse, -2 * _CENTRE[k.dtype], 1)
    t = k.fma(k.multiply(inverse, -2 * _CENTRE[k.dtype]), owed, t)
    constant, *others = _COMPLEMENT[k.dtype]
    series = k.fma(t, k.polynomial(t, others), constant)
    main = k.multiply(series, inverse)
    # The product with 1 + (r + rest of the exponential), smallest terms first: what rounding took from `main`, what it is owed.
    rest = k.fma(main, owed, k.fma(series, inverse, k.negative(main)))
    return k.add(k.fma(r, main, k.fma(exponential_rest(k, r), main, rest)), main), n


def _inverse(k, x, centre):
    """1 / (x + centre), and the relative error of that number."""
    total = k.add(x, centre)
    lost = k.subtract(x, k.subtract(total, centre))
    inverse = k.divide(1, total)
    return inverse, k.fma(k.negative(inverse), lost, k.fma(k.negative(inverse), total, 1))


def _bounded(k, magnitude):
    return k.where(k.less(ZERO_ABOVE[k.dtype], magnitude), ZERO_ABOVE[k.dtype], magnitude)


def _short_complement(k, x):
    x = k.where(k.less(4.0, x), 4.0, x)
    return exponential_to_limit(k, k.negative(k.fma(x, k.polynomial(x, _LARGE), x)))


def _full_complement(k, x):
    # Beyond 6, erf is 1 in float64, so no denormals appear.
    part, n = complement(k, k.where(k.less(6.0, x), 6.0, x))
    return scale(k, part, n)


_COMPLEMENT_FOR_ERF = {"float32": _short_complement, "float64": _full_complement}
