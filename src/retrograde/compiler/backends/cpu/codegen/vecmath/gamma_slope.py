"""How a gamma distributed number moves with its shape: see ops/random/_gamma_slope.py, whose formulas and constants these are."""

import math

from ......ops.random import _gamma_slope as given
from ......ops.special._log_gamma import HARMONIC
from .table import function


@function
def gamma_slope(k, a, x):
    """The slope for shape `a` and number `x`; float32 is computed in float64."""
    if k.dtype == "float32":
        wide = [k.convert(operand, "float64") for operand in (a, x)]
        return k.convert(k.with_dtype("float64").gamma_slope(*wide), "float32")
    is_moved = k.logical_or(k.less(a, given.LEAST), k.less(x, k.multiply(a, given.FAR_BELOW)))
    b, logarithm = k.where(is_moved, k.add(a, given.STEPS), a), k.log(x)
    found, rise = _by_series(k, b, x, logarithm)
    found, rise = k.rarely(is_moved, (found, rise), lambda: [
        k.where(is_moved, moved, kept) for moved, kept in zip(_stepped(k, a, x, found, rise), (found, rise), strict=True)])
    is_far = k.logical_and(k.less(given.GREAT, x), k.less(k.multiply(a, given.FAR_ABOVE), x))
    found = k.rarely(is_far, (found,), lambda: [k.where(is_far, _far_above(k, a, x, rise), found)])[0]
    is_shape = k.less(0, a)
    at_zero = k.where(k.logical_and(k.equal(x, 0), is_shape), 0, math.nan)
    return k.where(k.logical_and(k.less(0, x), is_shape), found, at_zero)


def _by_series(k, b, x, logarithm):
    """The slope for shape `b`, and digamma of that less the logarithm of `x`."""
    inverse, log_of_b = k.divide(1, b), k.log(b)
    u = k.clip(k.subtract(logarithm, log_of_b), given.LOWEST, given.HIGHEST)
    found = k.polynomial(u, given.SERIES[-1])
    for row in reversed(given.SERIES[:-1]):
        found = k.fma(found, inverse, k.polynomial(u, row))
    square = k.multiply(inverse, inverse)
    less = k.fma(square, k.polynomial(square, HARMONIC), k.multiply(0.5, inverse))
    return k.multiply(k.multiply(x, inverse), found), k.subtract(k.subtract(log_of_b, less), logarithm)


def _stepped(k, a, x, found, rise):
    """Both for shape `a` from those for the shape that is so many steps above it."""
    for n in reversed(range(given.STEPS)):
        part = k.divide(1, k.add(a, n))
        found = k.multiply(k.multiply(x, part), k.add(found, rise))
        rise = k.subtract(rise, part)
    return found, rise


def _far_above(k, a, x, rise):
    less = k.subtract(x, a)
    fraction, change = k.add(less, 2 * given.FRACTION + 1), k.constant(-1)
    for n in range(given.FRACTION, 0, -1):
        part = k.divide(1, fraction)
        factor = k.multiply(k.multiply(k.subtract(n, a), n), part)
        change = k.fma(k.multiply(factor, part), change, k.fma(part, n, -1))
        fraction = k.subtract(k.add(less, 2 * n - 1), factor)
    return k.negative(k.multiply(k.divide(x, fraction), k.add(rise, k.divide(change, fraction))))
