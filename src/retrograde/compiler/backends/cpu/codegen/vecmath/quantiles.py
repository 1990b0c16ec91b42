"""The inverse of the error function: x times a function of -log(1 - x^2), after Giles (Approximating the erfinv function, 2012).

The polynomials, in w and further out in its root, were interpolated at Chebyshev's points in 60 digits. float32 is computed in
float64.
"""

import math

from .gamma import in_double
from .table import function

#: (erfinv(x) / x - sqrt(pi) / 2) / w for w up to 6.25, in (w - 3.125) / 3.125.
_NEAR = (
    0.2455768439137103,
    -0.005418661488121982,
    -0.013436559985086896,
    0.006203136799985164,
    -0.0005044610181338034,
    -0.0008194795827070531,
    0.0004125380569069194,
    -1.8142673951666484e-05,
    -6.64633013701981e-05,
    2.9058864775430893e-05,
    8.187119453234563e-07,
    -5.627540738272274e-06,
    2.0251425714686564e-06,
    2.5635204733785513e-07,
    -4.74961344761454e-07,
    1.3624406779130892e-07,
    3.5982455823308726e-08,
    -3.962496188770075e-08,
    8.623532880255397e-09,
    4.270721224746391e-09,
    -3.3015831456832184e-09,
    3.4533503905397824e-10,
    5.018749534392278e-10,
    -1.871012237801231e-10,
    -2.8117018545965057e-11,
    2.1965563106749125e-11,
    -1.3918896463843172e-12,
)
#: For the root of w from 2.5 to 4, in (that - 3.25) / 0.75, and to 6.1, in (that - 5.05) / 1.05.
_MIDDLE = (
    3.0838856104922208,
    0.7539442257706239,
    0.0030211394363746885,
    -0.00158254108940199,
    0.0007883078513079846,
    -0.00040063569846925524,
    0.00016966502194777007,
    -4.7391826157852505e-05,
    2.405865076448461e-06,
    5.127310375726711e-06,
    -2.6647952922407413e-06,
    5.264836449538595e-07,
    9.28979825459953e-08,
    -9.473507184362659e-08,
    2.6390022902204392e-08,
    -3.0687985531916444e-10,
    -2.449703622445961e-09,
    9.355173107926157e-10,
    -1.2535906943543032e-10,
    -3.7061743370508346e-11,
    2.6628788575107826e-11,
    -7.474122442541719e-12,
    1.653679272052552e-13,
    7.355750847966781e-13,
    -1.994553472965659e-13,
)
_FAR = (
    4.90042105144364,
    1.0607992684776597,
    -0.0001872685458712891,
    -0.00023188618667784728,
    8.659304863668758e-05,
    -2.3451082669134016e-05,
    5.620165332291164e-06,
    -1.276353323735455e-06,
    2.978815620656727e-07,
    -8.525135226193847e-08,
    3.5552541246394714e-08,
    -1.90824541001152e-08,
    1.040820917746543e-08,
    -5.093755947800989e-09,
    2.104695775715129e-09,
    -6.834680581941821e-10,
    1.4111946641964353e-10,
    6.5684015105598946e-12,
    -2.1778922343804373e-11,
    1.1766729161847468e-11,
    -4.1325546033811904e-12,
    5.626635683628366e-13,
    3.2551905903645475e-13,
    -1.301453207550934e-13,
)


@function
def erfinv(k, x):
    """The y with erf(y) = x; infinite at -1 and 1, NaN beyond."""
    if k.dtype == "float32":
        return in_double(k, x, "erfinv")
    size = k.abs(x)
    w = k.negative(k.log(k.multiply(k.subtract(1, size), k.add(1, size))))
    near = k.fma(w, k.polynomial(_within(k, w, 3.125, 3.125), _NEAR), math.sqrt(math.pi) / 2)
    root = k.sqrt(w)
    middle = k.polynomial(_within(k, root, 3.25, 0.75), _MIDDLE)
    far = k.polynomial(_within(k, root, 5.05, 1.05), _FAR)
    ratio = k.where(k.less(w, 6.25), near, k.where(k.less(w, 16.0), middle, far))
    found = k.multiply(x, k.where(k.isnan(w), math.nan, ratio))
    return k.where(k.equal(size, 1), k.copysign(math.inf, x), found)


def _within(k, x, middle, reach):
    """`x` on the way from -1 to 1, and 0 where it lies beyond."""
    part = k.multiply(k.subtract(x, middle), 1 / reach)
    return k.where(k.less_equal(k.abs(part), 1.0001), part, 0)
