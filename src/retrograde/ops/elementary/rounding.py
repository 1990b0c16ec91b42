"""Rounding to whole numbers. The results are constant between jumps, so the derivative is 0."""

import numpy as np

from .._families import elementwise
from .._samples import uniform

_BETWEEN = uniform(0.55, 0.95)


@elementwise(samples=_BETWEEN)
def floor(x, /):
    r"""The greatest whole number not above `x`. Constant between jumps: $\bar x = 0$."""
    return np.floor(x)


@elementwise(samples=_BETWEEN)
def ceil(x, /):
    r"""The least whole number not below `x`. Constant between jumps: $\bar x = 0$."""
    return np.ceil(x)


@elementwise(aliases=("fix",), samples=_BETWEEN)
def trunc(x, /):
    r"""`x` without its fraction. Constant between jumps: $\bar x = 0$."""
    return np.trunc(x)


@elementwise(aliases=("rint",), samples=_BETWEEN)
def round(x, /):
    r"""The nearest whole number, the even one of two. Constant between jumps: $\bar x = 0$."""
    return np.round(x)


for _rounding in (floor, ceil, trunc, round):
    _rounding.defvjp(lambda g: g * 0)
