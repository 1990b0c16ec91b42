"""Hyperbolic functions and their inverses; tanh stands with the trigonometric ones."""

import numpy as np

from .._families import elementwise
from .._native import by_many_elements
from .._samples import uniform
from .arithmetic import sqrt
from .trigonometric import hypot


@elementwise(faster=by_many_elements)
def sinh(x, /):
    r"""Hyperbolic sine.

    $z = \sinh x \;\Rightarrow\; \bar x = \bar z \cosh x$
    """
    return np.sinh(x)


sinh.defvjp(lambda g, x: g * cosh(x))


@elementwise(faster=by_many_elements)
def cosh(x, /):
    r"""Hyperbolic cosine.

    $z = \cosh x \;\Rightarrow\; \bar x = \bar z \sinh x$
    """
    return np.cosh(x)


cosh.defvjp(lambda g, x: g * sinh(x))


@elementwise(faster=by_many_elements, aliases=("arcsinh",))
def asinh(x, /):
    r"""Inverse of `sinh`.

    $z = \operatorname{arsinh} x \;\Rightarrow\; \bar x = \bar z / \sqrt{1 + x^2}$
    """
    return np.arcsinh(x)


asinh.defvjp(lambda g, x: g / (sqrt(x * x + 1) if x.dtype.kind == "c" else hypot(x, 1.0)))


@elementwise(faster=by_many_elements, aliases=("arccosh",), samples=uniform(1.2, 4))
def acosh(x, /):
    r"""Inverse of `cosh` for `x` from 1; the derivative at 1 is infinite.

    $z = \operatorname{arcosh} x \;\Rightarrow\; \bar x = \bar z / (\sqrt{x - 1} \sqrt{x + 1})$
    """
    return np.arccosh(x)


acosh.defvjp(lambda g, x: g / (sqrt(x - 1) * sqrt(x + 1)))


@elementwise(faster=by_many_elements, aliases=("arctanh",), samples=uniform(-0.9, 0.9))
def atanh(x, /):
    r"""Inverse of `tanh` for `x` between -1 and 1, where the derivative is infinite.

    $z = \operatorname{artanh} x \;\Rightarrow\; \bar x = \bar z / ((1 - x)(1 + x))$
    """
    return np.arctanh(x)


atanh.defvjp(lambda g, x: g / ((1 - x) * (1 + x)))
