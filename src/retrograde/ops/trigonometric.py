"""Trigonometric functions and their inverses, and tanh. Angles are in radians."""

import numpy as np

from ._families import elementwise
from ._native import by_many_elements
from ._samples import uniform
from .arithmetic import sqrt


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
