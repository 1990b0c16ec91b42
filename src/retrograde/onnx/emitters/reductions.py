"""Ops that fold axes, or go along one."""

import numpy as np

from ..building import axes_of, emits
from .shapes import reshaped

_FOLDS = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin",
          "logsumexp": "ReduceLogSumExp"}


@emits(*_FOLDS)
def _folded(e, node, x, axis=None, keepdims=False, dtype=None, where=None):
    name, wide = e(x, node.dtype), node.dtype
    if node.dtype == bool:
        name, wide = e.cast(name, np.int32), np.dtype(np.int32)
    if where is not None:
        neutral = {"sum": 0, "prod": 1}[node.name]
        name = e.add("Where", [e(where, np.bool_), name, e(neutral, node.dtype)])
    axes = axes_of(axis, len(x.shape))
    if not axes:
        return e.add("Identity", [name])
    found = e.add(_FOLDS[node.name], [name, e.constant(np.array(axes, np.int64))], keepdims=int(keepdims))
    return found if wide == node.dtype else e.cast(found, node.dtype)


@emits("all", "any")
def _truth(e, node, x, axis=None, keepdims=False):
    axes = e.constant(np.array(axes_of(axis, len(x.shape)), np.int64))
    name = e.cast(e(x, np.bool_), np.int32)
    found = e.add("ReduceMin" if node.name == "all" else "ReduceMax", [name, axes], keepdims=int(keepdims))
    return e.cast(found, np.bool_)


@emits("argmax", "argmin")
def _place(e, node, x, axis=None, keepdims=False):
    operator = {"argmax": "ArgMax", "argmin": "ArgMin"}[node.name]
    if axis is None:
        return reshaped(e, e.add(operator, [reshaped(e, e(x), [-1])], axis=0, keepdims=0), node.shape)
    return e.add(operator, [e(x)], axis=axes_of(axis, len(x.shape))[0], keepdims=int(keepdims))


@emits("softmax", "log_softmax")
def _softmax(e, node, x, axis=-1):
    return e.add("Softmax" if node.name == "softmax" else "LogSoftmax", [e(x, node.dtype)], axis=axes_of(axis, len(x.shape))[0])


@emits("cumsum")
def _cumsum(e, node, x, axis=None, dtype=None):
    name = e(x, node.dtype)
    if axis is None:
        name, axis = reshaped(e, name, [-1]), 0
    return e.add("CumSum", [name, e.constant(np.array(axes_of(axis, max(1, len(x.shape)))[0], np.int64))])


@emits("sort")
def _sort(e, node, x, axis=-1, descending=False, stable=True):
    return _ranked(e, x, axis, descending)[0]


@emits("argsort")
def _argsort(e, node, x, axis=-1, descending=False, stable=True):
    return _ranked(e, x, axis, descending)[1]


@emits("top_indices")
def _top(e, node, x, k, axis=-1, largest=True):
    return _ranked(e, x, axis, largest, e.row(k))[1]


def _ranked(e, x, axis, is_descending, count=None):
    """Values and places in order; of equal ones the first comes first, as TopK has it."""
    axis = axes_of(axis, len(x.shape))[0]
    return e.add("TopK", [e(x), e.row(x.shape[axis]) if count is None else count], 2, axis=axis, largest=int(is_descending))
