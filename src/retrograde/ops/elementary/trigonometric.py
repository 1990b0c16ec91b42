"""Trigonometric functions and their inverses, lengths and angles of points, and tanh. Angles are in radians."""

import math

import numpy as np

from ...dtypes import is_float
from .._families import elementwise
from .._native import by_element, by_many_elements
from .._samples import uniform
from .arithmetic import sqrt
from .comparisons import where
from .conversions import is_narrow, narrowed, widened


@elementwise(faster=by_many_elements)
def sin(x, /):
    r"""Sine of each element of `x`, in radians.

    $z = \sin x \;\Rightarrow\; \bar x = \bar z \cos x$
    """
    return np.sin(x)


sin.defvjp(lambda g, x: g * cos(x))


@elementwise(faster=by_many_elements)
def cos(x, /):
    r"""Cosine of each element of `x`, in radians.

    $z = \cos x \;\Rightarrow\; \bar x = -\bar z \sin x$
    """
    return np.cos(x)


cos.defvjp(lambda g, x: -g * sin(x))


@elementwise(faster=by_many_elements, samples=uniform(-1.2, 1.2))
def tan(x, /):
    r"""Tangent of each element of `x`, in radians.

    $z = \tan x \;\Rightarrow\; \bar x = \bar z\, (1 + z^2)$
    """
    return np.tan(x)


tan.defvjp(lambda g, z: g * (1 + z * z))


@elementwise(faster=by_many_elements)
def tanh(x, /):
    r"""Hyperbolic tangent.

    $z = \tanh x \;\Rightarrow\; \bar x = \bar z\, (1 - z^2)$
    """
    return _complex_tanh(x) if np.iscomplexobj(x) else np.tanh(x)


def _complex_tanh(x):
    """NumPy's, with a zero of the sign of the imaginary part of `x` where the real part is infinite."""
    is_far = np.isinf(x.real) & np.isfinite(x.imag)
    found = np.asarray(np.tanh(np.where(is_far, 0, x)))
    found[is_far] = (np.copysign(1, x.real) + 1j * np.copysign(0, x.imag))[is_far]
    return found


tanh.defvjp(lambda g, z: g * (1 - z * z))


@elementwise(faster=by_many_elements, aliases=("arcsin",), samples=uniform(-0.9, 0.9))
def asin(x, /):
    r"""Angle between -π/2 and π/2 whose sine is `x`; the derivative at ±1 is infinite.

    $z = \arcsin x \;\Rightarrow\; \bar x = \bar z / \sqrt{(1 - x)(1 + x)}$
    """
    return np.arcsin(x)


asin.defvjp(lambda g, x: g / sqrt((1 - x) * (1 + x)))


@elementwise(faster=by_many_elements, aliases=("arccos",), samples=uniform(-0.9, 0.9))
def acos(x, /):
    r"""Angle between 0 and π whose cosine is `x`; the derivative at ±1 is infinite.

    $z = \arccos x \;\Rightarrow\; \bar x = -\bar z / \sqrt{(1 - x)(1 + x)}$
    """
    return np.arccos(x)


acos.defvjp(lambda g, x: -g / sqrt((1 - x) * (1 + x)))


@elementwise(faster=by_many_elements, aliases=("arctan",))
def atan(x, /):
    r"""Angle between -π/2 and π/2 whose tangent is `x`.

    $z = \arctan x \;\Rightarrow\; \bar x = \bar z / (1 + x^2)$
    """
    return np.arctan(x)


atan.defvjp(lambda g, x: g / (1 + x * x))


@elementwise(aliases=("radians",), emit=lambda k, x: k.multiply(x, np.pi / 180))
def deg2rad(x, /):
    r"""Degrees as radians.

    $z = \pi x / 180 \;\Rightarrow\; \bar x = \pi \bar z / 180$
    """
    return np.deg2rad(x)


deg2rad.defvjp(lambda g: g * (np.pi / 180))


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


def _sinc_in_ops(x):
    # Of half precision pi is too far from itself, and its product with a large number no number any more.
    wide = widened(x)
    y = np.pi * where(wide == 0, 1, wide)
    found = where(wide == 0, 1, np.sin(y) / y)
    return narrowed(found.astype(wide.dtype), x) if is_float(x.dtype) else found


@elementwise(faster=by_element, expansion=_sinc_in_ops)
def sinc(x, /):
    r"""$\sin(\pi x) / (\pi x)$, and 1 at 0, where the derivative is 0.

    $z = \operatorname{sinc} x \;\Rightarrow\; \bar x = \bar z\, (\cos \pi x - z) / x$; near 0, where that cancels, its
    series in $x$.
    """
    return np.sinc(x.astype(np.float32)).astype(x.dtype) if is_narrow(x) else np.sinc(x)


def _sinc_slope(x):
    r"""$(\cos y - \sin y / y) / x$ with $y = \pi x$; for small $y$ the series $\sum_k (-1)^k 2k\, y^{2k} / (2k+1)! / x$."""
    is_near = x.real * x.real + x.imag * x.imag < 1 / 16 if x.dtype.kind == "c" else (x < 0.25) & (x > -0.25)
    far = np.pi * where(is_near, 0.25, x)
    near = np.pi * where(is_near, x, 0)
    square, series = near * near, 0
    for k in range(9, 0, -1):
        series = (series * square) + (-1) ** k * 2 * k / math.factorial(2 * k + 1)
    return np.pi * where(is_near, near * series, (cos(far) - sin(far) / far) / far)


sinc.defvjp(lambda g, x: g * narrowed(_sinc_slope(widened(x)), x))
