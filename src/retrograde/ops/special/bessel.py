"""Bessel functions: the modified ones of the first kind of order 0 and 1, as they are and scaled by a decaying exponential, by
Chebyshev's series, in 60 digits: up to 8 in x, beyond in 1 / x; and those of any order, which is a constant, from SciPy.
"""

import math

import numpy as np

from ...dtypes import is_float
from ...extras import optional
from .._families import elementwise
from .._samples import call, of, uniform
from ..elementary.arithmetic import abs, sign, sqrt
from ..elementary.comparisons import where
from ._blocks import in_blocks
from ._series import chebyshev, fill

_ZERO_NEAR = (
    0.8262129209438136, -0.5292895902519765, 0.31375515232535567, -0.1735193395562134, 0.08832627921566781,
    -0.041128820381635636, 0.01748398645795523, -0.00678561933977325, 0.0024061350366698575, -0.0007799044990518872,
    0.00023090768138163168, -6.224637071916221e-05, 1.5154971471588303e-05, -3.271117668080798e-06, 5.978215940155203e-07,
    -7.962083613625925e-08, 1.2469864051657919e-09, 4.044434666633148e-09, -1.908375975910081e-09, 6.382508944764591e-10,
    -1.8358382237362957e-10, 4.834429565039289e-11, -1.2023209661713964e-11, 2.8800819862972167e-12, -6.741321461423306e-13,
    1.559245855624244e-13, -3.595092698490728e-14, 8.316100400211544e-15, -1.9380406914517783e-15, 4.560326994643317e-16,
    -1.084172846297062e-16, 2.603146458132577e-17, -6.306353936286039e-18,
)
_ZERO_FAR = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06, 2.0489185894690638e-07,
    2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10, 1.1889147107846439e-11, -3.1499165279632416e-11,
    -1.3215811840447713e-11, -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14,
    -4.150569347287222e-14, -9.554846698828307e-15, 3.811680669352621e-15, 1.7725601330565245e-15, -3.425485619677142e-16,
    -2.827623980516646e-16, 3.461222867695658e-17, 4.465621420302078e-17, -4.8305044859640105e-18, -7.233180488043844e-18,
)
_ONE_NEAR = (
    1.5652362891141827, -1.3184683945041278, 0.6566509193747436, -0.2902458837810422, 0.11396962937823193,
    -0.039594992221504, 0.012033243856000016, -0.003114304350405361, 0.0006389945118533842, -7.734924416673896e-05,
    -1.1237132123564694e-05, 1.1631753618159e-05, -4.9579106107115845e-06, 1.6049521125787806e-06, -4.3820147866709584e-07,
    1.0425257866032521e-07, -2.170642715322716e-08, 3.867368497453769e-09, -5.412514316796323e-10, 3.7419195268696205e-11,
    1.016904687077528e-11, -5.904238046530005e-12, 1.952748691134365e-12, -5.336104938526596e-13, 1.3185869642006011e-13,
    -3.066777564863189e-14, 6.8745895834622344e-15, -1.510067845551011e-15, 3.2909518834226185e-16, -7.18172475708853e-17,
    1.5793383634402595e-17, -3.513004898998912e-18,
)
_ONE_FAR = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06, -2.512236237870209e-07,
    -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10, -1.8974958123505413e-11, 3.2526035830154884e-11,
    1.4125807436613782e-11, 2.0356285441470896e-12, -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14,
    4.2724400167119517e-14, 1.0420276984128802e-14, -3.814403072437007e-15, -1.8803547755107805e-15, 3.30820231092085e-16,
    2.9626289976460157e-16, -3.209525921991637e-17, -4.6503053684947827e-17, 4.414348323093937e-18, 7.517296311011398e-18,
)


def _scaled(order, near, far):
    """The kernel of e^-|x| I(x). Up to 8 the series is that of e^-x I(x) x^-order (x + 4)^(order + 1/2), which is level."""
    def small(x):
        size = np.abs(x)
        return chebyshev(size / 4 - 1, near) * x**order / ((size + 4) ** order * np.sqrt(size + 4))

    def large(x):
        size = np.abs(x)
        return chebyshev(16 / size - 1, far) / np.sqrt(size) * np.sign(x) ** order

    def kernel(x):
        result = np.full_like(x, np.nan)
        fill(result, x, np.abs(x) <= 8, small)
        fill(result, x, np.abs(x) > 8, large)
        return result

    return kernel


_zero, _one = _scaled(0, _ZERO_NEAR, _ZERO_FAR), _scaled(1, _ONE_NEAR, _ONE_FAR)


def _grown(kernel):
    def grown(x):
        # Up to 1000, where it has overflowed, and in two steps, since the exponential does so before the product.
        x = np.clip(x, -1e3, 1e3)
        half = np.exp(0.5 * np.abs(x))
        return kernel(x) * half * half

    return grown


@elementwise(is_real=True)
def i0e(x, /):
    r"""$e^{-|x|} I_0(x)$, which does not overflow.

    $z = e^{-|x|} I_0(x) \;\Rightarrow\; \bar x = \bar z\,(e^{-|x|} I_1(x) - \operatorname{sign}(x)\, z)$
    """
    return in_blocks({"float64": _zero}, x)


@elementwise(is_real=True, samples=uniform(-3, 3, avoid=(0,)))
def i1e(x, /):
    r"""$e^{-|x|} I_1(x)$, which does not overflow.

    $z = e^{-|x|} I_1(x) \;\Rightarrow\; \bar x = \bar z\,(e^{-|x|} I_0(x) - z\,(\operatorname{sign}(x) + 1 / x))$, and
    $\tfrac12 \bar z$ at 0.
    """
    return in_blocks({"float64": _one}, x)


@elementwise(is_real=True)
def i0(x, /):
    r"""The modified Bessel function $I_0$.

    $z = I_0(x) \;\Rightarrow\; \bar x = \bar z\, I_1(x)$
    """
    return in_blocks({"float64": _grown(_zero)}, x)


@elementwise(is_real=True)
def i1(x, /):
    r"""The modified Bessel function $I_1$.

    $z = I_1(x) \;\Rightarrow\; \bar x = \bar z\,(I_0(x) - z / x)$, and $\tfrac12 \bar z$ at 0.
    """
    return in_blocks({"float64": _grown(_one)}, x)


#: (I_1 - I_0) e^-x sqrt(2 pi x) in 1 / x, from the first power on: the differences of Hankel's expansions (DLMF 10.40.1).
_APART = (
    -0.5, -0.1875, -0.17578125, -0.25634765625, -0.5046844482421875, -1.249094009399414, -3.7212592363357544,
    -12.95795626938343, -51.629357010824606, -231.6150321457826, -1155.1799728270908, -6340.362805403237, -37976.1313865298,
    -246479.69890295787, -1723157.1807233572,
)
#: From here on that is to rounding what the two would lose by their difference.
_FAR = 50.0


def _apart(x):
    """The derivative of `i0e` at places far from 0."""
    size = abs(where(abs(x) > _FAR, x, _FAR))
    series = 0.0
    for c in reversed(_APART):
        series = (series + c) / size
    return sign(x) * series / sqrt(2 * math.pi * size)


def _over(z, x):
    """`z / x`, and its limit 1/2 at 0."""
    is_zero = x == 0
    return where(is_zero, 0.5, z / where(is_zero, 1, x))


def _i0e_rule(g, x, z):
    return g * where(abs(x) > _FAR, _apart(x), i1e(x) - sign(x) * z)


def _i1e_rule(g, x, z):
    return g * (where(abs(x) > _FAR, -sign(x) * _apart(x), i0e(x) - sign(x) * z) - _over(z, x))


i0e.defvjp(_i0e_rule)
i1e.defvjp(_i1e_rule)
i0.defvjp(lambda g, x: g * i1(x))
i1.defvjp(lambda g, x, z: g * (i0(x) - _over(z, x)))


_PLACE = uniform(0.5, 4)
_SAMPLES = (call(of((2, 3), _PLACE), 1), call(of((), _PLACE), n=0), call(of((2,), _PLACE), n=np.array([0, 2])))


def _computed(name, n, x):
    x = np.asarray(x) if not hasattr(x, "dtype") else x
    found = getattr(optional("scipy.special", "scipy"), name)(n, x.astype(np.float64))
    return found.astype(x.dtype if is_float(x.dtype) else np.float64)


@elementwise(is_real=True, samples=_SAMPLES)
def bessel_j(x, /, n):
    r"""$J_n(x)$, the Bessel function of the first kind, of order `n`.

    $z = J_n(x) \;\Rightarrow\; \bar x = \tfrac12 \bar z\,(J_{n - 1}(x) - J_{n + 1}(x))$
    """
    return _computed("jv", n, x)


@elementwise(is_real=True, samples=_SAMPLES)
def bessel_y(x, /, n):
    r"""$Y_n(x)$, the Bessel function of the second kind, of order `n`, for positive `x`.

    $z = Y_n(x) \;\Rightarrow\; \bar x = \tfrac12 \bar z\,(Y_{n - 1}(x) - Y_{n + 1}(x))$
    """
    return _computed("yv", n, x)


@elementwise(is_real=True, samples=_SAMPLES)
def bessel_i(x, /, n):
    r"""$I_n(x)$, the modified Bessel function of the first kind, of order `n`.

    $z = I_n(x) \;\Rightarrow\; \bar x = \tfrac12 \bar z\,(I_{n - 1}(x) + I_{n + 1}(x))$
    """
    return _computed("iv", n, x)


@elementwise(is_real=True, samples=_SAMPLES)
def bessel_ie(x, /, n):
    r"""$e^{-|x|} I_n(x)$, which does not overflow.

    $\bar x = \bar z\,(e^{-|x|} (I_{n - 1}(x) + I_{n + 1}(x)) / 2 - \operatorname{sign}(x)\, z)$
    """
    return _computed("ive", n, x)


bessel_j.defvjp(lambda g, x, n: g * 0.5 * (bessel_j(x, n - 1) - bessel_j(x, n + 1)))
bessel_y.defvjp(lambda g, x, n: g * 0.5 * (bessel_y(x, n - 1) - bessel_y(x, n + 1)))
bessel_i.defvjp(lambda g, x, n: g * 0.5 * (bessel_i(x, n - 1) + bessel_i(x, n + 1)))
bessel_ie.defvjp(lambda g, x, n, z: g * (0.5 * (bessel_ie(x, n - 1) + bessel_ie(x, n + 1)) - sign(x) * z))
