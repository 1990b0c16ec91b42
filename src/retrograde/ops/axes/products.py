"""Products and running sums. Their derivatives never divide, so they are exact where elements are zero."""

import math

import numpy as np

from ...errors import ShapeError
from ...shapes import axis_tuple, one_axis
from .._families import reduction
from .._native import small
from .._samples import call
from ..elementary.comparisons import where as choose
from ..elementary.conversions import as_terms, check_keeps, is_narrow, narrowed, widened
from ..manipulation.joins import stack
from ..manipulation.movements import flip, pad, permute_dims, reshape
from .reductions import selected, spread


def _is_widened(x, dtype):
    """Whether a result on `x` that is to be of `dtype` is computed in float32."""
    return is_narrow(x) and dtype in (None, x.dtype)


def _prod_in_ops(x, axis, keepdims, dtype, where):
    return narrowed(prod(widened(x), axis, keepdims, None, where), x) if _is_widened(x, dtype) else NotImplemented


def _cumsum_in_ops(x, axis, dtype):
    return narrowed(cumsum(widened(x), axis), x) if _is_widened(x, dtype) else NotImplemented


def _cumsum_from_end_in_ops(x, axis):
    return narrowed(cumsum_from_end(widened(x), axis), x) if is_narrow(x) else NotImplemented


def _cumprod_in_ops(x, axis, dtype):
    return narrowed(cumprod(widened(x), axis), x) if _is_widened(x, dtype) else NotImplemented


@reduction(samples=(call((2, 3)), call((2, 3), axis=0), call((2, 3, 2), axis=(-1, 0), keepdims=True), call(()),
                    call((0, 2), axis=0), call((5,), axis=-1),
                    call((2, 3), where=np.array([[True, False, True], [False, True, True]]), axis=1)), expansion=_prod_in_ops)
def prod(x, /, axis=None, keepdims=False, dtype=None, where=None):
    r"""Product of the elements of `x` over `axis`, of those that `where` selects if it is given.

    $z = \prod_i x_i \;\Rightarrow\; \bar x_i = \bar z \prod_{j \ne i} x_j$
    """
    check_keeps(x, dtype)
    if _is_widened(x, dtype):
        return _prod_in_ops(x, axis, keepdims, dtype, where)
    if where is None:
        return np.prod(x, axis=axis, dtype=dtype, keepdims=keepdims)
    return np.prod(x, axis=axis, dtype=dtype, keepdims=keepdims, where=where)


def _prod_rule(g, x, axis, where):
    if where is None and (axis is None or axis.__class__ is int) and x.__class__ is np.ndarray:
        line, along = (x.reshape(-1), 0) if axis is None else (x, axis)
        others = _others_by_kernel(np.ascontiguousarray(line), along)
        if others is not None:
            return spread(g, x.shape, axis) * others.reshape(x.shape)
    factors = x if where is None else choose(where, x, 1)
    return selected(spread(g, x.shape, axis) * _products_of_others(factors, axis), where)


prod.defvjp(_prod_rule)


def _products_of_others(x, axis):
    """For each element the product of all others over `axis`, by a tree: up with products, down with siblings'."""
    axes = axis_tuple(axis, x.ndim)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    moved = permute_dims(x, rest + axes)
    rows = reshape(moved, (*(x.shape[a] for a in rest), math.prod([x.shape[a] for a in axes])))
    others = _tree_of_others(rows)
    return permute_dims(reshape(others, moved.shape), tuple(map(int, np.argsort(rest + axes))))


def _others_by_kernel(x, axis):
    """The product of all others along `axis`: of those before, and of those behind, as `cumprod` hands back the last product."""
    if not x.size or not -x.ndim <= axis < x.ndim:
        return None
    last = np.zeros(x.shape, x.dtype)
    last[(slice(None),) * (axis % x.ndim) + (-1,)] = 1
    return _run("cumprod_slope", (last, x), axis)


def _tree_of_others(rows):
    size = rows.shape[-1]
    width = 1 << max(size - 1, 0).bit_length()
    levels = [_padded(rows, width - size, 1)]
    while levels[-1].shape[-1] > 1:
        levels.append(levels[-1][..., ::2] * levels[-1][..., 1::2])
    others = np.ones(levels.pop().shape, rows.dtype)  # whatever the product of all is, maybe infinite
    for level in reversed(levels):
        pairs = stack([others * level[..., 1::2], others * level[..., ::2]], -1)
        others = reshape(pairs, level.shape)
    return others[..., :size]


def _padded(rows, extra, value):
    return pad(rows, ((0, 0),) * (rows.ndim - 1) + ((0, extra),), value)


@reduction(samples=(call((2, 3), axis=0), call((2, 3), axis=-1), call((4,)), call((0,), axis=0)), expansion=_cumsum_in_ops)
def cumsum(x, /, axis=None, dtype=None):
    r"""Running sum of `x` along `axis`; None for the elements in row-major order.

    $z_i = \sum_{j \le i} x_j \;\Rightarrow\; \bar x_j = \sum_{i \ge j} \bar z_i$
    """
    check_keeps(x, dtype)
    if _is_widened(x, dtype):
        return _cumsum_in_ops(x, axis, dtype)
    found = _run("cumsum", (x,), axis) if dtype is None else None
    return np.cumsum(x, axis=axis, dtype=dtype) if found is None else found


def _run(kernel, arrays, axis):
    """What a kernel gives for arrays of one shape along `axis`; None if there is none."""
    x = arrays[-1]
    if axis.__class__ is not int or x.__class__ is not np.ndarray or not -x.ndim <= axis < x.ndim:
        return None
    axis, result = axis % x.ndim, np.empty(x.shape, x.dtype)
    if arrays[0].shape != x.shape or arrays[0].dtype != x.dtype:
        return None
    sizes = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    return result if small(kernel, sizes, arrays, (result,)) else None


cumsum.defvjp(lambda g, x_shape, axis: reshape(cumsum_from_end(g, 0 if axis is None else axis), x_shape))


@reduction(is_public=False, samples=(call((2, 3), axis=0), call((2, 3), axis=-1), call((0,), axis=0)),
           expansion=_cumsum_from_end_in_ops)
def cumsum_from_end(x, /, axis):
    r"""For each element of `x` the sum of it and of those behind it along `axis`.

    $z_i = \sum_{j \ge i} x_j \;\Rightarrow\; \bar x_j = \sum_{i \le j} \bar z_i$
    """
    if is_narrow(x):
        return _cumsum_from_end_in_ops(x, axis)
    found = _run("cumsum_from_end", (x,), axis)
    return np.flip(np.cumsum(np.flip(x, axis), axis), axis) if found is None else found


cumsum_from_end.defvjp(lambda g, axis: cumsum(g, axis))


@reduction(samples=(call((2, 3), axis=0), call((2, 3), axis=-1), call((4,)), call((0,), axis=0)), expansion=_cumprod_in_ops)
def cumprod(x, /, axis=None, dtype=None):
    r"""Running product of `x` along `axis`; None for the elements in row-major order.

    $z_i = \prod_{k \le i} x_k \;\Rightarrow\; \bar x_j = p_j s_j$ with $p_j = \prod_{k < j} x_k$ and the recurrence
    $s_j = \bar z_j + x_{j+1} s_{j+1}$.
    """
    check_keeps(x, dtype)
    if _is_widened(x, dtype):
        return _cumprod_in_ops(x, axis, dtype)
    found = _run("cumprod", (x,), axis) if dtype is None else None
    return np.cumprod(x, axis=axis, dtype=dtype) if found is None else found


def _cumprod_rule(g, x, axis):
    if axis is None or x.ndim == 0:
        return reshape(_cumprod_rule(g, reshape(x, -1), 0), x.shape)
    if (found := _run("cumprod_slope", (g, x), axis)) is not None:
        return found
    return cumprod(_shifted(x, axis, 1, 1), axis) * _recurrence_from_end(x, g, axis)


cumprod.defvjp(_cumprod_rule)


@reduction(samples=(call((2, 3), (2, 3), axis=0), call((3, 2), (3, 2), axis=-1), call((4,), (4,), axis=0),
                    call((0,), (0,), axis=0)))
def linear_recurrence(a, x, /, axis=-1):
    r"""The $z$ with $z_j = x_j + a_j z_{j-1}$ along `axis`, starting with $z_0 = x_0$: a filter, or a linear state over time.

    `a` and `x` are of one shape. $\bar x_j = \bar z_j + a_{j+1} \bar x_{j+1},\; \bar a_j = \bar x_j z_{j-1}$

    >>> rg.linear_recurrence(rg.tensor([0.5, 0.5, 0.5]), rg.tensor([1.0, 1.0, 1.0]))
    tensor([1.  , 1.5 , 1.75])
    """
    if np.shape(a) != np.shape(x):
        raise ShapeError(f"linear_recurrence needs a and x of one shape, got {np.shape(a)} and {np.shape(x)}")
    a, x = as_terms(a), as_terms(x)
    z = np.array(np.moveaxis(x, axis, 0), np.result_type(a, x))
    factors = np.array(np.moveaxis(a, axis, 0), z.dtype)
    count = len(z)
    if z.size > count * count:  # of wide lines one after the other, which is exact; of others by doubling, in fewer steps
        for j in range(1, count):
            z[j] += factors[j] * z[j - 1]
        return np.moveaxis(z, 0, axis)
    step = 1
    while step < count:  # Hillis and Steele, 1986
        z[step:] = z[step:] + factors[step:] * z[:-step]
        factors[step:] = factors[step:] * factors[:-step]
        step *= 2
    return np.moveaxis(z, 0, axis)


def _linear_recurrence_rule(g, needs, a, z, axis):
    found = _recurrence_from_end(a, g, axis)
    return found * _shifted(z, axis, 1, 0) if needs[0] else None, found


linear_recurrence.defvjp_all(_linear_recurrence_rule)


def _recurrence_from_end(a, x, axis):
    r"""The $s$ with $s_j = x_j + a_{j+1} s_{j+1}$ along `axis`."""
    return flip(linear_recurrence(flip(_shifted(a, axis, -1, 0), axis), flip(x, axis), axis), axis)


def _shifted(x, axis, by, fill):
    """`x` moved by one place along `axis`, to the end (1) or to the front (-1), with `fill` let in."""
    axis = one_axis(axis, x.ndim)
    kept = slice(0, max(x.shape[axis] - 1, 0)) if by > 0 else slice(1, None)
    around = [(0, 0)] * x.ndim
    around[axis] = ((1, 0) if by > 0 else (0, 1)) if x.shape[axis] else (0, 0)
    return pad(x[(slice(None),) * axis + (kept,)], tuple(around), fill)
