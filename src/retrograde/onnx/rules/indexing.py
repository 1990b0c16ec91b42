"""Operators that choose elements by their places, or write to places."""

import math
from typing import Any

import numpy as np

from ...errors import OnnxError
from ...ops.elementary.comparisons import where
from ...ops.elementary.conversions import astype
from ...ops.manipulation.gathering import take
from ...ops.manipulation.scattering import gather, scatter_reduce
from ...ops.manipulation.scattering import scatter as scatter_along
from ...ops.manipulation.selections import set_at
from ..rule import rule
from ..values import integers, is_computed, numbers


def wrapped(places, size):
    """Places, of which negative ones count from the end."""
    return where(places < 0, places + size, places)


@rule("Gather")
def _gather(x, places, /, *, axis=0):
    if not is_computed(x.dtype):
        return np.take(x, numbers(places), axis)
    return take(x, places, axis)


@rule("GatherElements", since=11)
def _gather_elements(x, places, /, *, axis=0):
    return gather(x, wrapped(astype(places, np.int64), x.shape[axis]), axis)


@rule("GatherND", since=11)
def _gather_nd(x, places, /, *, batch_dims=0):
    index = _grid(places, batch_dims)
    return x[index]


def _grid(places, batch_dims):
    """The index that takes what the last axis of `places` says, within each of the leading axes."""
    lead = tuple([np.arange(n).reshape(-1, *[1] * (len(places.shape) - 2 - i)) for i, n in enumerate(places.shape[:batch_dims])])
    return (*lead, *[places[..., i] for i in range(places.shape[-1])])


#: What a reduction of ONNX is called by `scatter_reduce`.
_KINDS = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}


@rule("ScatterElements", since=11)
def _scatter_elements(x, places, updates, /, *, axis=0, reduction="none"):
    places = wrapped(astype(places, np.int64), x.shape[axis])
    if reduction == "none":
        return scatter_along(x, updates, places, axis)
    return scatter_reduce(x, updates, places, axis, _kind(reduction))


def _kind(reduction):
    if reduction not in _KINDS:
        raise OnnxError(f"a reduction is none, add, mul, max or min, got {reduction!r}")
    return _KINDS[reduction]


@rule("Scatter", since=9)
def _scatter(x, places, updates, /, *, axis=0):
    return _scatter_elements(x, places, updates, axis=axis)


@rule("ScatterND", since=11)
def _scatter_nd(x, places, updates, /, *, reduction="none"):
    index = tuple([wrapped(places[..., i], x.shape[i]) for i in range(places.shape[-1])])
    if reduction == "none":
        return set_at(x, updates, index)
    # Several updates of one place: by the places of the elements in one row.
    depth = places.shape[-1]
    inner = math.prod(x.shape[depth:])
    row: Any = 0
    for i, each in enumerate(index):
        row = row + each * math.prod(x.shape[i + 1:depth])
    flat = (row.reshape(-1, 1) * inner + np.arange(inner)).reshape(-1)
    return scatter_reduce(x.reshape(-1), updates.reshape(-1), flat, 0, _kind(reduction)).reshape(x.shape)


@rule("Compress", since=9, numbers=(1,))
def _compress(x, condition, /, *, axis=None):
    places = np.flatnonzero(condition)
    return x.reshape(-1)[places] if axis is None else take(x, places, axis)


@rule("NonZero", since=9, numbers=(0,))
def _nonzero(x, /):
    return np.array(np.nonzero(np.atleast_1d(x)), np.int64)


@rule("Unique", since=11, numbers=(0,))
def _unique(x, /, *, axis=None, sorted=1):
    found, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        found, first, counts, inverse = np.take(found, order, axis or 0), first[order], counts[order], rank[inverse]
    return found, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


@rule("TensorScatter", since=24, numbers=(2,))
def _tensor_scatter(past, update, starts=None, /, *, axis=-2, mode="linear"):
    axis %= len(past.shape)
    if axis == 0:
        raise OnnxError("the axis of TensorScatter cannot be that of the batch")
    starts = np.zeros(past.shape[0], np.int64) if starts is None else starts
    length, size = update.shape[axis], past.shape[axis]
    places = starts[:, None] + np.arange(length)
    if mode == "circular":
        places %= size
    elif (places >= size).any():
        raise OnnxError(f"an update of {length} from {integers(starts)} on does not fit an axis of {size}")
    # Rows of the batch, all axes between, and the places: an index for each axis up to the one that is written to.
    shape = [1] * (axis + 1)
    grids = [np.arange(past.shape[i]).reshape([*shape[:i], -1, *shape[i + 1:]]) for i in range(axis)]
    index = (*grids, places.reshape([past.shape[0], *[1] * (axis - 1), length]))
    return set_at(past, update, index)


@rule("ArrayFeatureExtractor", domain="ai.onnx.ml", numbers=(1,))
def _features(x, places, /):
    return take(x, places.reshape(-1), len(x.shape) - 1).reshape(-1 if len(x.shape) > 1 else 1, places.size)


@rule("NonMaxSuppression", since=10, numbers=None)
def _suppressed(boxes, scores, most=None, overlap=None, least=None, /, *, center_point_box=0):
    most = 0 if most is None else int(most.reshape(-1)[0])
    overlap = 0.0 if overlap is None else float(overlap.reshape(-1)[0])
    least = None if least is None else float(least.reshape(-1)[0])
    corners = _corners(boxes, center_point_box)
    found = []
    for batch in range(scores.shape[0]):
        for kind in range(scores.shape[1]):
            kept, row = [], scores[batch, kind]
            for i in np.argsort(-row, kind="stable"):
                if len(kept) >= most or least is not None and row[i] <= least:
                    break
                if all(_shared(corners[batch, i], corners[batch, j]) <= overlap for j in kept):
                    kept.append(i)
            found += [(batch, kind, i) for i in kept]
    return np.array(found, np.int64).reshape(-1, 3)


def _corners(boxes, is_by_center):
    """Boxes as (least y, least x, greatest y, greatest x)."""
    if is_by_center:
        x, y, width, height = np.moveaxis(boxes, -1, 0)
        return np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], -1)
    one, other = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(one, other), np.maximum(one, other)], -1)


def _shared(a, b):
    """The part of two boxes that they share."""
    inner = np.prod(np.maximum(0, np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])))
    both = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - inner
    return inner / both if both > 0 else 0.0


