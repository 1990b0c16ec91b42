"""Pooling whose windows of one size lie at distances drawn at random (Graham, 2014)."""

from typing import Any

import numpy as np

from ..core.explain import explaining
from ..errors import ArgumentError, ShapeError
from ..ops.conversions import astype
from ..ops.gathering import take_along_axis
from ..ops.movements import broadcast_to, expand_dims, reshape
from ..ops.rounding import floor
from ..ops.searches import argmax
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
    if input.ndim not in (3, 4):
        raise ShapeError(f"fractional_max_pool2d needs (batch, channels, height, width) or one without batch, got {input.shape}")
    images = input if input.ndim == 4 else expand_dims(input, 0)
    kernel, sizes, output = _pair(kernel_size), images.shape[2:], _output_size(images.shape[2:], output_size, output_ratio)
    if any(n < 1 or n + k - 1 > size for n, k, size in zip(output, kernel, sizes, strict=True)):
        raise ArgumentError(f"{output} windows of {kernel} have no room in an image of {tuple(sizes)}")
    drawn: Any = rand(*images.shape[:2], 2, dtype=images.dtype) if _random_samples is None else asarray(_random_samples)
    if tuple(drawn.shape) != (*images.shape[:2], 2):
        raise ShapeError(f"_random_samples must have shape {(*images.shape[:2], 2)}, got {drawn.shape}")
    # As in PyTorch, the first number is that of columns.
    rows, columns = (_starts(drawn[..., 1 - axis], sizes[axis], output[axis], kernel[axis]) for axis in (0, 1))
    places = _places(rows, columns, sizes[1], kernel)
    lines = reshape(images, (*images.shape[:2], sizes[0] * sizes[1]))
    seen = reshape(take_along_axis(lines, reshape(places, (*lines.shape[:2], -1)), -1), places.shape)
    at = take_along_axis(places, expand_dims(argmax(seen, -1), -1), -1)
    shape = (*input.shape[:-2], *output)
    return reshape(take_along_axis(lines, reshape(at, (*lines.shape[:2], -1)), -1), shape), reshape(at, shape)


def _pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def _output_size(sizes, output_size, output_ratio):
    if (output_size is None) == (output_ratio is None):
        raise ArgumentError("one of output_size and output_ratio must be given, got both" if output_size is not None else
                            "one of output_size and output_ratio must be given, got none")
    if output_size is not None:
        return _pair(output_size)
    ratios = _pair(output_ratio)
    if not all(0 < ratio < 1 for ratio in ratios):
        raise ArgumentError(f"output_ratio must lie between 0 and 1, got {output_ratio}")
    return tuple([int(size * ratio) for size, ratio in zip(sizes, ratios, strict=True)])


def _starts(drawn, size, count, kernel):
    """Where each of `count` windows starts, (batch, channels, count): at a regular distance from a place that is drawn, rounded."""
    apart = (size - kernel) / (count - 1) if count > 1 else 0.0
    drawn = expand_dims(drawn, -1)
    starts = astype(floor((np.arange(count, dtype=drawn.dtype) + drawn) * apart) - floor(drawn * apart), np.int64)
    is_last = np.arange(count) == count - 1
    return starts * ~is_last + (size - kernel) * is_last


def _places(rows, columns, width, kernel):
    """(batch, channels, windows down, windows across, elements): the places of the elements of each window."""
    down = reshape(expand_dims(rows, -1) + np.arange(kernel[0]), (*rows.shape, 1, kernel[0], 1))
    across = reshape(expand_dims(columns, -1) + np.arange(kernel[1]), (*columns.shape[:2], 1, columns.shape[2], 1, kernel[1]))
    shape = (*rows.shape, columns.shape[2], *kernel)
    return reshape(broadcast_to(down * width + across, shape), (*shape[:-2], kernel[0] * kernel[1]))
