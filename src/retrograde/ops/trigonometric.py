"""Trigonometric and hyperbolic functions. Angles are in radians."""

import numpy as np

from ._families import elementwise
from ._samples import uniform


@elementwise()
def sin(x, /):
    r"""Sine of each element of `x`, in radians.

    $z = \sin x \;\Rightarrow\; \bar x = \bar z \cos x$
    """
    return np.sin(x)


sin.defvjp(lambda g, x: g * cos(x))


@elementwise()
def cos(x, /):
    r"""Cosine of each element of `x`, in radians.

    $z = \cos x \;\Rightarrow\; \bar x = -\bar z \sin x$
    """
    return np.cos(x)


cos.defvjp(lambda g, x: -g * sin(x))


@elementwise(samples=uniform(-1.2, 1.2))
def tan(x, /):
    r"""Tangent of each element of `x`, in radians.

    $z = \tan x \;\Rightarrow\; \bar x = \bar z\, (1 + z^2)$
    """
    return np.tan(x)


tan.defvjp(lambda g, z: g * (1 + z * z))


@elementwise()
def tanh(x, /):
    r"""Hyperbolic tangent.

    $z = \tanh x \;\Rightarrow\; \bar x = \bar z\, (1 - z^2)$
    """
    return np.tanh(x)


tanh.defvjp(lambda g, z: g * (1 - z * z))
