"""Roots other than the square root, which is arithmetic."""

import numpy as np

from ._families import elementwise
from ._native import by_many_elements
from ._samples import uniform


@elementwise(samples=uniform(0.2, 4))
def rsqrt(x, /):
    r"""One over the square root of `x`.

    $z = x^{-1/2} \;\Rightarrow\; \bar x = -\tfrac12 \bar z\, z^3$
    """
    return np.true_divide(1, np.sqrt(x))


rsqrt.defvjp(lambda g, z: g * (-0.5 * z * z * z))


@elementwise(faster=by_many_elements, samples=uniform(-3, 3, avoid=(0,), gap=0.5))
def cbrt(x, /):
    r"""Cube root, negative for negative `x`; the derivative at 0 is infinite.

    $z = x^{1/3} \;\Rightarrow\; \bar x = \bar z / (3 z^2)$
    """
    return np.cbrt(x)


cbrt.defvjp(lambda g, z: g / (3 * z * z))
