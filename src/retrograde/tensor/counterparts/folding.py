"""Folding: reductions and running sums of NumPy, whose arguments are in an order of their own."""

import numpy as np

from ...dtypes import as_dtype, is_float
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ops.axes import products, reductions, searches, spreads
from ...ops.axes.running import cumulative_prod, cumulative_sum
from ...ops.complexes import complex, conj, imag, real
from ...ops.elementary.arithmetic import sqrt
from ...ops.elementary.comparisons import clip, isnan, maximum, minimum, where
from ...ops.elementary.conversions import contiguous
from ...ops.linalg.contractions import matmul
from ...ops.manipulation.movements import permute_dims, reshape
from ...shapes import axis_tuple, count
from .operands import cast, data_of, is_kept, refuse, stacked


def _typed(name, op, joined):
    """A reduction with the arguments of np.sum; `joined` puts `initial` to the result."""

    def reduction(a, axis=None, dtype=None, out=None, keepdims=np._NoValue, initial=None, where=None):
        if out is not None:
            refuse(name, out=out)
        mask = None if where is None or where is True or where is np._NoValue else data_of(where)
        found = op(a, axis, is_kept(keepdims), dtype, mask)
        return found if initial is None or initial is np._NoValue else joined(found, initial)

    return reduction


def _extreme(name, op, joined):
    """A reduction with the arguments of np.max."""

    def reduction(a, axis=None, out=None, keepdims=np._NoValue, initial=None, where=None):
        if out is not None:
            refuse(name, out=out)
        if where is not None and where is not np._NoValue and where is not True:
            if initial is None or initial is np._NoValue:
                raise ArgumentError(f"np.{name} under a mask needs initial=, the result where the mask leaves no element")
            a = _kept(a, where, initial)
        found = op(a, axis, is_kept(keepdims))
        return found if initial is None or initial is np._NoValue else joined(found, initial)

    return reduction


def _kept(a, mask, other):
    return where(stacked(mask), a, other)


def _spread(name, op):
    """A reduction with the arguments of np.var."""

    def reduction(a, axis=None, dtype=None, out=None, ddof=0, keepdims=np._NoValue, *, where=None, mean=None, correction=None):
        refuse(name, out=out, mean=mean)
        if ddof and correction is not None and correction is not np._NoValue:
            raise ArgumentError("ddof and correction are two names of one number; give one of them")
        if dtype is not None and not is_float(as_dtype(dtype)):
            raise DTypeError(f"np.{name} is computed in floats, got dtype={as_dtype(dtype)}; round what it gives")
        mask = None if where is None or where is True or where is np._NoValue else data_of(where)
        given = ddof if correction is None or correction is np._NoValue else correction
        return op(cast(a, dtype), axis, is_kept(keepdims), given, mask)

    return reduction


def _choice(name, op):
    """A search with the arguments of np.argmax and np.any."""

    def search(a, axis=None, out=None, keepdims=np._NoValue, *, where=None):
        refuse(name, out=out, where=where)
        return op(a, axis, is_kept(keepdims))

    return search


def _running(name, op):
    """A running sum with the arguments of np.cumsum."""

    def running(a, axis=None, dtype=None, out=None):
        if out is not None:
            refuse(name, out=out)
        return op(a, axis, dtype)

    return running


def _cumulative(name, op):
    """A running sum with the arguments of np.cumulative_sum."""

    def running(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        if out is not None:
            refuse(name, out=out)
        return op(x, axis, dtype, include_initial)

    return running


def ptp(a, axis=None, out=None, keepdims=np._NoValue):
    """The distance from the least to the greatest element over `axis`."""
    refuse("ptp", out=out)
    return reductions.max(a, axis, is_kept(keepdims)) - reductions.min(a, axis, is_kept(keepdims))


def average(a, axis=None, weights=None, returned=False, *, keepdims=np._NoValue):
    """The mean of `a` over `axis`, with weights."""
    kept = is_kept(keepdims)
    if weights is None:
        found = reductions.mean(a, axis, kept)
        total = np.asarray(count(a.shape, axis), float)
    else:
        weights = stacked(weights)
        if weights.shape != a.shape:
            if axis is None:
                raise DTypeError(f"average needs an axis for weights of another shape, got {weights.shape} and {a.shape}")
            axes = axis_tuple(axis, a.ndim)
            if weights.shape != tuple([a.shape[d] for d in axes]):
                raise ShapeError(f"weights must have the shape of the array, {a.shape}, or that of the axes which are given, "
                                 f"got {weights.shape} for axis={axis}")
            in_order = permute_dims(weights, tuple(np.argsort(axes).tolist()))
            weights = reshape(in_order, [size if d in axes else 1 for d, size in enumerate(a.shape)])
        weights = weights * np.ones(a.shape, weights.dtype)
        total = reductions.sum(weights, axis, kept)
        found = reductions.sum(a * weights, axis, kept) / total
    return (found, total * np.ones(found.shape)) if returned else found


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """`x` with a number in place of NaN and infinities; where they were no gradient flows."""
    if x.dtype.kind == "c":
        return complex(*[nan_to_num(part, copy, nan, posinf, neginf) for part in (real(x), imag(x))])
    if x.dtype.kind != "f":
        return contiguous(x) if copy else x
    data, limits = data_of(x), np.finfo(x.dtype)
    found = where(np.isnan(data), nan, x)
    found = where(np.isposinf(data), limits.max if posinf is None else posinf, found)
    return where(np.isneginf(data), limits.min if neginf is None else neginf, found)


def _without_nan(function, other):
    """A reduction that takes `other` for NaN. Integers have none, and stay what they are."""
    return lambda a, *args, **kwargs: function(where(isnan(a), other, a) if is_float(a.dtype) else a, *args, **kwargs)


def _extreme_without_nan(function, other):
    """An extreme of what is not NaN; NaN where all are."""

    def reduction(a, axis=None, out=None, keepdims=np._NoValue, initial=np._NoValue, where=np._NoValue):
        if not is_float(a.dtype):
            return function(a, axis, out, keepdims, initial, where)
        is_nan = isnan(a)
        found = function(_kept(a, ~is_nan, other), axis, out, keepdims, initial, where)
        if initial is not np._NoValue and initial is not None:
            return found
        return _kept(found, ~searches.all(is_nan, axis, is_kept(keepdims)), np.nan)

    return reduction


def _spread_without_nan(function):
    """A variance of what is not NaN; NaN where no degree of freedom is left."""

    def reduction(a, axis=None, dtype=None, out=None, ddof=0, keepdims=np._NoValue, *, where=None, mean=None, correction=None):
        mask = ~np.isnan(data_of(a))
        if where is not None and where is not True and where is not np._NoValue:
            mask = mask & data_of(where)
        found = function(a, axis, dtype, out, ddof, keepdims, where=mask, mean=mean, correction=correction)
        taken = ddof if correction is None or correction is np._NoValue else correction
        counts = mask.sum(None if axis is None else axis_tuple(axis, a.ndim), keepdims=is_kept(keepdims))
        return _kept(found, counts > taken, np.nan)

    return reduction


def _masked(function):
    """A reduction over what is not NaN, and where the mask holds."""

    def reduction(a, axis=None, dtype=None, out=None, *args, where=True, **kwargs):
        is_number = ~np.isnan(data_of(a))
        mask = is_number if where is True or where is None or where is np._NoValue else is_number & data_of(where)
        return function(a, axis, dtype, out, *args, **kwargs, where=mask)

    return reduction


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """The covariances of variables in the rows of `m` (columns without `rowvar`)."""
    refuse("cov", y=y, fweights=fweights, aweights=aweights)
    m = reshape(m, (1, -1)) if m.ndim < 2 else m if rowvar else m.T
    m = cast(m, dtype)
    centred = m - reductions.mean(m, 1, True)
    # As NumPy has it: nothing is left where as many degrees of freedom are taken off as there are columns, or more.
    free = max(m.shape[1] - ((0 if bias else 1) if ddof is None else ddof), 0)
    found = matmul(centred, conj(centred).T) / free
    return reshape(found, found.shape[found.shape == (1, 1) and 2:])


def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """The correlation coefficients of variables in the rows of `x`."""
    found = cov(x, y, rowvar, dtype=dtype)
    if found.ndim == 0:
        return found / found
    scale = sqrt(found.diagonal())
    return clip(found / reshape(scale, (-1, 1)) / scale, -1, 1)


def _clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **rest):
    refuse("clip", out=out, **rest)
    low, high = (x if y is None or y is np._NoValue else y for x, y in ((a_min, min), (a_max, max)))
    return clip(a, *(None if x is np._NoValue else x for x in (low, high)))




_sum = _typed("sum", reductions.sum, lambda x, y: x + y)
_prod = _typed("prod", products.prod, lambda x, y: x * y)
_mean = _typed("mean", reductions.mean, None)
_max = _extreme("max", reductions.max, maximum)
_min = _extreme("min", reductions.min, minimum)
_var, _std = _spread("var", spreads.var), _spread("std", spreads.std)
_cumsum, _cumprod = _running("cumsum", products.cumsum), _running("cumprod", products.cumprod)

FUNCTIONS = {
    "sum": _sum, "prod": _prod, "mean": _mean, "max": _max, "amax": _max, "min": _min, "amin": _min, "var": _var, "std": _std,
    "all": _choice("all", searches.all), "any": _choice("any", searches.any),
    "argmax": _choice("argmax", searches.argmax), "argmin": _choice("argmin", searches.argmin),
    "cumsum": _cumsum, "cumprod": _cumprod, "ptp": ptp, "average": average, "nan_to_num": nan_to_num, "clip": _clip,
    "cumulative_sum": _cumulative("cumulative_sum", cumulative_sum),
    "cumulative_prod": _cumulative("cumulative_prod", cumulative_prod),
    "nansum": _without_nan(_sum, 0), "nanprod": _without_nan(_prod, 1), "nancumsum": _without_nan(_cumsum, 0),
    "nancumprod": _without_nan(_cumprod, 1), "nanmax": _extreme_without_nan(_max, -np.inf),
    "nanmin": _extreme_without_nan(_min, np.inf),
    "nanmean": _masked(_mean), "nanvar": _spread_without_nan(_var), "nanstd": _spread_without_nan(_std),
    "cov": cov, "corrcoef": corrcoef,
}
