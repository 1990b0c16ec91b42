"""Pooling whose windows of one size lie at distances drawn at random (Graham, 2014)."""

from math import prod
from typing import Any

import numpy as np

from ..core.explain import explaining
from ..errors import ArgumentError, ShapeError
from ..ops.axes.searches import argmax
from ..ops.elementary.conversions import astype
from ..ops.elementary.rounding import trunc
from ..ops.manipulation.gathering import take_along_axis
from ..ops.manipulation.movements import expand_dims, reshape
from ..tensor.creation import asarray
from ..tensor.random import rand


@explaining
def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """The greatest number of each of `output_size` windows of `kernel_size`, at places drawn anew for each channel.

    `output_ratio`, a part of the size of `input` or one for (height, width), may stand for `output_size`. The numbers between 0
    and 1 that places are drawn by may be given, (batch, channels, 2). With `return_indices` also the place of each result in its
    channel, counted row by row. The gradient goes to the first greatest element.

    >>> rg.nn.functional.fractional_max_pool2d(rg.ones(1, 8, 8), 2, output_size=(5, 3)).shape
    (1, 5, 3)
    """
    found = fractional_max_pool2d_with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
    return found if return_indices else found[0]


@explaining
def fractional_max_pool2d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=True,  # noqa: ARG001
                                       _random_samples=None):
    """(what `fractional_max_pool2d` gives, the place of each result: counted row by row in its channel)."""
    # As in PyTorch, the first number drawn is that of columns.
    return _pooled(input, kernel_size, output_size, output_ratio, _random_samples, (1, 0))


@explaining
def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """`fractional_max_pool2d` of volumes, (batch, channels, depth, height, width); places are drawn by (batch, channels, 3)."""
    found = fractional_max_pool3d_with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
    return found if return_indices else found[0]


@explaining
def fractional_max_pool3d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=True,  # noqa: ARG001
                                       _random_samples=None):
    """(what `fractional_max_pool3d` gives, the place of each result: counted row by row in its channel)."""
    return _pooled(input, kernel_size, output_size, output_ratio, _random_samples, (0, 1, 2))


def _pooled(input, kernel_size, output_size, output_ratio, samples, order):
    """The greatest numbers and their places; `order` says which of the numbers drawn is for each axis."""
    axes = len(order)
    if input.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"fractional_max_pool{axes}d needs (batch, channels) and {axes} axes, or these without a batch, got "
                         f"{tuple(input.shape)}")
    images = input if input.ndim == axes + 2 else expand_dims(input, 0)
    sizes = tuple(images.shape[2:])
    kernel, output = _each(kernel_size, axes), _output_size(sizes, output_size, output_ratio)
    if any(n < 1 or n + k - 1 > size for n, k, size in zip(output, kernel, sizes, strict=True)):
        raise ArgumentError(f"{output} windows of {kernel} have no room in an image of {sizes}")
    drawn: Any = rand(*images.shape[:2], axes, dtype=images.dtype) if samples is None else asarray(samples)
    drawn = drawn if input is images else drawn[:1]
    if tuple(drawn.shape) != (*images.shape[:2], axes):
        raise ShapeError(f"_random_samples must have shape {(*images.shape[:2], axes)}, got {tuple(drawn.shape)}")
    starts = [_starts(drawn[..., number], *numbers) for number, *numbers in zip(order, sizes, output, kernel, strict=True)]
    places = _places(starts, sizes, kernel)
    lines = reshape(images, (*images.shape[:2], prod(sizes)))
    seen = reshape(take_along_axis(lines, reshape(places, (*lines.shape[:2], prod(places.shape[2:]))), -1), places.shape)
    at = take_along_axis(places, expand_dims(argmax(seen, -1), -1), -1)
    shape = (*input.shape[:-axes], *output)
    at = reshape(at, (*lines.shape[:2], prod(output)))
    return reshape(take_along_axis(lines, at, -1), shape), reshape(at, shape)


def _each(value, axes):
    """`value`, one number or one for each axis, as a tuple."""
    found = tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes
    if len(found) != axes:
        raise ArgumentError(f"one number or {axes} are needed, got {value}")
    return found


def _output_size(sizes, output_size, output_ratio):
    if (output_size is None) == (output_ratio is None):
        raise ArgumentError("one of output_size and output_ratio must be given, got both" if output_size is not None else
                            "one of output_size and output_ratio must be given, got none")
    if output_size is not None:
        return _each(output_size, len(sizes))
    ratios = _each(output_ratio, len(sizes))
    if not all(0 < ratio < 1 for ratio in ratios):
        raise ArgumentError(f"output_ratio must lie between 0 and 1, got {output_ratio}")
    return tuple([int(size * ratio) for size, ratio in zip(sizes, ratios, strict=True)])


def _starts(drawn, size, count, kernel):
    """Where each of `count` windows starts, (batch, channels, count): at a regular distance from a place that is drawn, rounded."""
    apart = (size - kernel) / (count - 1) if count > 1 else 0.0
    drawn = expand_dims(drawn, -1)
    starts = astype(trunc((np.arange(count, dtype=drawn.dtype) + drawn) * apart) - trunc(drawn * apart), np.int64)
    is_last = np.arange(count) == count - 1
    return starts * ~is_last + (size - kernel) * is_last


def _places(starts, sizes, kernel):
    """(batch, channels, windows along each axis, elements): the places of the elements of each window."""
    axes, lead = len(kernel), tuple(starts[0].shape[:2])
    total: Any = 0
    for axis, (start, size, count) in enumerate(zip(starts, sizes, kernel, strict=True)):
        along = [n if i in (axis, axes + axis) else 1 for i, n in enumerate([start.shape[2]] * axes + [count] * axes)]
        total = total * size + reshape(expand_dims(start, -1) + np.arange(count), (*lead, *along))
    return reshape(total, (*lead, *[start.shape[2] for start in starts], prod(kernel)))
