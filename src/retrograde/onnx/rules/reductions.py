"""Operators that fold axes, or go along one: sums, extremes, positions, running sums, softmax."""

import numpy as np

from ...ops.axes.products import cumprod, cumsum, prod
from ...ops.axes.rankings import topk
from ...ops.axes.reductions import logsumexp, max, mean, min, sum
from ...ops.axes.searches import argmax, argmin
from ...ops.axes.sorting import argsort
from ...ops.elementary.arithmetic import abs, divide, sqrt, square
from ...ops.elementary.comparisons import equal, where
from ...ops.elementary.conversions import astype
from ...ops.elementary.exponential import log
from ...ops.manipulation.gathering import take_along_axis
from ...ops.manipulation.joins import concatenate
from ...ops.manipulation.movements import flip, reshape
from ...ops.networks.activation import log_softmax, softmax
from ..rule import rule
from ..values import integer, integers, is_floating


def _extreme(function, is_least):
    """The greatest or the least; of nothing the end of the numbers of that dtype."""
    def folded(x, axis, keepdims):
        if x.dtype == bool:
            return astype(folded(astype(x, np.int8), axis, keepdims) > 0, bool)
        if 0 in x.shape and any(x.shape[a] == 0 for a in (range(len(x.shape)) if axis is None else axis)):
            shape = [1 if a in _axes(x, axis) else n for a, n in enumerate(x.shape)]
            shape = shape if keepdims else [n for a, n in enumerate(x.shape) if a not in _axes(x, axis)]
            ends = np.array([-np.inf, np.inf], x.dtype) if is_floating(x) else np.array([np.iinfo(x.dtype).min,
                                                                                         np.iinfo(x.dtype).max])
            return np.full(shape, ends[is_least], x.dtype)
        return function(x, axis, keepdims)

    return folded


def _axes(x, axis):
    return {a % len(x.shape) for a in (range(len(x.shape)) if axis is None else axis)}


def _in_dtype(function):
    """Of small integers too the result has the dtype of the elements."""
    return lambda x, axis, keepdims: astype(function(x, axis, keepdims), x.dtype)


def _floored(x, axis, keepdims):
    if is_floating(x):
        return mean(x, axis, keepdims)
    count = np.prod([x.shape[a] for a in _axes(x, axis)])
    return astype(sum(x, axis, keepdims) // int(count), x.dtype)


_total = _in_dtype(sum)
#: (what it folds by, since when axes are an input).
_FOLDS = {
    "ReduceSum": (_total, 13), "ReduceMean": (_floored, 18), "ReduceProd": (_in_dtype(prod), 18),
    "ReduceMax": (_extreme(max, 0), 18),
    "ReduceMin": (_extreme(min, 1), 18), "ReduceL1": (lambda x, *a: _total(abs(x), *a), 18),
    "ReduceL2": (lambda x, *a: astype(sqrt(astype(_total(square(x), *a), x.dtype if is_floating(x) else np.float64)), x.dtype), 18),
    "ReduceSumSquare": (lambda x, *a: _total(square(x), *a), 18), "ReduceLogSum": (lambda x, *a: log(sum(x, *a)), 18),
    "ReduceLogSumExp": (lambda x, *a: astype(logsumexp(x if is_floating(x) else astype(x, np.float64), *a), x.dtype), 18),
}


def _by_input(fold):
    def reduced(x, axes=None, /, *, keepdims=1, noop_with_empty_axes=0):
        axes = None if axes is None or len(axes) == 0 else tuple(integers(axes))
        return x if axes is None and noop_with_empty_axes else fold(x, axes, bool(keepdims))

    return reduced


def _elementwise_where_noop(fold):
    """With no axes, each element is folded by itself."""
    def reduced(x, axes=None, /, *, keepdims=1, noop_with_empty_axes=0):
        axes = None if axes is None or len(axes) == 0 else tuple(integers(axes))
        return fold(x, () if axes is None and noop_with_empty_axes else axes, bool(keepdims))

    return reduced


def _by_attribute(fold):
    return lambda x, /, *, axes=None, keepdims=1: fold(x, None if axes is None else tuple(axes), bool(keepdims))


for _name, (_fold, _since) in _FOLDS.items():
    rule(_name)(_by_attribute(_fold))
    rule(_name, since=_since, numbers=(1,))(_by_input(_fold))


def _place(x, axis, keepdims, select_last_index, function):
    x = astype(x, np.int32) if x.dtype == bool else x
    if not select_last_index:
        return astype(function(x, axis, bool(keepdims)), np.int64)
    return x.shape[axis] - 1 - astype(function(flip(x, axis), axis, bool(keepdims)), np.int64)


@rule("ArgMax")
def _argmax(x, /, *, axis=0, keepdims=1, select_last_index=0):
    return _place(x, axis, keepdims, select_last_index, argmax)


@rule("ArgMin")
def _argmin(x, /, *, axis=0, keepdims=1, select_last_index=0):
    return _place(x, axis, keepdims, select_last_index, argmin)


def _running(x, axis, exclusive, reverse, function, first):
    """A running sum or product, which may begin at the end, and leave each element itself out."""
    axis = integer(axis) % len(x.shape)
    x = flip(x, axis) if reverse else x
    found = astype(function(x, axis), x.dtype)
    if exclusive:
        lead = (slice(None),) * axis
        begin = astype(x[(*lead, slice(0, 1))] * 0 + first, x.dtype)
        found = concatenate([begin, found[(*lead, slice(0, -1))]], axis)
    return flip(found, axis) if reverse else found


@rule("CumSum", since=11, numbers=(1,))
def _cumsum(x, axis, /, *, exclusive=0, reverse=0):
    return _running(x, axis, exclusive, reverse, cumsum, 0)


@rule("CumProd", since=26, numbers=(1,))
def _cumprod(x, axis, /, *, exclusive=0, reverse=0):
    return _running(x, axis, exclusive, reverse, cumprod, 1)


@rule("Softmax", since=13)
def _softmax(x, /, *, axis=-1):
    return softmax(x, axis)


@rule("LogSoftmax", since=13)
def _log_softmax(x, /, *, axis=-1):
    return log_softmax(x, axis)


def _of_rows(function):
    """Before version 13 all axes from `axis` on were one."""
    def of_rows(x, /, *, axis=1):
        axis %= len(x.shape)
        return reshape(function(reshape(x, (int(np.prod(x.shape[:axis])), -1)), -1), x.shape)

    return of_rows


@rule("Hardmax", since=13)
def _hardmax(x, /, *, axis=-1):
    axis %= len(x.shape)
    places = np.arange(x.shape[axis]).reshape(-1, *[1] * (len(x.shape) - axis - 1))
    return astype(equal(places, astype(argmax(x, axis, True), np.int64)), x.dtype)


rule("Softmax")(_of_rows(softmax))
rule("LogSoftmax")(_of_rows(log_softmax))
rule("Hardmax")(_of_rows(lambda x, axis: _hardmax(x, axis=axis)))


@rule("LpNormalization")
def _lp_normalized(x, /, *, axis=-1, p=2):
    size = sum(abs(x), axis, True) if p == 1 else sqrt(sum(square(x), axis, True))
    is_zero = equal(size, 0)
    return where(is_zero, 0, divide(x, where(is_zero, 1, size)))


@rule("TopK", since=10, numbers=(1,))
def _topk(x, k, /, *, axis=-1, largest=1, sorted=1):
    k = integer(k)
    if x.dtype.kind in "iu" or len(x.shape) == 0:
        # By the places: those of equal numbers are in their order.
        places = argsort(x, axis, bool(largest))
        places = places[(*(slice(None),) * (axis % len(x.shape)), slice(0, k))]
        return take_along_axis(x, places, axis), astype(places, np.int64)
    values, places = topk(x, k, axis, bool(largest))
    return values, astype(places, np.int64)


@rule("TopK", since=1)
def _topk_by_attribute(x, /, *, k, axis=-1):
    return _topk(x, k, axis=axis)


