"""Special functions: the error function and its complement, and functions with a removable singularity."""

import math

import numpy as np

from ..dtypes import is_float
from ._blocks import in_blocks
from ._error_function import complement, complement_float32, error_function, error_function_float32
from ._families import elementwise
from ._native import by_element, by_many_elements
from ._samples import uniform
from .comparisons import where
from .exponential import exp, log
from .trigonometric import cos, sin

_SLOPE = 2 / math.sqrt(math.pi)


@elementwise(is_real=True, faster=by_element)
def erf(x, /):
    r"""The error function $\frac{2}{\sqrt\pi} \int_0^x e^{-t^2} dt$.

    $z = \operatorname{erf} x \;\Rightarrow\; \bar x = \bar z\, \tfrac{2}{\sqrt\pi}\, e^{-x^2}$
    """
    return in_blocks(ERF, x)


erf.defvjp(lambda g, x: g * (_SLOPE * exp(-x * x)))


@elementwise(is_real=True, faster=by_many_elements)
def erfc(x, /):
    r"""$1 - \operatorname{erf} x$, precise where that is tiny.

    $z = \operatorname{erfc} x \;\Rightarrow\; \bar x = -\bar z\, \tfrac{2}{\sqrt\pi}\, e^{-x^2}$
    """
    return in_blocks(ERFC, x)


erfc.defvjp(lambda g, x: g * (-_SLOPE * exp(-x * x)))

# One function per dtype; a missing one is computed in float64.
ERF = {"float64": error_function, "float32": error_function_float32, "float16": error_function_float32,
       "bfloat16": error_function_float32}
ERFC = {"float64": complement, "float32": complement_float32, "float16": complement_float32, "bfloat16": complement_float32}


def _sinc_in_ops(x):
    y = np.pi * where(x == 0, 1, x)
    found = where(x == 0, 1, np.sin(y) / y)
    return found.astype(x.dtype) if is_float(x.dtype) else found


@elementwise(faster=by_element, expansion=_sinc_in_ops)
def sinc(x, /):
    r"""$\sin(\pi x) / (\pi x)$, and 1 at 0, where the derivative is 0.

    $z = \operatorname{sinc} x \;\Rightarrow\; \bar x = \bar z\, (\cos \pi x - z) / x$; near 0, where that cancels, its
    series in $x$.
    """
    return np.sinc(x) if np.asarray(x).dtype.kind != "V" else np.sinc(x.astype(np.float32)).astype(x.dtype)


def _sinc_slope(x):
    r"""$(\cos y - \sin y / y) / x$ with $y = \pi x$; for small $y$ the series $\sum_k (-1)^k 2k\, y^{2k} / (2k+1)! / x$."""
    is_near = x.real * x.real + x.imag * x.imag < 1 / 16 if x.dtype.kind == "c" else (x < 0.25) & (x > -0.25)
    far = np.pi * where(is_near, 0.25, x)
    near = np.pi * where(is_near, x, 0)
    square, series = near * near, 0
    for k in range(9, 0, -1):
        series = (series * square) + (-1) ** k * 2 * k / math.factorial(2 * k + 1)
    return np.pi * where(is_near, near * series, (cos(far) - sin(far) / far) / far)


sinc.defvjp(lambda g, x: g * _sinc_slope(x))


def _xlogy_in_ops(x, y):
    is_zero = (x == 0) & (y == y)
    return where(is_zero, 0, x * log(where(is_zero, 1, y)))


@elementwise(faster=by_element, expansion=_xlogy_in_ops, samples=(uniform(-3, 3), uniform(0.2, 4)))
def xlogy(x, y, /):
    r"""$x \ln y$, and 0 where $x = 0$ and $y$ is not NaN; there both derivatives are 0 too.

    $z = x \ln y \;\Rightarrow\; \bar x = \bar z \ln y,\; \bar y = \bar z\, x / y$
    """
    x, y = np.asarray(x), np.asarray(y)
    is_zero = (x == 0) & ~np.isnan(y)
    return np.where(is_zero, 0, x * np.log(np.where(is_zero, 1, y)))


xlogy.defvjp(
    lambda g, x, y: g * log(where((x == 0) & (y == 0), 1, y)),
    lambda g, x, y: g * x / where((x == 0) & (y == 0), 1, y),
)


@elementwise(faster=by_many_elements, samples=(uniform(0.3, 3), uniform(-3, 3)))
def hypot(x, y, /):
    r"""$\sqrt{x^2 + y^2}$ without overflow; both derivatives at (0, 0) are 0.

    $z = \sqrt{x^2 + y^2} \;\Rightarrow\; \bar x = \bar z\, x / z,\; \bar y = \bar z\, y / z$
    """
    return np.hypot(x, y)


hypot.defvjp(lambda g, x, z: g * (x / where(z == 0, 1, z)), lambda g, y, z: g * (y / where(z == 0, 1, z)))


@elementwise(faster=by_many_elements, aliases=("arctan2",), samples=(uniform(-3, 3), uniform(0.3, 3)))
def atan2(y, x, /):
    r"""Angle of the point (`x`, `y`) in radians, from -π to π; both derivatives at (0, 0) are 0.

    $z = \operatorname{atan2}(y, x) \;\Rightarrow\;
    \bar y = \bar z\, \frac{x}{x^2 + y^2},\; \bar x = -\bar z\, \frac{y}{x^2 + y^2}$
    """
    return np.arctan2(y, x)


def _over_square(a, y, x):
    """`a` over the squared length of (`x`, `y`), in two divisions so that neither overflows."""
    length = hypot(x, y)
    length = where(length == 0, 1, length)
    return a / length / length


atan2.defvjp(lambda g, y, x: g * _over_square(x, y, x), lambda g, y, x: -g * _over_square(y, y, x))
