"""Ufuncs of NumPy and SciPy that are made of ops."""

import math

import numpy as np

from ...dtypes import is_float
from ...errors import DTypeError
from ...ops.arithmetic import abs, floor_divide, power, remainder, sign
from ...ops.bessel_orders import bessel_i, bessel_ie, bessel_j, bessel_y
from ...ops.bits import copysign, signbit
from ...ops.comparisons import isinf, isnan, maximum, minimum, where
from ...ops.complexes import conj
from ...ops.contractions import matmul
from ...ops.exponential import exp, log, log1p, logaddexp
from ...ops.gammas import regularized_beta
from ...ops.movements import expand_dims
from ...ops.rounding import trunc
from ...ops.special import xlogy
from ...ops.trigonometric import cos, sin, tan
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


def boxcox(x, exponent):
    """Box and Cox's transform: a power that begins at the logarithm."""
    is_zero = data_of(exponent) == 0
    safe = where(is_zero, 1, exponent)
    return where(is_zero, log(x), (x**safe - 1) / safe)


def pseudo_huber(delta, r):
    """A smooth loss, square near 0 and linear beyond `delta`."""
    return delta**2 * ((1 + (r / delta) ** 2) ** 0.5 - 1)


def huber(delta, r):
    """A loss, square up to `delta` and linear beyond."""
    size = abs(r)
    return where(data_of(size) <= data_of(delta), 0.5 * r * r, delta * (size - 0.5 * delta))


def _of_order(op, name):
    """A Bessel function with SciPy's order of arguments."""
    return lambda n, x: op(x, constant(n, f"the order of {name}"))


def _betainc(a, b, x):
    return regularized_beta(x, constant(a, "a in betainc"), constant(b, "b in betainc"))


def gammasgn(x):
    """The sign of the gamma function, a plain array."""
    x = data_of(x)
    return np.where((x > 0) | (np.floor(x) % 2 == 0), 1.0, -1.0)


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
    "rel_entr": lambda x, y: xlogy(x, x / y), "kl_div": lambda x, y: xlogy(x, x / y) - x + y,
    "exp10": lambda x: exp(x * math.log(10)),
    "boxcox": boxcox, "inv_boxcox": lambda y, exponent: exp(log1p(exponent * y) / exponent), "pseudo_huber": pseudo_huber,
    "huber": huber, "sindg": lambda x: sin(x * (math.pi / 180)), "cosdg": lambda x: cos(x * (math.pi / 180)),
    "tandg": lambda x: tan(x * (math.pi / 180)),
}
