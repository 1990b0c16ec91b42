"""Complex parts: complex numbers as two real ones, and arithmetic on them that knows which parts are zero.

A part that is known to be zero takes no part in products and sums: a real factor scales each part by itself, so that one which is
infinite makes no NaN of the other.
"""

from typing import NamedTuple

import numpy as np

from ...dtypes import is_complex
from ...ops.elementary.arithmetic import abs as magnitude
from ...ops.elementary.comparisons import where
from ..graph.constants import first, is_uniform


class Parts(NamedTuple):
    """The parts of complex numbers: values, arrays or numbers; of what is known to be real the imaginary part is the number 0."""

    real: object
    imag: object


def known_parts(argument):
    """The parts of an argument that is no node of complex numbers; equal elements of a constant are one number."""
    if isinstance(argument, (np.ndarray, np.generic)):
        return _parts_of_constant(np.asarray(argument))
    return Parts(argument.real, argument.imag) if argument.__class__ in (complex, bool) else Parts(argument, 0)


def _parts_of_constant(array):
    if is_uniform(array):
        number = first(array).item()
        return Parts(number.real, number.imag)  # of a truth value the number
    if not is_complex(array):
        return Parts(array, 0)
    return Parts(np.ascontiguousarray(array.real), np.ascontiguousarray(array.imag))


def is_zero(x):
    """Whether a part is known to be zero."""
    return x.__class__ in (int, float) and x == 0


def times(x, y):
    """The product of two parts."""
    if is_zero(x) or is_zero(y):
        return 0
    for a, b in ((x, y), (y, x)):
        # i times something is no product at all.
        if a.__class__ in (int, float) and a in (1, -1):
            return b if a == 1 else -b
    return x * y


def plus(x, y):
    """The sum of two parts."""
    return y if is_zero(x) else x if is_zero(y) else x + y


def minus(x, y):
    """The difference of two parts."""
    return x if is_zero(y) else -y if is_zero(x) else x - y


def multiplied(x, y, times=times):
    """The product of complex numbers; `times` is that of parts, which may be matrices."""
    for zero, other in ((x, y), (y, x)):
        # The number 0 is a factor like any other: 0 times infinity is NaN. What is left out above is a part of no effect.
        if is_zero(zero.real) and is_zero(zero.imag):
            return Parts(other.real * zero.real, other.imag * zero.real)
    return Parts(minus(times(x.real, y.real), times(x.imag, y.imag)), plus(times(x.real, y.imag), times(x.imag, y.real)))


def scaled(x, factor):
    """Complex numbers times a real number."""
    return Parts(times(x.real, factor), times(x.imag, factor))


def divided(x, y):
    """Robert L. Smith's way (1962): the larger part of the divisor is divided by, so that no square overflows."""
    if is_zero(y.imag):
        return Parts(x.real / y.real, 0 if is_zero(x.imag) else x.imag / y.real)
    if is_zero(y.real):
        return Parts(0 if is_zero(x.imag) else x.imag / y.imag, 0 if is_zero(x.real) else -x.real / y.imag)
    is_real = magnitude(y.real) >= magnitude(y.imag)
    large, small = where(is_real, y.real, y.imag), where(is_real, y.imag, y.real)
    is_none = large == 0
    ratio = where(is_none, 0, small / large)
    scale = 1 / where(is_none, 0, large + small * ratio)
    near, far = where(is_real, x.real, x.imag), where(is_real, x.imag, x.real)
    turned = far - near * ratio
    return Parts((near + far * ratio) * scale, where(is_real, turned, -turned) * scale)
