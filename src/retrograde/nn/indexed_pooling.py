"""Max pooling that tells where the greatest elements were, and unpooling, which puts them there again."""

from math import prod
from typing import Any

import numpy as np

from ..core.mode import no_grad
from ..dtypes import name_of
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ops import pooling, windows
from ..ops.adaptive import AdaptiveWindows
from ..ops.comparisons import where
from ..ops.gathering import checked_positions, take, take_along_axis
from ..ops.movements import reshape
from ..ops.reductions import max as greatest
from ..ops.searches import argmax
from ..ops.selections import put
from ..tensor.creation import zeros


def _fixed(axes, pool):
    """(`pool`, which takes windows of a size over the last `axes` axes, with indices if wanted; and always with indices)."""

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        found = pool(input, kernel_size, stride, padding, dilation, ceil_mode)
        numbers = [_each(n, axes) for n in (kernel_size, kernel_size if stride is None else stride, padding, dilation)]
        lines = []
        for size, count, k, s, p, d in zip(input.shape[-axes:], found.shape[-axes:], *numbers, strict=True):
            start = np.arange(count) * s - p
            places = start[:, None] + np.arange(k) * d
            lines.append((start, d, places, (places >= 0) & (places < size)))
        return found, _greatest_places(input, lines)

    def either(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return (with_indices if return_indices else pool)(input, kernel_size, stride, padding, dilation, ceil_mode)

    return _told(pool, either, with_indices)


def _adaptive(axes, pool):
    """(`pool`, whose result has a size over the last `axes` axes, with indices if wanted; and always with indices)."""

    def with_indices(input, output_size):
        found = pool(input, output_size)
        lines = []
        for size, count in zip(input.shape[-axes:], found.shape[-axes:], strict=True):
            over = AdaptiveWindows.of(count, size)
            lines.append((over.start, 1, over.places, over.is_inside))
        return found, _greatest_places(input, lines)

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
    return either, with_indices


max_pool1d, max_pool1d_with_indices = _fixed(1, windows.max_pool1d)
max_pool2d, max_pool2d_with_indices = _fixed(2, pooling.max_pool2d)
max_pool3d, max_pool3d_with_indices = _fixed(3, windows.max_pool3d)
adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive(1, windows.adaptive_max_pool1d)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive(2, windows.adaptive_max_pool2d)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive(3, windows.adaptive_max_pool3d)


def _greatest_places(x: Any, lines):
    """Where the first greatest element of each window is, found along one axis after the other, the last first.

    `lines` has for each pooled axis where windows start, how far apart their elements lie, the places of these, (windows,
    elements), and which places are inside of `x`.
    """
    least: Any = -np.inf if x.dtype.kind not in "iub" else np.iinfo(x.dtype).min
    found, step = None, 1
    with no_grad():
        for axis, (start, apart, places, is_inside) in zip(range(-1, -1 - len(lines), -1), reversed(lines), strict=True):
            size, after = x.shape[axis], (1,) * (-axis - 1)
            seen = take(x, np.clip(places, 0, size - 1), axis)
            seen = where(is_inside.reshape(is_inside.shape + after), seen, np.full((), least, x.dtype))
            at = argmax(seen, axis=axis) * apart + start.reshape(start.shape + after)
            found = at * step if found is None else at * step + take_along_axis(found, at, axis)
            x, step = greatest(seen, axis), step * size
    return found


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros, but for the elements of `input` at the places `indices` that `max_pool1d` with `return_indices` has given.

    Of the sizes that the stride leaves open the least is taken, unless `output_size` says which.

    >>> z, indices = rg.nn.functional.max_pool1d(rg.tensor([[1.0, 4.0, 2.0, 3.0]]), 2, return_indices=True)
    >>> rg.nn.functional.max_unpool1d(z, indices, 2)
    tensor([[0., 4., 0., 3.]])
    """
    return _unpooled(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """`max_unpool1d` of images, for the indices of `max_pool2d`."""
    return _unpooled(2, input, indices, kernel_size, stride, padding, output_size)


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
