"""Operators that move elements about: reshape, transpose, pad, joins, cuts."""

import math

import numpy as np

from ...errors import OnnxError, UnsupportedOnnxError
from ...ops.linalg.matrices import tril, triu
from ...ops.manipulation.borders import pad
from ...ops.manipulation.joins import concatenate
from ...ops.manipulation.movements import broadcast_to, permute_dims, reshape, squeeze
from ...ops.manipulation.repetition import tile
from ...shapes import broadcast
from ..rule import rule
from ..values import integer, integers, is_computed
from .creation import checked_shape


def apply_to_arrays(function, x, *rest):
    """An op on `x`; of an array of texts, or of dtypes that only arrays have, by way of the places of its elements."""
    if is_computed(x.dtype):
        return function(x, *rest)
    places = np.arange(x.size).reshape(x.shape)
    return x.reshape(-1)[function(places, *rest)]


@rule("Reshape", since=5, numbers=(1,))
def _reshape(x, shape, /, *, allowzero=0):
    shape = integers(shape)
    if not allowzero:
        for i, n in enumerate(shape):
            if n == 0 and i >= len(x.shape):
                raise OnnxError(f"the shape {shape} keeps axis {i} of an array of shape {tuple(x.shape)}, which has none")
        shape = [x.shape[i] if n == 0 else n for i, n in enumerate(shape)]
    return apply_to_arrays(reshape, x, tuple(shape))


@rule("Flatten")
def _flatten(x, /, *, axis=1):
    axis = axis + len(x.shape) if axis < 0 else axis
    return apply_to_arrays(reshape, x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@rule("Transpose")
def _transpose(x, /, *, perm=None):
    return apply_to_arrays(permute_dims, x, tuple(reversed(range(len(x.shape)))) if perm is None else tuple(perm))


@rule("Squeeze", since=13, numbers=(1,))
def _squeeze(x, axes=None, /):
    axes = [i for i, n in enumerate(x.shape) if n == 1] if axes is None else integers(axes)
    return apply_to_arrays(squeeze, x, tuple(axes)) if axes else x


@rule("Squeeze")
def _squeeze_by_attribute(x, /, *, axes=None):
    return _squeeze(x, axes)


@rule("Unsqueeze", since=13, numbers=(1,))
def _unsqueeze(x, axes, /):
    axes = integers(axes)
    ndim = len(x.shape) + len(axes)
    if any(not -ndim <= a < ndim for a in axes):
        raise OnnxError(f"an axis of {axes} lies outside of the {ndim} axes of the result")
    places = {a % ndim for a in axes}
    if len(places) < len(axes):
        raise OnnxError(f"an axis stands twice in {axes}")
    left = iter(x.shape)
    return apply_to_arrays(reshape, x, tuple([1 if i in places else next(left) for i in range(ndim)]))


@rule("Unsqueeze")
def _unsqueeze_by_attribute(x, /, *, axes):
    return _unsqueeze(x, axes)


@rule("Expand", since=8, numbers=(1,))
def _expand(x, shape, /):
    return apply_to_arrays(broadcast_to, x, broadcast([tuple(x.shape), checked_shape(shape)]))


@rule("Tile", since=6, numbers=(1,))
def _tile(x, repeats, /):
    checked_shape([a * b for a, b in zip(x.shape, integers(repeats), strict=True)])
    return apply_to_arrays(tile, x, tuple(integers(repeats)))


@rule("Concat", since=4)
def _concatenate(*inputs, axis):
    if is_computed(inputs[0].dtype):
        return concatenate(inputs, axis)
    return np.concatenate(inputs, axis)


@rule("Split", since=18, numbers=(1,))
def _split(x, sizes=None, /, *, axis=0, num_outputs=None, context):
    length = x.shape[axis]
    if sizes is None:
        count = context.count if num_outputs is None else num_outputs
        size = -(-length // count)
        sizes = [max(0, min(size, length - i * size)) for i in range(count)]
    return tuple(pieces(x, integers(sizes), axis))


@rule("Split", since=13, numbers=(1,))
def _split_13(x, sizes=None, /, *, axis=0, context):
    return _split(x, sizes, axis=axis, context=context)


@rule("Split", since=2)
def _split_by_attribute(x, /, *, split=None, axis=0, context):
    return _split(x, split, axis=axis, context=context)


def pieces(x, sizes, axis):
    """`x` cut into pieces of `sizes` along an axis."""
    length = x.shape[axis]
    if sum(sizes) != length:
        raise OnnxError(f"pieces of {sizes} elements do not make up an axis of {length}")
    ends = np.cumsum(sizes)
    before = (slice(None),) * (axis % len(x.shape))
    return [x[(*before, slice(int(end) - size, int(end)))] for end, size in zip(ends, sizes, strict=True)]


@rule("Slice", since=10, numbers=(1, 2, 3, 4))
def _slice(x, starts, ends, axes=None, steps=None, /):
    starts, ends = integers(starts), integers(ends)
    axes = list(range(len(starts))) if axes is None else integers(axes)
    steps = [1] * len(starts) if steps is None else integers(steps)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise OnnxError(f"starts, ends, axes and steps must be of one length, got {starts}, {ends}, {axes}, {steps}")
    index = [slice(None)] * len(x.shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        length = x.shape[axis]
        # An end below the first element, going backwards, is before it, not the last one.
        end = None if step < 0 and end < -length else end
        index[axis] = slice(start, end, step)
    return x[tuple(index)]


@rule("Slice")
def _slice_by_attributes(x, /, *, starts, ends, axes=None):
    return _slice(x, starts, ends, axes)


@rule("Pad", since=11, numbers=(1, 3))
def _pad(x, pads, value=None, axes=None, /, *, mode="constant"):
    axes = list(range(len(x.shape))) if axes is None else [a % len(x.shape) for a in integers(axes)]
    pads = integers(pads)
    if len(pads) != 2 * len(axes):
        raise OnnxError(f"{len(axes)} axes need {2 * len(axes)} pads, got {pads}")
    widths = [(0, 0)] * len(x.shape)
    for i, axis in enumerate(axes):
        widths[axis] = pads[i], pads[len(axes) + i]
    checked_shape([max(0, n + a + b) for n, (a, b) in zip(x.shape, widths, strict=True)])
    # What is cut off is cut first; a border is of what is left.
    index = tuple([slice(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(x.shape, widths, strict=True)])
    x = x[index] if any(n < 0 for pair in widths for n in pair) else x
    widths = tuple([(max(0, a), max(0, b)) for a, b in widths])
    return bordered(x, widths, mode, value)


@rule("Pad", since=2)
def _pad_by_attributes(x, /, *, pads, mode="constant", value=0.0):
    return _pad(x, pads, np.asarray(value, x.dtype), mode=mode)


def bordered(x, widths, mode, value=None):
    """`x` with a border: of zeros or a value, or of its own elements."""
    if mode == "constant":
        value = 0 if value is None else value
        if isinstance(value, np.ndarray):
            return pad(x, widths, value=value.reshape(-1)[0].item() if is_computed(x.dtype) else value.reshape(-1)[0])
        return pad(x, widths, value=value if isinstance(value, (int, float)) else value.reshape(()).item())
    if mode not in ("edge", "reflect", "wrap"):
        raise UnsupportedOnnxError(f"a border of mode {mode!r} is not known here")
    # The places of the elements are padded, by NumPy; the elements are taken from there, axis by axis.
    for axis, (before, after) in enumerate(widths):
        if before or after:
            places = np.pad(np.arange(x.shape[axis]), (before, after), mode)
            x = x[(*(slice(None),) * axis, places)]
    return x


@rule("Trilu", since=14, numbers=(1,))
def _trilu(x, k=None, /, *, upper=1):
    return (triu if upper else tril)(x, 0 if k is None else integer(k))


@rule("DepthToSpace")
def _depth_to_space(x, /, *, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    inner = c // blocksize**2
    if mode == "DCR":
        split, order = (n, blocksize, blocksize, inner, h, w), (0, 3, 4, 1, 5, 2)
    else:
        split, order = (n, inner, blocksize, blocksize, h, w), (0, 1, 4, 2, 5, 3)
    return reshape(permute_dims(reshape(x, split), order), (n, inner, h * blocksize, w * blocksize))


@rule("SpaceToDepth")
def _space_to_depth(x, /, *, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    high, wide = h // blocksize, w // blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return reshape(permute_dims(reshape(x, (n, c, high, blocksize, wide, blocksize)), order), (n, c * blocksize**2, high, wide))


@rule("CenterCropPad", since=18, numbers=(1,))
def _center_crop_pad(x, shape, /, *, axes=None):
    axes = list(range(len(x.shape))) if axes is None else axes
    for axis, target in zip(axes, integers(shape), strict=True):
        axis, length = axis % len(x.shape), x.shape[axis]
        checked_shape([target])
        if target < length:
            start = (length - target) // 2
            x = x[(*(slice(None),) * axis, slice(start, start + target))]
        elif target > length:
            start = (target - length) // 2
            widths = [(0, 0)] * len(x.shape)
            widths[axis] = start, target - length - start
            x = pad(x, tuple(widths))
    return x


@rule("ReverseSequence", since=10, numbers=(1,))
def _reverse_sequence(x, lengths, /, *, batch_axis=1, time_axis=0):
    places = np.arange(x.shape[time_axis])[:, None]
    lengths = lengths[None, :]
    places = np.where(places < lengths, lengths - 1 - places, places)
    order = [slice(None)] * len(x.shape)
    order[time_axis] = places if time_axis < batch_axis else places.T
    order[batch_axis] = np.arange(x.shape[batch_axis])[None, :] if time_axis < batch_axis else np.arange(x.shape[batch_axis])[:,
                                                                                                                              None]
    return x[tuple(order)]
