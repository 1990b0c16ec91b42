"""How a beta distributed number moves with its first parameter: formulas and constants are those of ops/random/_beta_slope.py."""

import math

from ......ops.random import _beta_slope as given
from .. import ir
from ..counting import counted
from .table import function

_INDEX = ir.IntType(64)


@function
def first_beta_slope(k, x, a, b):
    """The slope over 1 - x for place `x` and parameters `a` and `b`; float32 is computed in float64."""
    if k.dtype == "float32":
        wide = [k.convert(operand, "float64") for operand in (x, a, b)]
        return k.convert(k.with_dtype("float64").first_beta_slope(*wide), "float32")
    is_known = k.logical_and(k.less_equal(0, x), k.less_equal(x, 1))
    for parameter in (a, b):
        is_known = k.logical_and(is_known, k.logical_and(k.less(0, parameter), k.less(parameter, given.BEYOND)))
    x, a, b = k.maximum(k.where(is_known, x, 0.5), given.TINY), k.where(is_known, a, 1), k.where(is_known, b, 1)
    both, least = k.add(a, b), k.minimum(a, b)
    is_above, is_great = k.less(k.add(a, 1), k.multiply(x, k.add(both, 2))), k.less_equal(given.GREAT, least)
    p, q, y = k.where(is_above, b, a), k.where(is_above, a, b), k.where(is_above, k.subtract(1, x), x)
    count = k.fma(k.sqrt(k.where(is_great, 0, least)), given.PER_ROOT, given.FEWEST)
    steps = k.convert(k.reduce(k.maximum, count), "int64")
    value, change = _fraction(k, steps, y, p, q, k.where(is_above, 0, k.constant(1)))
    rate = k.add(k.log(x), k.subtract(k.digamma(both), k.digamma(k.where(is_above, a, k.add(a, 1)))))
    found = k.multiply(k.divide(x, k.where(is_above, b, k.negative(a))), k.fma(value, rate, change))
    found = k.rarely(is_great, (found,), lambda: [k.where(is_great, _at_mean(k, x, a, both), found)])[0]
    return k.where(is_known, found, math.nan)


def _at_mean(k, x, a, both):
    off = k.divide(k.subtract(k.divide(a, both), x), x)
    is_there = k.equal(off, 0)
    ratio = k.where(is_there, 1, k.divide(k.log1p(off), k.where(is_there, 1, off)))
    return k.divide(ratio, both)


def _fraction(k, steps, y, p, q, of_p):
    """The fraction and its derivative, by a loop over `steps`, a number of the machine."""
    b, of_q = k.ir, k.subtract(1, of_p)
    start, one, zero = b.block, k.constant(1), k.constant(0)
    with counted(b, _INDEX(0), steps) as index:
        value, change = b.phi(one.type), b.phi(one.type)
        value.add_incoming(one, start)
        change.add_incoming(zero, start)
        m = k.broadcast(b.sitofp(b.sub(steps, index), ir.DoubleType()))
        below = k.add(p, k.multiply(2, m))
        first, second = k.subtract(below, 1), k.subtract(below, 2)
        inverse = k.divide(1, k.multiply(below, first))
        weight = k.multiply(k.multiply(m, y), inverse)
        factor = k.multiply(weight, k.subtract(q, m))
        slope = k.subtract(k.multiply(weight, of_q), k.multiply(k.multiply(factor, inverse), k.multiply(k.add(below, first), of_p)))
        nearer = _step(k, value, change, factor, slope)
        own = k.add(p, k.subtract(m, 1))
        other = k.add(own, q)
        # The first of all is p (p + q) / (p (p + 1)), where p may be too small for its square.
        inverse_of_second = k.divide(1, second)
        inverse = k.divide(inverse_of_second, first)
        factor = k.negative(k.multiply(k.multiply(k.divide(own, second), k.divide(other, first)), y))
        moved = k.multiply(k.multiply(k.fma(other, of_p, own), y), inverse)
        slope = k.negative(k.fma(k.multiply(factor, inverse), k.multiply(k.add(first, second), of_p), moved))
        last = _step(k, *nearer, factor, slope)
        end = b.block
        value.add_incoming(last[0], end)
        change.add_incoming(last[1], end)
    inverse = k.divide(1, last[0])
    return inverse, k.negative(k.multiply(k.multiply(last[1], inverse), inverse))


def _step(k, value, change, factor, slope):
    inverse = k.divide(1, value)
    part = k.multiply(factor, inverse)
    return k.add(part, 1), k.multiply(k.subtract(slope, k.multiply(part, change)), inverse)
