"""Comparisons and logic, whose results are boolean, and the choices made by them."""

import numpy as np

from ...dtypes import promoted
from .._families import comparison, elementwise
from .._samples import call, distinct, uniform

_BITS = (call(np.array([[0, 1, 2], [3, 5, 250]], np.uint8), np.array([6, 3, 255], np.uint8)),
         call(np.array([True, False]), np.array([[True], [False]])), call(np.int64(-7), np.array([12, -1])))


@comparison()
def less(x, y, /):
    """Whether `x` is less than `y`; boolean, without a gradient."""
    return np.less(x, y)


@comparison()
def less_equal(x, y, /):
    """Whether `x` is at most `y`; boolean, without a gradient."""
    return np.less_equal(x, y)


@comparison()
def greater(x, y, /):
    """Whether `x` is greater than `y`; boolean, without a gradient."""
    return np.greater(x, y)


@comparison()
def greater_equal(x, y, /):
    """Whether `x` is at least `y`; boolean, without a gradient."""
    return np.greater_equal(x, y)


@comparison()
def equal(x, y, /):
    """Whether `x` equals `y`; boolean, without a gradient."""
    return np.equal(x, y)


@comparison()
def not_equal(x, y, /):
    """Whether `x` differs from `y`; boolean, without a gradient."""
    return np.not_equal(x, y)


@comparison()
def logical_and(x, y, /):
    """Whether both `x` and `y` are true (not zero)."""
    return np.logical_and(x, y)


@comparison()
def logical_or(x, y, /):
    """Whether `x` or `y` is true (not zero)."""
    return np.logical_or(x, y)


@comparison()
def logical_xor(x, y, /):
    """Whether exactly one of `x` and `y` is true (not zero)."""
    return np.logical_xor(x, y)


@comparison()
def logical_not(x, /):
    """Whether `x` is false (zero)."""
    return np.logical_not(x)


@comparison()
def isfinite(x, /):
    """Whether `x` is neither infinite nor NaN."""
    return np.isfinite(x)


@comparison()
def isinf(x, /):
    """Whether `x` is infinite."""
    return np.isinf(x)


@comparison()
def isnan(x, /):
    """Whether `x` is not a number."""
    return np.isnan(x)


@elementwise(samples=(uniform(-1, 1), uniform(-3, 3), uniform(-3, 3)))
def where(condition, x, y, /):
    r"""`x` where `condition` holds, else `y`.

    $z = c\,x + (1 - c)\,y \;\Rightarrow\; \bar x = c\,\bar z,\; \bar y = (1 - c)\,\bar z$; none for the condition.

    Both branches are computed everywhere: a NaN derivative in the branch that is not taken stays NaN. The safe form
    keeps that branch finite: `where(x > 0, log(where(x > 0, x, 1)), 0)`.
    """
    try:
        return np.where(condition, x, y)
    except np.exceptions.DTypePromotionError:  # NumPy has no common type for bfloat16 and some others
        dtype = promoted([x, y])
        return np.where(condition, np.asarray(x, dtype), np.asarray(y, dtype))


where.defvjp(None, lambda g, condition: where(condition, g, 0), lambda g, condition: where(condition, 0, g))


@elementwise(samples=(distinct(-3, 0), distinct(-2.9, 0.1)))
def maximum(x, y, /):
    r"""The greater of `x` and `y`; NaN if either is.

    $\bar x = \bar z\,[x > y] + \tfrac12 \bar z\,[x = y]$, and likewise for `y`: a tie is shared equally, and where the
    result is NaN the gradient goes to the NaN.
    """
    return np.maximum(x, y)


@elementwise(samples=(distinct(-3, 0), distinct(-2.9, 0.1)))
def minimum(x, y, /):
    r"""The lesser of `x` and `y`; NaN if either is.

    $\bar x = \bar z\,[x < y] + \tfrac12 \bar z\,[x = y]$, and likewise for `y`: a tie is shared equally, and where the
    result is NaN the gradient goes to the NaN.
    """
    return np.minimum(x, y)


def _share(g, mine, other, z):
    """The part of `g` that belongs to `mine`, of which `z` is the greater or the lesser beside `other`."""
    is_mine, is_tie = (mine == z) | (mine != mine), (mine == other) | ((mine != mine) & (other != other))
    return where(is_mine, where(is_tie, g * 0.5, g), 0)


for _extremum in (maximum, minimum):
    _extremum.defvjp(lambda g, x, y, z: _share(g, x, y, z), lambda g, x, y, z: _share(g, y, x, z))


def _emit_clip(k, x, low, high):
    x = x if low is None else k.maximum(x, low)
    return x if high is None else k.minimum(x, high)


@elementwise(optional=("min", "max"), emit=_emit_clip, samples=(distinct(-3, 3), uniform(-2, -1.95), uniform(1.95, 2)))
def clip(x, /, min=None, max=None):
    r"""`x` kept between `min` and `max`, either of which may be None.

    $\bar x = \bar z\,[\min \le x \le \max]$: the derivative at a bound is 1. A bound receives what it cut off.
    """
    return np.clip(x, min, max)


def _inside(x, min, max):
    above = True if min is None else x >= min
    return above if max is None else above & (x <= max)


clip.defvjp(
    lambda g, x, min, max: where(_inside(x, min, max), g, 0),
    lambda g, x, min, max: where(_below(x, min, max), g, 0),
    lambda g, x, min, max: where(_above(x, min, max), g, 0),
)


def _below(x, min, max):
    return (x < min) if max is None else (x < min) & (min <= max)


def _above(x, min, max):
    # Of bounds in the wrong order the upper one counts, whatever x is.
    return (x > max) if min is None else (x > max) | (min > max)


@comparison(samples=_BITS)
def bitwise_and(x, y, /):
    """Bits set in both `x` and `y`, which are integers or booleans."""
    return np.bitwise_and(x, y)


@comparison(samples=_BITS)
def bitwise_or(x, y, /):
    """Bits set in `x` or `y`, which are integers or booleans."""
    return np.bitwise_or(x, y)


@comparison(samples=_BITS)
def bitwise_xor(x, y, /):
    """Bits set in exactly one of `x` and `y`, which are integers or booleans."""
    return np.bitwise_xor(x, y)


@comparison(aliases=("bitwise_not",), samples=tuple(call(bits.args[0]) for bits in _BITS))
def bitwise_invert(x, /):
    """The bits of `x` flipped; `x` is integer or boolean."""
    return np.invert(x)
