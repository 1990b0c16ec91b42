"""Reductions: axes folded into one number each. `axis` is None for all, an integer, or a tuple; negative ones count
from the end.
"""

from math import prod as product

import numpy as np

from ...dtypes import parts_dtype
from ...errors import ArgumentError
from ...shapes import axis_tuple, count, kept
from .._arrays import arrays
from .._families import composite, reduction
from .._native import SHARED, by_rows, by_small_rows
from .._samples import call, distinct, of
from ..elementary.arithmetic import abs, mirrored, power, sqrt
from ..elementary.comparisons import isfinite, where
from ..elementary.conversions import as_floats, astype, check_keeps, is_narrow, narrowed, widened
from ..elementary.exponential import exp, log
from ..manipulation.movements import broadcast_to, reshape

_AXES = (call((2, 3)), call((2, 3), axis=0), call((2, 3, 2), axis=(-1, -3), keepdims=True), call(()), call((0, 3), axis=1),
         call((2, 3), axis=()))
_ORDERED = (call(of((2, 3), distinct())), call(of((2, 3), distinct()), axis=0),
            call(of((2, 3, 2), distinct()), axis=(-1, 0), keepdims=True))
_MASKED = (call((2, 3), where=np.array([[True, False, True], [False, True, True]]), axis=1),)


def spread(g, x_shape, axis):
    """`g`, the cotangent of a reduction, repeated over the axes that were folded."""
    if (g.__class__ is np.ndarray or isinstance(g, np.generic)) and product(x_shape) < SHARED:
        # New memory, which whoever gets it can keep, costs less than a view with no steps.
        found = np.empty(x_shape, g.dtype)
        found[...] = g if g.shape == () else g.reshape(kept(x_shape, axis))
        return found
    return broadcast_to(g if g.shape == () else reshape(g, kept(x_shape, axis)), x_shape)


def selected(g, mask):
    """`g` where `mask` holds, else 0; all of it if there is no mask."""
    return g if mask is None else where(mask, g, 0)


def _sum_in_ops(x, axis, keepdims, dtype, where):
    is_plain = is_narrow(x) and dtype in (None, x.dtype)
    return narrowed(sum(widened(x), axis, keepdims, None, where), x) if is_plain else NotImplemented


@reduction(samples=_AXES + _MASKED, expansion=_sum_in_ops)
def sum(x, /, axis=None, keepdims=False, dtype=None, where=None):
    r"""Sum of the elements of `x` over `axis`, of those that `where` selects if it is given.

    $z = \sum_i x_i \;\Rightarrow\; \bar x_i = \bar z$
    """
    check_keeps(x, dtype)
    if is_narrow(x) and dtype in (None, x.dtype):
        return _in_float32(np.sum, x, axis, keepdims, where)
    if where is None:
        if x.__class__ is np.ndarray:
            return np.add.reduce(x, axis, dtype, None, keepdims=bool(keepdims))  # what np.sum comes to after a while
        return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)
    return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims, where=where)


def _in_float32(function, x, axis, keepdims, where):
    """A sum or a mean of narrow floats: with sums of their own few bits NumPy would stop at 256, or 2048."""
    chosen = {} if where is None else {"where": where}
    return np.asarray(function(x.astype(np.float32), axis=axis, keepdims=bool(keepdims), **chosen)).astype(x.dtype)


sum.defvjp(lambda g, x_shape, axis, where: selected(spread(g, x_shape, axis), where))


arrays.sum = sum


def _mean_in_ops(x, axis, keepdims, dtype, where):
    taken = count(x.shape, axis) if where is None else sum(broadcast_to(where, x.shape), axis, keepdims)
    if dtype is None and is_narrow(x):  # the sum may be beyond the largest of them
        return narrowed(sum(widened(x), axis, keepdims, None, where) / taken, x)
    return sum(x, axis, keepdims, dtype, where) / taken


@reduction(faster=by_small_rows, samples=_AXES[:4] + _MASKED, expansion=_mean_in_ops)
def mean(x, /, axis=None, keepdims=False, dtype=None, where=None):
    r"""Mean of the elements of `x` over `axis`, of those that `where` selects if it is given; NaN of nothing.

    $z = \tfrac1n \sum_i x_i \;\Rightarrow\; \bar x_i = \tfrac1n \bar z$
    """
    check_keeps(x, dtype)
    if is_narrow(x) and dtype in (None, x.dtype):
        return _in_float32(np.mean, x, axis, keepdims, where)
    if where is None:
        return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims)
    return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims, where=where)


def _mean_rule(g, x_shape, axis, where):
    if where is None:
        return spread(narrowed(widened(g) / (count(x_shape, axis) or 1), g), x_shape, axis)
    taken = np.sum(np.broadcast_to(where, x_shape), axis=axis).reshape(g.shape)
    return selected(spread(narrowed(widened(g) / taken, g), x_shape, axis), where)


mean.defvjp(_mean_rule)


@reduction(faster=by_small_rows, aliases=("amax",), samples=_ORDERED)
def max(x, /, axis=None, keepdims=False):
    r"""Greatest element of `x` over `axis`; NaN if one is.

    $\bar x_i = \bar z\,[x_i = z] / n$, where $n$ elements tie for the maximum: they share the gradient equally, and if
    the result is NaN it goes to the NaNs.
    """
    return np.max(x, axis=axis, keepdims=keepdims)


@reduction(faster=by_small_rows, aliases=("amin",), samples=_ORDERED)
def min(x, /, axis=None, keepdims=False):
    r"""Least element of `x` over `axis`; NaN if one is.

    $\bar x_i = \bar z\,[x_i = z] / n$, where $n$ elements tie for the minimum: they share the gradient equally, and if
    the result is NaN it goes to the NaNs.
    """
    return np.min(x, axis=axis, keepdims=keepdims)


def _extremum_rule(g, x, z, axis):
    is_extreme = (x == spread(z, x.shape, axis)) | (x != x)
    ties = sum(is_extreme, axis, keepdims=True)
    wide = widened(g)
    return narrowed(where(is_extreme, spread(wide, x.shape, axis) / ties.astype(wide.dtype), 0), g)


max.defvjp(_extremum_rule)
min.defvjp(_extremum_rule)


@composite(keeps_sizes=True, faster=by_rows, samples=(
    call((2, 3)), call((2, 3), axis=0), call((2, 3), axis=(0, -1), keepdims=True), call(()), call((0, 3), axis=1)))
def logsumexp(x, /, axis=None, keepdims=False):
    r"""Logarithm of the sum of exponentials of `x` over `axis`; safe for large numbers.

    $z = \log\sum_i e^{x_i} \;\Rightarrow\; \bar x_i = \bar z\, e^{x_i - z}$

    >>> rg.logsumexp(rg.tensor([1000.0, 1000.0]))
    tensor(1000.6931)
    """
    if not x.size:  # of nothing it is minus infinity
        return sum(x, axis, keepdims) - np.inf
    wide = widened(*as_floats(x))
    top = max(wide.real if x.dtype.kind == "c" else wide, axis, keepdims=True)
    top = where(isfinite(top), top, 0)
    total = narrowed(log(sum(exp(wide - top), axis, keepdims=True)) + top, x)
    return total if keepdims else reshape(total, _dropped(x.shape, axis))


def _dropped(shape, axis):
    axes = axis_tuple(axis, len(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def _parts_of_logsumexp(x, z, axis):
    """$e^{x_i - z}$ by their sum, which is 1 but for what rounding took from $z$: of large numbers that is a factor of all."""
    found = exp(widened(x) - widened(spread(z, x.shape, axis)))
    return narrowed(found / sum(found, axis, keepdims=True), x)


logsumexp.defvjp(lambda g, x, z, axis: spread(g, x.shape, axis) * _parts_of_logsumexp(x, z, axis))


def length(x, p, axis, keepdims):
    """`norm` in ops, also for the powers `p` that other norms have."""
    if is_narrow(x):
        found = length(widened(x), p, axis, keepdims)
        return found if found is NotImplemented else narrowed(found, x)
    if x.dtype.kind not in "fc" or 0 in x.shape:
        return NotImplemented
    if p == 0:
        return astype(sum(x != 0, axis, keepdims), parts_dtype(x.dtype))
    if p == 2:
        squares = x * x if x.dtype.kind == "f" else x.real * x.real + x.imag * x.imag
        return sqrt(sum(squares, axis, keepdims))
    size = abs(x)
    if np.isinf(p):
        return (max if p > 0 else min)(size, axis, keepdims)
    return sum(size, axis, keepdims) if p == 1 else power(sum(power(size, p), axis, keepdims), 1 / p)


def _norm_in_ops(x, ord, axis, keepdims):
    return length(x, 2 if ord in (None, "fro") else ord, axis, keepdims)


@reduction(faster=by_small_rows, samples=(call((3,)), call((2, 3), axis=-1), call((2, 3), ord=1, axis=0),
                    call(of((2, 3), distinct()), ord=np.inf, axis=1),
                    call((2, 3), ord=3, axis=(1,), keepdims=True)), expansion=_norm_in_ops)
def norm(x, /, ord=None, axis=None, keepdims=False):
    r"""Length of `x` over `axis`: $(\sum_i |x_i|^p)^{1/p}$ with $p$ = `ord`, by default 2; `inf` is the greatest
    magnitude, `-inf` the least, 0 the number of elements that are not 0.

    $\bar x_i = \bar z\, \overline{\operatorname{sign}(x_i)}\,(|x_i| / z)^{p - 1}$, and 0 where $z = 0$ or $x_i = 0$.
    """
    if isinstance(ord, str) and ord != "fro":
        raise ArgumentError(f"norm takes ord=None, 'fro' or a number, got {ord!r}")
    return narrowed(length_of_sizes(np.abs(widened(*as_floats(x))), 2 if ord in (None, "fro") else ord, axis, keepdims), x)


def length_of_sizes(size, p, axis, keepdims):
    """The norm of the power `p` of an array of magnitudes."""
    if p == np.inf:  # of no elements it is 0, as other norms are
        return np.max(size, axis=axis, keepdims=keepdims, initial=0)
    if np.isinf(p):
        return np.min(size, axis=axis, keepdims=keepdims)
    if p == 0:
        return np.sum(size != 0, axis=axis, keepdims=keepdims).astype(size.dtype)
    if p == 2:
        return np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdims))
    return np.power(np.sum(np.power(size, p), axis=axis, keepdims=keepdims), 1 / p)


def length_gradient(g, x, size, z, p, axis):
    """What the norm `z` of the power `p` hands back to `x`, whose magnitudes are `size`."""
    g, z = spread(g, x.shape, axis), spread(z, x.shape, axis)
    if p == 0:
        return x * 0
    if p == 2:
        return g * (mirrored(x) / where(z == 0, 1, z))
    direction = mirrored(x) / where(size == 0, 1, size)
    if np.isinf(p):
        is_extreme = (size == z) | (size != size)
        return where(is_extreme, g * direction / sum(is_extreme, axis, keepdims=True).astype(g.dtype), 0)
    if p == 1:
        return g * direction
    is_flat = (z == 0) | (size == 0)
    return g * direction * where(is_flat, 0, power(where(is_flat, 1, size) / where(z == 0, 1, z), p - 1))


def _norm_rule(g, x, z, ord, axis):
    return length_gradient(g, x, abs(x), z, 2 if ord in (None, "fro") else ord, axis)


norm.defvjp(_norm_rule)
