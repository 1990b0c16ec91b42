"""Ops that fold axes, or go along one."""

import numpy as np

from ...errors import UnsupportedOnnxError
from ..building import axes_of, emits
from ..dimensions import Dimension
from .shapes import reshaped

_FOLDS = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin",
          "logsumexp": "ReduceLogSumExp"}
#: What elements that are not chosen count as.
_NEUTRAL = {"sum": 0, "prod": 1}


@emits(*_FOLDS)
def _folded(e, node, x, axis=None, keepdims=False, dtype=None, where=None):
    name, wide = e(x, node.dtype), node.dtype
    if node.dtype == bool:
        name, wide = e.cast(name, np.int32), np.dtype(np.int32)
    if where is not None:
        if node.name not in _NEUTRAL:
            raise UnsupportedOnnxError(f"{node.name} of chosen elements has no counterpart in ONNX here; choose them with rg.where")
        neutral = _NEUTRAL[node.name]
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
    axes = axes_of(axis, len(x.shape))
    if len(axes) == 1:
        return e.add("Softmax" if node.name == "softmax" else "LogSoftmax", [e(x, node.dtype)], axis=axes[0])
    if not axes:
        return e(float(node.name == "softmax"), node.dtype)
    # Over several axes, as exp(x - log sum exp(x)).
    name = e(x, node.dtype)
    found = e.add("Sub", [name, e.add("ReduceLogSumExp", [name, e.constant(np.array(axes, np.int64))], keepdims=1)])
    return e.add("Exp", [found]) if node.name == "softmax" else found


@emits("cumsum_from_end")
def _cumsum_from_end(e, node, x, axis):
    return e.add("CumSum", [e(x, node.dtype), e.constant(np.array(axes_of(axis, len(x.shape))[0], np.int64))], reverse=1)


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
    name, shape = e(x), x.shape
    if axis is None:
        if len(shape) != 1 and any(isinstance(n, Dimension) for n in shape):
            raise UnsupportedOnnxError("sorting all elements of an array of a dynamic size is not exported; give an axis")
        name, shape, axis = reshaped(e, name, [-1]), (int(np.prod(shape)),), 0
    axis = axes_of(axis, len(shape))[0]
    return e.add("TopK", [name, e.row(shape[axis]) if count is None else count], 2, axis=axis, largest=int(is_descending))
