"""Bits of numbers: shifts of integers, signs and neighbours of floats."""

import numpy as np

from .._families import comparison, elementwise
from .._samples import call, uniform
from .comparisons import where

_NUMBERS = call(np.array([1, 5, -7]), np.array([[0], [2]]))


@comparison(aliases=("left_shift",), samples=(_NUMBERS,))
def bitwise_left_shift(x, y, /):
    """The bits of the integers `x` moved left by `y` places: `x` times a power of two, in its own width."""
    return np.left_shift(x, y)


@comparison(aliases=("right_shift",), samples=(_NUMBERS,))
def bitwise_right_shift(x, y, /):
    """The bits of the integers `x` moved right by `y` places; the sign stays."""
    return np.right_shift(x, y)


@comparison()
def signbit(x, /):
    """Whether the sign of `x` is minus; true of -0 too."""
    return np.signbit(x)


@elementwise(samples=(uniform(-3, 3, avoid=(0,)), uniform(-3, 3, avoid=(0,))))
def copysign(x, y, /):
    r"""The size of `x` with the sign of `y`.

    $z = |x| \operatorname{sgn} y \;\Rightarrow\; \bar x = \pm \bar z$, minus where the signs of $x$ and $y$ differ; none for $y$.
    """
    return np.copysign(x, y)


copysign.defvjp(lambda g, x, y: where(signbit(x) == signbit(y), g, -g), None)


@elementwise()
def nextafter(x, y, /):
    r"""The number next to `x` in the direction of `y`.

    As near as it is, $\bar x = \bar z$; none for $y$.
    """
    return np.nextafter(x, y)


nextafter.defvjp(lambda g: g, None)
