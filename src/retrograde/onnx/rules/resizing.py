"""Resize: each axis is a product with a matrix of weights, which is known before."""

import math
from typing import Any

import numpy as np

from ...errors import OnnxError
from ...ops.elementary.comparisons import clip, where
from ..rule import rule
from ..values import integers, is_floating
from .creation import checked_shape


@rule("Resize", since=11, numbers=(1, 2, 3))
def _resize(x, region=None, scales=None, sizes=None, /, *, mode="nearest", coordinate_transformation_mode="half_pixel",
            nearest_mode="round_prefer_floor", cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0, antialias=0,
            axes=None,
            keep_aspect_ratio_policy="stretch"):
    axes = list(range(len(x.shape))) if axes is None else [a % len(x.shape) for a in axes]
    scales, sizes = _scales_and_sizes(x.shape, axes, scales, sizes, keep_aspect_ratio_policy)
    checked_shape(sizes)
    region = None if region is None or region.size == 0 else [float(r) for r in region]
    taps = _taps(mode, nearest_mode, cubic_coeff_a, antialias)
    found = x
    for i, (axis, scale, size) in enumerate(zip(axes, scales, sizes, strict=True)):
        limits = None if region is None else (region[i], region[len(axes) + i])
        length = x.shape[axis]
        if scale == 1 and size == length and limits in (None, (0, 1)):
            continue
        places, is_outside = _places(coordinate_transformation_mode, length, size, scale, limits)
        matrix = _matrix(places, length, size, scale, taps, exclude_outside)
        found = _along(found, matrix, axis)
        if is_outside is not None and is_outside.any():
            shape = [-1 if a == axis else 1 for a in range(len(x.shape))]
            found = where(is_outside.reshape(shape), extrapolation_value, found)
    return found


@rule("Resize", since=10, numbers=(1,))
def _resize_10(x, scales, /, *, mode="nearest"):
    return _resize(x, None, scales, None, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@rule("Upsample", since=9, numbers=(1,))
def _upsample(x, scales, /, *, mode="nearest"):
    return _resize_10(x, scales, mode=mode)


def _scales_and_sizes(shape, axes, scales, sizes, policy) -> Any:
    lengths = [shape[a] for a in axes]
    if (sizes is None or len(sizes) == 0) and (scales is None or len(scales) == 0):
        raise OnnxError("Resize needs scales or sizes")
    if sizes is None or len(sizes) == 0:
        scales = [float(s) for s in scales]
        if len(scales) != len(axes) or any(not s > 0 or math.isinf(s) for s in scales):
            raise OnnxError(f"Resize needs a positive scale for each of {len(axes)} axes, got {scales}")
        return scales, [math.floor(n * s) for n, s in zip(lengths, scales, strict=True)]
    sizes = integers(sizes)
    if len(sizes) != len(axes):
        raise OnnxError(f"Resize needs a size for each of {len(axes)} axes, got {sizes}")
    scales = [size / n for size, n in zip(sizes, lengths, strict=True)]
    if policy == "stretch":
        return scales, sizes
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [scale] * len(axes), [int(n * scale + 0.5) for n in lengths]


def _places(mode, length, size, scale, limits):
    """(where each element of the result lies in the input, which lie outside of it; None where that does not matter)."""
    y, whole = np.arange(size, dtype=np.float64), scale * length
    if mode == "align_corners":
        return (np.zeros(size) if whole == 1 else y * (length - 1) / (whole - 1)), None
    if mode == "asymmetric":
        return y / scale, None
    if mode == "tf_crop_and_resize":
        if limits is None:
            raise OnnxError("Resize by tf_crop_and_resize needs a region")
        start, end = limits
        x = np.full(size, (end - start) * (length - 1) / 2) if whole == 1 else y * (end - start) * (length - 1) / (whole - 1)
        x = x + start * (length - 1)
        return x, (x < 0) | (x > length - 1)
    if mode not in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"):
        raise OnnxError(f"Resize has no coordinate_transformation_mode {mode!r}")
    if mode == "pytorch_half_pixel" and whole == 1:
        return np.full(size, -0.5), None
    offset = length / 2 * (1 - size / whole) if mode == "half_pixel_symmetric" else 0
    return offset + (y + 0.5) / scale - 0.5, None


def _taps(mode, nearest_mode, a, antialias):
    """A function of (how far a place is behind an element, scale): the weights of its neighbours."""
    if mode == "nearest":
        return lambda part, _: _nearest(part, nearest_mode)
    if mode not in ("linear", "cubic"):
        raise OnnxError(f"Resize has no mode {mode!r}")
    kernel = (lambda d: np.clip(1 - np.abs(d), 0, 1)) if mode == "linear" else lambda d: _cubic(np.abs(d), a)
    reach = 1 if mode == "linear" else 2

    def weights(part, scale):
        scale = min(scale, 1.0) if antialias else 1.0
        start = int(np.floor(-reach / scale) + 1)
        found = kernel(scale * (np.arange(start, 2 - start if mode == "cubic" else start + 2 - 2 * start) - part))
        return found / found.sum() if antialias else found

    return weights


def _nearest(part, mode):
    if part == 1:
        return np.array([0.0, 1.0])
    is_next = {"round_prefer_floor": part > 0.5, "round_prefer_ceil": part >= 0.5, "floor": False, "ceil": True}
    if mode not in is_next:
        raise OnnxError(f"Resize has no nearest_mode {mode!r}")
    return np.array([not is_next[mode], is_next[mode]], np.float64)


def _cubic(d, a):
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _matrix(places, length, size, scale, taps, exclude_outside):
    """The weights of the elements of one axis, a row for each of the result."""
    matrix = np.zeros((size, length))
    for row, place in enumerate(places):
        whole = math.floor(place)
        # A place on an element is one whole step behind the one before it.
        part = 1.0 if place == whole else place - whole
        weights = taps(part, scale)
        first = (whole - 1 if part == 1 else whole) - (len(weights) // 2 - 1)
        columns = first + np.arange(len(weights))
        if exclude_outside:
            weights = np.where((columns < 0) | (columns >= length), 0, weights)
            weights = weights / (weights.sum() or 1)
        np.add.at(matrix[row], np.clip(columns, 0, length - 1), weights)
    return matrix


def _along(x, matrix, axis):
    """`x` times a matrix along one axis; integers by way of floats, kept within what they can hold."""
    if not is_floating(x):
        limits = np.iinfo(x.dtype)
        wide = _along(x.astype(np.float64), matrix, axis)
        return clip(wide, limits.min, limits.max).astype(x.dtype)
    return matmul_along(x, matrix.astype(x.dtype), axis)


def matmul_along(x, matrix, axis):
    """`x` times a matrix along one axis."""
    return (x.swapaxes(axis, -1) @ matrix.T).swapaxes(axis, -1)
