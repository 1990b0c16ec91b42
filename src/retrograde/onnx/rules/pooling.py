"""Pooling over windows of any number of axes."""

import builtins
import math

import numpy as np

from ...errors import OnnxError
from ...ops.axes.reductions import max, mean, sum
from ...ops.axes.searches import argmax
from ...ops.elementary.arithmetic import abs, power
from ...ops.elementary.conversions import astype
from ...ops.images.pooling import avg_pool2d, max_pool2d
from ...ops.manipulation.borders import pad
from ...ops.manipulation.patches import unfold
from ...ops.manipulation.scattering import scatter
from ..rule import rule
from ..values import integers, is_floating, numbers
from .convolution import geometry


def _windows(x, kernel, strides, dilations, pads, auto_pad, ceil_mode):
    """(strides, dilations, borders, what is added behind so that the last window fits)."""
    sizes = x.shape[2:]
    strides, dilations, borders = geometry(sizes, kernel, strides, dilations, pads, auto_pad)
    extra = []
    for n, k, step, gap, (before, after) in zip(sizes, kernel, strides, dilations, borders, strict=True):
        room = n + before + after - (k - 1) * gap - 1
        count = (-(-room // step) if ceil_mode else room // step) + 1
        # A window that would begin behind the last element is none.
        count -= ceil_mode and (count - 1) * step >= n + before
        if count < 1:
            raise OnnxError(f"a window of {k} does not fit an axis of {n} with the border {before, after}")
        extra.append((count - 1) * step + (k - 1) * gap + 1 - n - before - after)
    return strides, dilations, borders, extra


def _bordered(x, borders, extra, value):
    widths = ((0, 0), (0, 0), *[(a, builtins.max(0, b + e)) for (a, b), e in zip(borders, extra, strict=True)])
    return pad(x, widths, value=value) if any(n for pair in widths for n in pair) else x


def _unfolded(x, kernel, strides, dilations):
    """The windows of `x`, with an axis for the places in them after all others, one for each axis of the image."""
    for i, (k, step, gap) in enumerate(zip(kernel, strides, dilations, strict=True)):
        x = unfold(x, 2 + i, k, step, gap)
    return x


def _inner(count):
    return tuple(range(-count, 0))


@rule("MaxPool")
def _max_pool(x, /, *, kernel_shape, strides=None, pads=None, dilations=None, ceil_mode=0, auto_pad="NOTSET", storage_order=0,
              context):
    count = len(kernel_shape)
    strides, dilations, borders, extra = _windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    wants_places = context.count > 1
    is_even = all(a == b and a <= k // 2 for (a, b), k in zip(borders, kernel_shape, strict=True))
    if count == 2 and not wants_places and is_even and not any(e > 0 for e in extra) and is_floating(x):
        return max_pool2d(x, tuple(kernel_shape), tuple(strides), tuple([a for a, _ in borders]), tuple(dilations))
    least = -np.inf if is_floating(x) else int(np.iinfo(x.dtype).min)
    found = _unfolded(_bordered(x, borders, extra, least), kernel_shape, strides, dilations)
    if not wants_places:
        return max(found, _inner(count))
    flat = found.reshape((*found.shape[:-count], -1))
    tap = numbers(argmax(flat, -1))
    return max(flat, -1), _places(tap, x.shape, kernel_shape, strides, dilations, borders, storage_order)


def _places(tap, shape, kernel, strides, dilations, borders, storage_order):
    """Where in the whole array the greatest element of each window is."""
    count = len(kernel)
    found = np.zeros(tap.shape, np.int64)
    order = range(count) if not storage_order else reversed(range(count))
    step, steps = 1, {}
    for axis in reversed(list(order)):
        steps[axis], step = step, step * shape[2 + axis]
    for axis, inner in enumerate(np.unravel_index(tap, kernel)):
        grid = np.arange(tap.shape[2 + axis]).reshape(-1, *[1] * (count - 1 - axis))
        found += (grid * strides[axis] + inner * dilations[axis] - borders[axis][0]) * steps[axis]
    images = np.arange(shape[0] * shape[1]).reshape(shape[0], shape[1], *[1] * count)
    return found + images * math.prod(shape[2:])


@rule("AveragePool")
def _average_pool(x, /, *, kernel_shape, strides=None, pads=None, dilations=None, ceil_mode=0, auto_pad="NOTSET",
                  count_include_pad=0):
    count = len(kernel_shape)
    strides, dilations, borders, extra = _windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    is_even = all(a == b and a <= k // 2 for (a, b), k in zip(borders, kernel_shape, strict=True))
    if count == 2 and is_even and not any(e > 0 for e in extra) and set(dilations) == {1}:
        return avg_pool2d(x, tuple(kernel_shape), tuple(strides), tuple([a for a, _ in borders]), False, bool(count_include_pad))
    total = sum(_unfolded(_bordered(x, borders, extra, 0), kernel_shape, strides, dilations), _inner(count))
    counted = np.ones((1, 1, *x.shape[2:]))
    counted = np.pad(counted, ((0, 0), (0, 0), *borders), constant_values=1.0 if count_include_pad else 0.0)
    counted = _bordered(counted, [(0, 0)] * count, extra, 0)
    counts = sum(_unfolded(counted, kernel_shape, strides, dilations), _inner(count))
    return total / counts.astype(x.dtype)


@rule("LpPool", since=2)
def _lp_pool(x, /, *, kernel_shape, p=2, strides=None, pads=None, dilations=None, ceil_mode=0, auto_pad="NOTSET"):
    strides, dilations, borders, extra = _windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    windows = _unfolded(_bordered(x, borders, extra, 0), kernel_shape, strides, dilations)
    return power(sum(power(abs(windows), p), _inner(len(kernel_shape))), 1 / p)


@rule("GlobalAveragePool")
def _global_average(x, /):
    return mean(x, tuple(range(2, len(x.shape))), True)


@rule("GlobalMaxPool")
def _global_max(x, /):
    return max(x, tuple(range(2, len(x.shape))), True)


@rule("GlobalLpPool", since=2)
def _global_lp(x, /, *, p=2):
    return power(sum(power(abs(x), p), tuple(range(2, len(x.shape))), True), 1 / p)


@rule("MaxUnpool", since=9, numbers=(2,))
def _max_unpool(x, places, shape=None, /, *, kernel_shape, strides=None, pads=None):
    strides, _, borders = geometry(x.shape[2:], kernel_shape, strides, None, pads, "NOTSET")
    inner = [(n - 1) * s + k - a - b for n, s, k, (a, b) in zip(x.shape[2:], strides, kernel_shape, borders, strict=True)]
    made = (*x.shape[:2], *inner)
    target = made if shape is None else tuple(integers(shape))
    # Places count the elements of the array that was pooled, which `target` may be larger than.
    places = np.ravel_multi_index(np.unravel_index(numbers(places), made), target)
    flat = scatter(np.zeros(math.prod(target), x.dtype), x.reshape(-1), astype(places.reshape(-1), np.int64), 0)
    return flat.reshape(target)


