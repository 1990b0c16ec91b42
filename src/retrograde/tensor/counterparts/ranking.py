"""Ranking: functions of NumPy that put elements in order, and what they make of that."""

import numpy as np

from ...dtypes import is_float
from ...ops.axes import rankings, sorting
from ...ops.elementary import rounding
from ...ops.manipulation import gathering
from ...ops.manipulation.movements import ravel
from .operands import data_of, is_kept, refuse, stacked


def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    """The elements of `a` along `axis` in ascending order; without an axis all of them."""
    refuse("sort", order=order)
    return sorting.sort(ravel(a)) if axis is None else sorting.sort(a, axis)


def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    """The places that the elements of `a` along `axis` have in ascending order."""
    refuse("argsort", order=order)
    return sorting.argsort(ravel(a)) if axis is None else sorting.argsort(a, axis)


def partition(a, kth, axis=-1, kind="introselect", order=None):
    """The elements of `a` along `axis`, with number `kth` where sorting would put it."""
    refuse("partition", order=order)
    a, axis = (ravel(a), 0) if axis is None else (a, axis)
    return gathering.take_along_axis(a, np.argpartition(data_of(a), kth, axis), axis)


def _quantile(name, op):
    """Quantiles with the arguments of np.quantile."""

    def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None, **_):
        refuse(name, out=out, weights=weights)
        return op(stacked(a), data_of(q), axis, is_kept(keepdims), method)

    return quantile


def _percentile(quantile):
    """Quantiles with hundredths for `q`."""
    return lambda a, q, *args, **kwargs: quantile(a, np.true_divide(data_of(q), 100), *args, **kwargs)


def _median(quantile):
    """The middle element, with the arguments of np.median."""
    return lambda a, axis=None, out=None, overwrite_input=False, keepdims=False: quantile(a, 0.5, axis, out, keepdims=keepdims)


def round(a, decimals=0, out=None):
    """The elements of `a` rounded to so many decimals."""
    refuse("round", out=out)
    if decimals == 0 or decimals > 0 and a.dtype.kind in "iub":
        return rounding.round(a)
    unit = 10.0 ** abs(decimals)
    found = rounding.round(a * unit) / unit if decimals > 0 else rounding.round(a / unit) * unit
    return found if is_float(a.dtype) else found.astype(a.dtype)


quantile, nanquantile = _quantile("quantile", rankings.quantile), _quantile("nanquantile", rankings.nanquantile)

FUNCTIONS = {
    "sort": sort, "argsort": argsort, "partition": partition, "quantile": quantile, "nanquantile": nanquantile,
    "percentile": _percentile(quantile), "nanpercentile": _percentile(nanquantile), "median": _median(quantile),
    "nanmedian": _median(nanquantile),
    "round": round, "around": round,
    "take_along_axis": lambda arr, indices, axis=-1: gathering.take_along_axis(arr, indices, axis),
}
