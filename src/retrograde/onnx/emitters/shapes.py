"""Ops that move elements, and choose them by their places."""

import numpy as np

from ...errors import UnsupportedOnnxError
from ..building import axes_of, emits, fixed
from ..dimensions import Dimension
from ..nodes import Node

#: The end of an axis, as ONNX writes it.
_END = np.iinfo(np.int64).max


def reshaped(e, name, shape):
    """Write a reshape. One size that is a Dimension is found by the runtime; several are computed."""
    shape = list(shape)
    if 0 in [n for n in shape if not isinstance(n, Dimension)]:
        return e.add("Reshape", [name, e.integers(shape)], allowzero=1)
    unknown = [i for i, n in enumerate(shape) if isinstance(n, Dimension)]
    if len(unknown) == 1 and -1 not in [n for n in shape if not isinstance(n, Dimension)]:
        shape[unknown[0]] = -1
    return e.add("Reshape", [name, e.integers(shape) if shape else e.constant(np.zeros(0, np.int64))])


@emits("reshape")
def _reshape(e, node, x, shape, copy=None):
    return reshaped(e, e(x), node.shape)


@emits("expand_dims", "squeeze")
def _axes_changed(e, node, x, *_):
    return reshaped(e, e(x), node.shape)


@emits("permute_dims")
def _permute(e, node, x, axes):
    if not x.shape:
        return e.add("Identity", [e(x)])
    return e.add("Transpose", [e(x)], perm=axes_of(axes, len(x.shape)))


@emits("transpose")
def _transpose(e, node, x, axis1=-2, axis2=-1):
    order = list(range(len(x.shape)))
    a, b = axes_of([axis1, axis2], len(order))
    order[a], order[b] = b, a
    return e.add("Transpose", [e(x)], perm=order)


@emits("moveaxis")
def _moveaxis(e, node, x, source, destination):
    ndim = len(x.shape)
    sources, targets = axes_of(source, ndim), axes_of(destination, ndim)
    order = [i for i in range(ndim) if i not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return e.add("Transpose", [e(x)], perm=order)


@emits("broadcast_to")
def _broadcast(e, node, x, shape):
    return e.add("Expand", [e(x, node.dtype), e.integers(node.shape) if node.shape else e.constant(np.zeros(0, np.int64))])


@emits("range")
def _range(e, node, length):
    return e.cast(e.add("Range", [e.scalar(0), e.scalar(length), e.scalar(1)]), node.dtype)


@emits("flip")
def _flip(e, node, x, axis=None):
    axes = axes_of(axis, len(x.shape))
    count = len(axes)
    return e.add("Slice", [e(x), *[e.constant(np.array(row, np.int64))
                                   for row in ([-1] * count, [-_END] * count, axes, [-1] * count)]])


@emits("concatenate")
def _concatenate(e, node, arrays, axis=0):
    if axis is None:
        arrays, axis = [reshaped(e, e(a, node.dtype), [-1]) for a in arrays], 0
        return e.add("Concat", arrays, axis=0)
    return e.add("Concat", [e(a, node.dtype) for a in arrays], axis=axes_of(axis, len(node.shape))[0])


@emits("stack")
def _stack(e, node, arrays, axis=0):
    axis = axes_of(axis, len(node.shape))[0]
    place = e.constant(np.array([axis], np.int64))
    return e.add("Concat", [e.add("Unsqueeze", [e(a, node.dtype), place]) for a in arrays], axis=axis)


@emits("pad")
def _pad(e, node, x, pad_width, value=0):
    ndim = len(x.shape)
    pairs = [(pad_width, pad_width)] * ndim if not isinstance(pad_width, (tuple, list)) else list(pad_width)
    pairs = [tuple(pairs)] * ndim if pairs and not isinstance(pairs[0], (tuple, list)) else pairs
    pairs = pairs * ndim if len(pairs) == 1 else pairs
    if not ndim:
        return e.add("Identity", [e(x)])
    widths = [fixed(p[0], "the width of a border") for p in pairs] + [fixed(p[-1], "the width of a border") for p in pairs]
    return e.add("Pad", [e(x), e.constant(np.array(widths, np.int64)), e(value, node.dtype)])


@emits("shrink")
def _shrink(e, node, x, ranges):
    starts, ends = zip(*[(0, _END) if r is None else r for r in ranges], strict=True)
    return e.add("Slice", [e(x), e.integers(starts), e.integers(ends), e.constant(np.arange(len(starts), dtype=np.int64))])


@emits("unfold")
def _unfold(e, node, x, axis=-1, size=1, step=1, dilation=1):
    axis = axes_of(axis, len(x.shape))[0]
    count = fixed(node.shape[axis], "the number of windows")
    places = np.arange(count)[:, None] * step + np.arange(size)[None, :] * dilation
    found = e.add("Gather", [e(x), e.constant(places.astype(np.int64))], axis=axis)
    order = [i for i in range(len(x.shape) + 1) if i != axis + 1]
    return e.add("Transpose", [found], perm=[*order, axis + 1])


@emits("take")
def _take(e, node, x, indices, axis=None):
    name = e(x)
    if axis is None:
        name, axis = reshaped(e, name, [-1]), 0
    return e.add("Gather", [name, e(indices, np.int64)], axis=axes_of(axis, max(1, len(x.shape)))[0])


@emits("embedding")
def _embedding(e, node, places, weight, padding_idx=None):
    return e.add("Gather", [e(weight), e(places, np.int64)], axis=0)


@emits("take_along_axis")
def _take_along(e, node, x, indices, axis=-1):
    axis = axes_of(axis, len(x.shape))[0]
    shape = [n if i == axis else node.shape[i] for i, n in enumerate(x.shape)]
    name, places = e(x), e(indices, np.int64)
    if not _same_sizes(shape, x.shape):
        name = e.add("Expand", [name, e.integers(shape)])
    if not _same_sizes(node.shape, indices.shape):
        places = e.add("Expand", [places, e.integers(node.shape)])
    return e.add("GatherElements", [name, places], axis=axis)


@emits("scatter")
def _scatter(e, node, x, y, indices, axis=-1):
    places, updates = e(indices, np.int64), e(y, node.dtype)
    if not _same_sizes(np.shape(y) if not isinstance(y, Node) else y.shape, indices.shape):
        updates = e.add("Expand", [updates, e.integers(indices.shape)])
    return e.add("ScatterElements", [e(x), places, updates], axis=axes_of(axis, len(x.shape))[0])


def _same_sizes(a, b):
    return repr(tuple(a)) == repr(tuple(b))


@emits("getitem")
def _getitem(e, node, x, index):
    parts = list(index) if isinstance(index, (tuple, list)) else [index]
    advanced = [p for p in parts if isinstance(p, (Node, list, np.ndarray))]
    if any((p if isinstance(p, Node) else np.asarray(p)).dtype.kind == "b" for p in advanced):
        raise UnsupportedOnnxError("elements that are chosen by a mask have no counterpart here; use where, or places")
    ndim = len(x.shape)
    used = len([p for p in parts if p is not None and p is not Ellipsis])
    whole = [slice(None)] * (ndim - used)
    at = next((i for i, p in enumerate(parts) if p is Ellipsis), len(parts))
    parts = [*parts[:at], *whole, *parts[at + 1:]]
    return _taken(e, e(x), x.shape, parts, node)


def _taken(e, name, sizes, parts, node):
    """Slices first, then arrays of places, then axes that go or come."""
    axis, cuts, gone, arrays, kept = 0, [], [], [], []
    for part in parts:
        if part is None:
            kept.append("new")
            continue
        if isinstance(part, slice):
            if part != slice(None):
                cuts.append((axis, *_bounds(part, sizes[axis])))
            kept.append(axis)
        elif isinstance(part, (int, np.integer, Dimension)) and not isinstance(part, bool):
            gone.append((axis, part))
            kept.append("gone")
        else:
            arrays.append((axis, part))
            kept.append(("array", axis))
        axis += 1
    if arrays and any(isinstance(p, Dimension) for _, p in gone):
        raise UnsupportedOnnxError("a place that depends on a dynamic size beside arrays of places is not exported; index one "
                                   "after the other")
    if arrays and gone:
        # A number beside arrays is an array of one place.
        arrays = sorted([*arrays, *[(a, np.array(p)) for a, p in gone if not isinstance(p, Dimension)]], key=lambda pair: pair[0])
        kept = [("array", None) if k == "gone" else k for k in kept]
        gone = []
    if cuts:
        axes, starts, ends, steps = zip(*cuts, strict=True)
        name = e.add("Slice", [name, e.integers(starts), e.integers(ends), e.constant(np.array(axes, np.int64)),
                               e.constant(np.array(steps, np.int64))])
    if arrays:
        name = _gathered(e, name, [a for a, _ in arrays], [p for _, p in arrays], axis, kept)
    elif gone:
        for place, part in gone:
            name = e.add("Slice", [name, e.row(part), e.row(_after(part)), e.constant(np.array([place], np.int64))])
    return reshaped(e, name, node.shape) if gone or "new" in kept else name


def _after(part):
    """The place behind a place; behind the last one is the end."""
    if isinstance(part, Dimension):
        return Dimension({**part.terms, (): part.terms.get((), 0) + 1})
    return _END if part == -1 else part + 1


def _bounds(part, size):
    step = 1 if part.step is None else fixed(part.step, "the step of a slice")
    start = (0 if step > 0 else _END) if part.start is None else part.start
    end = (_END if step > 0 else -_END) if part.stop is None else part.stop
    return start, end, step


def _gathered(e, name, axes, places, ndim, kept):
    if "new" in kept:
        raise UnsupportedOnnxError("a new axis beside arrays of places has no counterpart here; reshape the result")
    places = [p if isinstance(p, Node) else np.asarray(p) for p in places]
    if len(axes) == 1:
        return e.add("Gather", [name, e(places[0], np.int64)], axis=axes[0])
    # The axes that are chosen from come first; the places of each element stand in one row.
    order = [*axes, *[i for i in range(ndim) if i not in axes]]
    if order != list(range(ndim)):
        name = e.add("Transpose", [name], perm=order)
    width = max(len(p.shape) for p in places)
    names = [e(p, np.int64) for p in places]
    total = names[0]
    for other in names[1:]:
        total = e.add("Add", [total, other])
    shape = e.add("Shape", [total])
    last = e.constant(np.array([width], np.int64))
    rows = e.add("Concat", [e.add("Unsqueeze", [e.add("Expand", [n, shape]), last]) for n in names], axis=width)
    found = e.add("GatherND", [name, rows])
    if axes == list(range(axes[0], axes[0] + len(axes))) and axes[0] > 0:
        rest = ndim - len(axes)
        inner = list(range(width, width + rest))
        found = e.add("Transpose", [found], perm=[*inner[:axes[0]], *range(width), *inner[axes[0]:]])
    return found


@emits("tril", "triu")
def _triangle(e, node, x, k=0):
    dtype = np.dtype(np.int32) if node.dtype == bool else node.dtype
    found = e.add("Trilu", [e(x, dtype), e.constant(np.array(fixed(k, "the diagonal"), np.int64))], upper=int(node.name == "triu"))
    return found if dtype == node.dtype else e.cast(found, node.dtype)
