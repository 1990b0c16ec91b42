"""Max pooling that tells where the greatest elements were, and unpooling, which puts them there again."""

from math import prod
from typing import Any

import numpy as np

from ..core.mode import no_grad, whole
from ..dtypes import name_of
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ops.images import pooling, windows
from ..ops.images._pooling import check_ndim
from ..ops.images.adaptive import AdaptiveWindows, greatest_places
from ..ops.images.pooling import max_pool2d_with_taps
from ..ops.manipulation.gathering import checked_positions, take_along_axis
from ..ops.manipulation.movements import expand_dims, moveaxis, reshape, squeeze
from ..ops.manipulation.selections import put
from ..tensor.creation import zeros


def _fixed(axes, pool, places):
    """(`pool`, which takes windows of a size over the last `axes` axes, with indices if wanted; and always with indices)."""

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        check_ndim(input.shape, axes)
        numbers = [_each(n, axes) for n in (kernel_size, kernel_size if stride is None else stride, padding, dilation)]
        return places(input, *numbers, ceil_mode)

    def either(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return (with_indices if return_indices else pool)(input, kernel_size, stride, padding, dilation, ceil_mode)

    return _told(pool, either, with_indices)


def _in_lines(x, size, stride, padding, dilation, ceil_mode):
    """The greatest elements of windows of lines, and the place of each in its line."""
    pairs = (1, *size), (1, *stride), (0, *padding), (1, *dilation)
    found, places = _in_images(expand_dims(x, -2), *pairs, ceil_mode)
    return squeeze(found, -2), squeeze(places, -2)


def _in_images(x, size, stride, padding, dilation, ceil_mode):
    """The greatest elements of windows of images, and the place of each in its image, counted row by row."""
    found, taps = max_pool2d_with_taps(x, size, stride, padding, dilation, ceil_mode)
    taps, (tall, wide) = taps.astype("int64"), found.shape[-2:]
    rows = taps // size[1] * dilation[0] + (np.arange(tall) * stride[0] - padding[0])[:, None]
    columns = taps % size[1] * dilation[1] + (np.arange(wide) * stride[1] - padding[1])
    return found, rows * x.shape[-1] + columns


def _in_volumes(x, size, stride, padding, dilation, ceil_mode):
    """The greatest elements of windows of volumes, and the place of each in its volume: images first, depth behind."""
    flat, within = _in_images(x, size[1:], stride[1:], padding[1:], dilation[1:], ceil_mode)
    found, depth = _in_lines(moveaxis(flat, -3, -1), size[:1], stride[:1], padding[:1], dilation[:1], ceil_mode)
    places = depth * prod(x.shape[-2:]) + take_along_axis(moveaxis(within, -3, -1), depth, -1)
    return moveaxis(found, -1, -3), moveaxis(places, -1, -3)


def _adaptive(axes, pool):
    """(`pool`, whose result has a size over the last `axes` axes, with indices if wanted; and always with indices)."""

    def with_indices(input, output_size):
        found = pool(input, output_size)
        sizes = zip(input.shape[-axes:], found.shape[-axes:], strict=True)
        return found, _greatest_places(input, [AdaptiveWindows.of(count, size).places for size, count in sizes])

    def either(input, output_size, return_indices=False):
        return (with_indices if return_indices else pool)(input, output_size)

    return _told(pool, either, with_indices)


def _told(pool, either, with_indices):
    """The two functions with their names and what they do."""
    name = pool.__name__
    for function, ending in ((either, ""), (with_indices, "_with_indices")):
        function.__name__ = function.__qualname__ = name + ending
    either.__doc__ = f"{pool.__doc__}\n\n    With `return_indices`, what `{name}_with_indices` gives."
    with_indices.__doc__ = f"(what `{name}` gives, the place of each result: counted row by row over the pooled axes of the input)."
    return whole(either), whole(with_indices)


max_pool1d, max_pool1d_with_indices = _fixed(1, windows.max_pool1d, _in_lines)
max_pool2d, max_pool2d_with_indices = _fixed(2, pooling.max_pool2d, _in_images)
max_pool3d, max_pool3d_with_indices = _fixed(3, windows.max_pool3d, _in_volumes)
adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive(1, windows.adaptive_max_pool1d)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive(2, windows.adaptive_max_pool2d)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive(3, windows.adaptive_max_pool3d)


def _greatest_places(x: Any, lines):
    """Where the first greatest element of each window is, found along one axis after the other, the last first.

    `lines` has for each pooled axis the places of the elements of windows, (windows, elements).
    """
    found, step = None, 1
    with no_grad():
        for axis, places in zip(range(-1, -1 - len(lines), -1), reversed(lines), strict=True):
            size = x.shape[axis]
            at = greatest_places(x, places, x.ndim + axis)
            found = at * step if found is None else at * step + take_along_axis(found, at, axis)
            x, step = take_along_axis(x, at, axis), step * size
    return found


@whole
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros, but for the elements of `input` at the places `indices` that `max_pool1d` with `return_indices` has given.

    Of the sizes that the stride leaves open the least is taken, unless `output_size` says which.

    >>> z, indices = rg.nn.functional.max_pool1d(rg.tensor([[1.0, 4.0, 2.0, 3.0]]), 2, return_indices=True)
    >>> rg.nn.functional.max_unpool1d(z, indices, 2)
    tensor([[0., 4., 0., 3.]])
    """
    return _unpooled(1, input, indices, kernel_size, stride, padding, output_size)


@whole
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """`max_unpool1d` of images, for the indices of `max_pool2d`."""
    return _unpooled(2, input, indices, kernel_size, stride, padding, output_size)


@whole
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """`max_unpool1d` of volumes, for the indices of `max_pool3d`."""
    return _unpooled(3, input, indices, kernel_size, stride, padding, output_size)


def _unpooled(axes, input, indices, kernel_size, stride, padding, output_size):
    if tuple(input.shape) != tuple(indices.shape):
        raise ShapeError(f"max_unpool{axes}d needs an index for each element, got shapes {input.shape} and {indices.shape}")
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"max_unpool{axes}d needs integers as indices, got {name_of(indices.dtype)}")
    numbers = [_each(n, axes) for n in (kernel_size, kernel_size if stride is None else stride, padding)]
    least = [(n - 1) * s + k - 2 * p for n, k, s, p in zip(input.shape[-axes:], *numbers, strict=True)]
    size = least if output_size is None else tuple(output_size)[-axes:]
    if len(size) != axes or any(not abs(n - m) < s for n, m, s in zip(size, least, numbers[1], strict=True)):
        raise ArgumentError(f"output_size must be less than the stride, {numbers[1]}, away from {tuple(least)}, got {output_size}")
    lead = tuple(input.shape[:-axes])
    starts = np.arange(prod(lead)).reshape(*lead, *[1] * axes) * prod(size)
    # Checked before the starts are added: an index that is too great would write to another image.
    places = checked_positions(indices, prod(size)) + starts
    # One element may be the greatest of several windows: its number is written to one place, and each receives the cotangent.
    return put(zeros(*lead, *size, dtype=input.dtype), reshape(input, -1), positions=reshape(places, -1))


def _each(value, axes):
    """`value`, one number or one for each axis, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes
