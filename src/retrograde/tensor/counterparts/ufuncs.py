"""Ufuncs of NumPy and SciPy that are made of ops."""

import math

import numpy as np

from ...dtypes import is_float
from ...errors import DTypeError
from ...ops.complexes import conj
from ...ops.elementary.arithmetic import abs, floor_divide, power, remainder, sign
from ...ops.elementary.bits import copysign, signbit
from ...ops.elementary.comparisons import isinf, isnan, maximum, minimum, where
from ...ops.elementary.conversions import as_floats
from ...ops.elementary.exponential import exp, expm1, log, log1p, logaddexp
from ...ops.elementary.rounding import round, trunc
from ...ops.elementary.trigonometric import cos, hypot, sin, tan
from ...ops.linalg.contractions import matmul
from ...ops.manipulation.movements import expand_dims
from ...ops.special.bessel import bessel_i, bessel_ie, bessel_j, bessel_y
from ...ops.special.entropies import log1pmx
from ...ops.special.gamma import regularized_beta
from .operands import cast, constant, data_of, stacked
from .passing import on_data


def fmax(x, y):
    """The greater of `x` and `y`; the other one where one is NaN."""
    return where(isnan(y), x, where(isnan(x), y, maximum(x, y)))


def fmin(x, y):
    """The lesser of `x` and `y`; the other one where one is NaN."""
    return where(isnan(y), x, where(isnan(x), y, minimum(x, y)))


def fmod(x, y):
    """What is left of `x` after division by `y`, with the sign of `x`: exact, as `x - y * trunc(x / y)` is not."""
    x, y = stacked(x), stacked(y)
    if np.result_type(x.dtype, y.dtype).kind == "f":
        return where(signbit(x), -remainder(-x, abs(y)), remainder(x, abs(y)))
    rest = remainder(x, y)
    return where((rest != 0) & ((x < 0) != (y < 0)), rest - y, rest)


def float_power(x, y):
    """`x` to the power `y` in double precision, whatever the operands are."""
    x, y = stacked(x), stacked(y)
    dtype = np.result_type(x.dtype, y.dtype, np.float64)
    return power(cast(x, dtype), cast(y, dtype))


def fabs(x):
    """The size of `x`, a float."""
    if x.dtype.kind == "c":
        raise DTypeError(f"np.fabs takes real numbers, got {x.dtype}; use np.abs")
    return abs(_float(x))


def _float(x):
    """`x`, integers in the type of floats that NumPy's functions make of them."""
    return x if is_float(x.dtype) else x.astype(np.sqrt(np.empty(0, x.dtype)).dtype)


def ldexp(x, n):
    """`x` times 2 to the power `n`, a whole number."""
    n = stacked(n)
    if n.dtype.kind not in "biu":
        raise DTypeError(f"np.ldexp takes whole numbers as exponents, got {n.dtype}; use x * 2.0**n")
    return x * 2.0 ** data_of(n)


def logaddexp2(x, y):
    """The logarithm of the sum of powers of 2, to base 2."""
    return logaddexp(x * math.log(2), y * math.log(2)) / math.log(2)


def heaviside(x, y):
    """0 below 0, `y` at 0, 1 above."""
    x = stacked(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"np.heaviside takes real numbers, got {x.dtype}")
    return where(data_of(x) == 0, y, sign(x) * 0.5 + 0.5)


def modf(x):
    """The fraction and the whole part."""
    whole = trunc(x)
    return copysign(where(isinf(x), 0, x - where(isinf(x), 0, whole)), x), whole


#: As in SciPy: exponents below are taken for 0. There the first terms of the series have the derivatives in the exponent.
_ALMOST_ZERO = 1e-19
#: The logarithm of the greatest float64.
_GREATEST = math.log(np.finfo(float).max)
#: Two numbers whose logarithms lie so far apart may have a ratio that does not fit a float32.
_MOST_APART = 80.0


def boxcox(x, exponent):
    """Box and Cox's transform: a power that begins at the logarithm."""
    x, exponent = as_floats(stacked(x), stacked(exponent))
    is_zero = abs(exponent) < _ALMOST_ZERO
    safe, level = where(is_zero, 1, exponent), log(x)
    u = exponent * where(is_zero & ~isinf(level), level, 0)
    near = level * (1 + u * (1 / 2 + u * (1 / 6 + u / 24)))
    raised = safe * level
    # Where the power does not fit, its quotient by the exponent may.
    is_great = (raised > _GREATEST) & ~isinf(raised)
    far = exp(where(is_great, raised, 0) - log(abs(safe))) * sign(safe) - 1 / safe
    found = where(is_great, far, expm1(where(is_great, 0, raised)) / safe)
    return where(is_zero, near, where(x < 0, np.nan, found))


def inv_boxcox(y, exponent):
    """What `boxcox` made `y` of."""
    y, exponent = as_floats(stacked(y), stacked(exponent))
    is_zero = abs(exponent) < _ALMOST_ZERO
    safe = where(is_zero, 1, exponent)
    u = exponent * where(is_zero & (abs(y) < 1 / _ALMOST_ZERO), y, 0)
    near = exp(where(is_zero, y, 0) * (1 - u * (1 / 2 - u * (1 / 3 - u / 4))))
    with np.errstate(over="ignore"):
        raised = safe * y
    # A product that does not fit is the power itself: its logarithm is a sum of two.
    is_great = (raised == np.inf) & ~isinf(y)
    level = where(is_great, log(abs(safe)) + log(where(is_great, abs(y), 1)), log1p(where(is_great, 0, raised)))
    return where(is_zero, near, exp(level / safe))


def rel_entr(x, y):
    """x log(x / y): 0 where `x` is 0, and infinite outside of the numbers for which it is defined."""
    x, y = as_floats(stacked(x), stacked(y))
    is_inside = (x > 0) & (y > 0)
    over, under = where(is_inside, x, 1), where(is_inside, y, 1)
    # As in SciPy: near 1 the difference of both is known better than their ratio, and one that does not fit has a logarithm.
    is_near, far = (over > 0.5 * under) & (over < 2 * under), log(over) - log(under)
    is_plain = ~is_near & (abs(far) < _MOST_APART)
    level = where(is_plain, log(where(is_plain, over, 1) / where(is_plain, under, 1)), far)
    inside = x * where(is_near, log1p(where(is_near, over - under, 0) / where(is_near, under, 1)), level)
    return where(isnan(x) | isnan(y), np.nan, where(is_inside, inside, where((x == 0) & (y >= 0), x * 0, np.inf)))


def kl_div(x, y):
    """x log(x / y) - x + y: `y` where `x` is 0, and infinite outside of the numbers for which it is defined."""
    x, y = as_floats(stacked(x), stacked(y))
    found = rel_entr(x, y)
    apart = y - x
    is_near = (x > 0) & (abs(apart) < 0.5 * x)
    near = -x * log1pmx(where(is_near, apart, 0) / where(is_near, x, 1))
    return where(found == np.inf, found, where(is_near, near, found - x + y))


def pseudo_huber(delta, r):
    """A smooth loss, square near 0 and linear beyond `delta`; infinite for a `delta` below 0."""
    delta, r = as_floats(stacked(delta), stacked(r))
    is_plain = (delta > 0) & ~isinf(r)
    safe, size = where(is_plain, delta, 1), where(is_plain, abs(r), 1)
    # delta^2 (sqrt(1 + (r / delta)^2) - 1), written so that nothing is lost for a small `r`.
    found = safe * size * (size / (hypot(safe, size) + safe))
    return where(delta < 0, np.inf, where(is_plain, found, where(delta == 0, 0, delta * abs(r))))


def huber(delta, r):
    """A loss, square up to `delta` and linear beyond; infinite for a `delta` below 0."""
    r, delta = as_floats(stacked(r), stacked(delta))
    size = abs(r)
    return where(delta < 0, np.inf, where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta)))


def _of_order(op, name):
    """A Bessel function with SciPy's order of arguments."""
    return lambda n, x: op(x, constant(n, f"the order of {name}"))


def _betainc(a, b, x):
    return regularized_beta(x, constant(a, "a in betainc"), constant(b, "b in betainc"))


def gammasgn(x):
    """The sign of the gamma function, a plain array; NaN at its poles below 0, that of zero at zero."""
    x = np.asarray(data_of(x))
    found = np.where((x > 0) | (np.floor(x) % 2 == 0), 1.0, -1.0)
    found = np.where(((x < 0) & (np.floor(x) == x)) | np.isnan(x), np.nan, found)
    return np.where(x == 0, np.copysign(1.0, x), found)


def _of_degrees(x, turns):
    """The sine of an angle in degrees after so many quarter turns. What is left of it after quarter turns is exact."""
    left, quarters = _quarters(x)
    quarters = (quarters + turns) % 4
    found = where(quarters % 2 == 0, sin(left), cos(left))
    return where(quarters >= 2, -found, found)


def _tandg(x):
    left, quarters = _quarters(x)
    tangent = tan(left)
    is_across = quarters % 2 == 1
    # As in SciPy, infinite and positive at a pole.
    return where(is_across, 1 / where(is_across & (tangent != 0), -tangent, where(is_across, 0, 1)), tangent)


def _quarters(x):
    """An angle in degrees as one in radians of an eighth of a turn at most, and the quarter turns beside it, from 0 to 3."""
    left = fmod(x, 360.0)
    quarters = round(left / 90)
    return (left - 90 * quarters) * (math.pi / 180), quarters % 4


FUNCTIONS = {
    "j0": lambda x: bessel_j(x, 0), "j1": lambda x: bessel_j(x, 1), "jv": _of_order(bessel_j, "jv"), "yv": _of_order(bessel_y,
    "yv"),
    "y0": lambda x: bessel_y(x, 0), "y1": lambda x: bessel_y(x, 1), "yn": _of_order(bessel_y, "yn"), "iv": _of_order(bessel_i,
    "iv"),
    "ive": _of_order(bessel_ie, "ive"), "betainc": _betainc, "gammasgn": gammasgn,
    "fmax": fmax, "fmin": fmin, "fmod": fmod, "logaddexp2": logaddexp2, "heaviside": heaviside, "modf": modf,
    "divmod": lambda x, y: (floor_divide(x, y), remainder(x, y)), "ldexp": ldexp, "fabs": fabs, "float_power": float_power,
    **{ufunc.__name__: on_data(ufunc) for ufunc in (np.gcd, np.lcm, np.bitwise_count)},
    "rad2deg": lambda x: x * (180 / math.pi), "degrees": lambda x: x * (180 / math.pi),
    "vecmat": lambda x, y: matmul(conj(expand_dims(x, -2)), y)[..., 0, :],
    "matvec": lambda x, y: matmul(x, expand_dims(y, -1))[..., 0],
    "rel_entr": rel_entr, "kl_div": kl_div,
    "exp10": lambda x: power(10.0, x),
    "boxcox": boxcox, "inv_boxcox": inv_boxcox, "pseudo_huber": pseudo_huber,
    "huber": huber, "sindg": lambda x: _of_degrees(x, 0), "cosdg": lambda x: _of_degrees(x, 1), "tandg": _tandg,
}
