"""Patches: the windows that a kernel slides over, as columns, and columns added back into images."""

from math import prod

import numpy as np

from ..errors import ShapeError
from ._convolving import Geometry, pair
from .convolution import conv2d, conv2d_input
from .movements import reshape


def unfold(x, /, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of images (batch, channels, height, width) as columns: (batch, channels * window, number of windows).

    A convolution with kernels that each have a single one, so its derivative is `fold`.

    >>> rg.nn.functional.unfold(rg.arange(4.0).reshape(1, 1, 2, 2), (1, 2)).tolist()
    [[[0.0, 2.0], [1.0, 3.0]]]
    """
    if x.ndim != 4:
        raise ShapeError(f"unfold needs images (batch, channels, height, width), got shape {tuple(x.shape)}")
    columns = conv2d(x, _taps(kernel_size, x.shape[1], x.dtype), None, stride, padding, dilation, x.shape[1])
    return reshape(columns, (*columns.shape[:2], prod(columns.shape[2:])))


def fold(x, /, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Images of `output_size` made of the columns that `unfold` gives: where windows overlap, they add up.

    >>> rg.nn.functional.fold(rg.ones(1, 2, 2), (1, 3), (1, 2)).tolist()
    [[[[1.0, 2.0, 1.0]]]]
    """
    window, image = prod(pair(kernel_size, "kernel_size", 1)), pair(output_size, "output_size", 1)
    if x.ndim != 3 or x.shape[1] % window:
        raise ShapeError(f"fold needs columns (batch, channels * {window}, number of windows), got shape {tuple(x.shape)}")
    channels = x.shape[1] // window
    taps, shape = _taps(kernel_size, channels, x.dtype), (x.shape[0], channels, *image)
    windows = Geometry.of(shape, taps.shape, stride, padding, dilation, channels).result
    if x.shape[2] != prod(windows):
        raise ShapeError(f"fold to {image} needs {windows[0]} by {windows[1]} windows, got {x.shape[2]}")
    return conv2d_input(reshape(x, (*x.shape[:2], *windows)), taps, shape, stride, padding, dilation, channels)


def _taps(kernel_size, channels, dtype):
    """For each channel and each place in the window the kernel that is one there: (channels * window, 1, height, width)."""
    height, width = pair(kernel_size, "kernel_size", 1)
    return np.tile(np.eye(height * width, dtype=dtype), (channels, 1)).reshape(-1, 1, height, width)
