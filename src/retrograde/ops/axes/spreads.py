"""Spread: how far the elements of an array lie from their mean."""

from math import inf, nan

from ...shapes import count
from .._families import composite
from .._native import by_rows
from .._samples import call
from ..elementary.arithmetic import mirrored, sqrt
from ..elementary.comparisons import maximum
from ..elementary.comparisons import where as choose
from ..elementary.conversions import narrowed, widened
from ..manipulation.movements import broadcast_to, reshape
from .reductions import max as greatest
from .reductions import mean, spread, sum
from .reductions import min as least

_CALLS = (call((2, 3)), call((4, 3), axis=0, correction=1), call((2, 3, 2), axis=(-1, 0), keepdims=True))


def _centred(x, axis, where):
    centred = x - mean(x, axis, keepdims=True, where=where)
    return centred if where is None else choose(where, centred, 0)


def _square(x):
    """The squared size of each element."""
    return x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x


def _divisor(x, axis, correction, where):
    """The number of elements taken together, less the correction, and 0 where that is more.

    It is an array with kept axes where a mask says which are taken.
    """
    if where is None:
        return max(count(x.shape, axis) - correction, 0)
    chosen = sum(broadcast_to(where, x.shape), axis, keepdims=True)
    return maximum(chosen.astype(x.dtype.type(0).real.dtype) - correction, 0)


def _variance(x, axis, keepdims, correction, where):
    centred = _centred(x, axis, where)
    total = sum(_square(centred), axis, keepdims)
    divisor = _divisor(x, axis, correction, where)
    return total / (divisor if where is None else reshape(divisor, total.shape))


@composite(keeps_sizes=True, faster=by_rows, samples=_CALLS)
def var(x, /, axis=None, keepdims=False, correction=0, where=None):
    r"""Mean squared distance of the elements of `x` over `axis` from their mean; NaN of nothing.

    `correction` is taken from the number of elements: 0 for the variance of what is there, 1 for the unbiased estimate of
    what it was drawn from. `where` selects elements.

    $z = \tfrac{1}{n - c} \sum_i (x_i - m)^2 \;\Rightarrow\; \bar x_i = \tfrac{2}{n - c} \bar z\,(x_i - m)$
    """
    return narrowed(_variance(widened(x), axis, keepdims, correction, where), x)


@composite(keeps_sizes=True, faster=by_rows, samples=_CALLS)
def std(x, /, axis=None, keepdims=False, correction=0, where=None):
    r"""Square root of `var`; the derivative where all elements are equal is 0.

    $z = \sqrt{\tfrac{1}{n - c} \sum_i (x_i - m)^2} \;\Rightarrow\; \bar x_i = \bar z\,\frac{x_i - m}{(n - c)\, z}$
    """
    return narrowed(sqrt(_variance(widened(x), axis, keepdims, correction, where)), x)


def _share(part, x, axis, correction, where):
    """`part` over what a sum of squares is divided by; NaN where that is nothing."""
    divisor = _divisor(x, axis, correction, where)
    return part / divisor if where is not None or divisor else nan


def _var_rule(g, x, axis, correction, where):
    return _distances(widened(g), x, axis, correction, where, 2)


def _std_rule(g, x, z, axis, correction, where):
    g, z = widened(g), widened(z)
    is_flat = (z == 0) | _are_equal(x, z.shape, axis, where)
    return _distances(choose(is_flat, 0, g / choose(is_flat, 1, z)), x, axis, correction, where, 1)


def _are_equal(x, shape, axis, where):
    """Whether all elements that are taken together are equal: the mean of such may be rounded, and then they have a spread."""
    if not x.size:
        return False
    are_equal = True
    for part in (x.real, x.imag) if x.dtype.kind == "c" else (x,):
        low, high = (part, part) if where is None else (choose(where, part, inf), choose(where, part, -inf))
        are_equal = (reshape(least(low, axis), shape) == reshape(greatest(high, axis), shape)) & are_equal
    return are_equal


def _distances(g, x, axis, correction, where, factor):
    """The distances of the elements of `x` from their mean, times `g` and `factor` over what squares are divided by."""
    wide = widened(x)
    shares = mirrored(_centred(wide, axis, where)) * _share(factor, wide, axis, correction, where)
    return narrowed(spread(g, x.shape, axis) * shares, x)


var.defvjp(_var_rule)
std.defvjp(_std_rule)
