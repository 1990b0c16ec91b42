"""Patches: the windows of an axis or of images laid side by side, and put back."""

from functools import reduce
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ...shapes import one_axis
from .._families import composite, movement
from .._samples import call
from ..elementary.arithmetic import add
from .movements import moveaxis, pad, permute_dims, reshape, shrink
from .selections import getitem, scatter_add

#: Gradients of windows of at most so many elements are sums of shifted arrays; those of longer ones are added element by element.
_MOST_SHIFTED = 16


@movement(samples=(call((5,), size=2), call((2, 7), axis=-1, size=3, step=2), call((5, 2), axis=0, size=5), call((0, 4), 1, 2),
                   call((7,), size=3, dilation=2), call((20,), size=17)))
def unfold(x, /, axis=-1, size=1, step=1, dilation=1):
    r"""The windows of `size` elements of `x` along `axis`, one every `step`: their places take its place, a last axis runs in them.
    Elements of a window are `dilation` apart.

    $z_{w k} = x_{w s + k d}$: each element receives the sum of the cotangents of its windows.

    >>> rg.unfold(rg.tensor([1.0, 2.0, 3.0, 4.0]), 0, 2, 2).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    axis = one_axis(axis, np.ndim(x))
    length, span = x.shape[axis], dilation * (size - 1) + 1
    if size < 1 or step < 1 or dilation < 1 or span > length:
        raise ArgumentError(f"unfold needs a window of 1 to {length} elements, the length of axis {axis}, and step and dilation of "
                            f"at least 1, got size {size}, step {step} and dilation {dilation}")
    windows = np.lib.stride_tricks.sliding_window_view(x, span, axis)
    return windows[(slice(None),) * axis + (slice(None, None, step), ..., slice(None, None, dilation))]


def _folded(g, shape, axis, size, step, dilation):
    """Windows added up where they were in an array of `shape`."""
    axis = one_axis(axis, len(shape))
    count = g.shape[axis]
    if step == 1 and size <= _MOST_SHIFTED:
        before, around = [k * dilation for k in range(size)], ((0, 0),) * (len(shape) - axis - 1)
        return reduce(add, [
            pad(getitem(g, (..., k)), ((0, 0),) * axis + ((at, shape[axis] - count - at), *around)) for k, at in enumerate(before)])
    places = np.arange(count)[:, None] * step + np.arange(size) * dilation
    return scatter_add(moveaxis(g, -1, axis + 1), tuple(shape), (*[slice(None)] * axis, places))


unfold.defvjp(lambda g, x_shape, axis, size, step, dilation: _folded(g, x_shape, axis, size, step, dilation))


def windows_of(images, kernel, stride, dilation):
    """The windows of images, (..., height, width), as (..., rows, columns, rows of the kernel, columns of the kernel)."""
    for size, step, apart in zip(kernel, stride, dilation, strict=True):
        images = unfold(images, -2, size, step, apart)  # the columns are where the rows were, once these have their windows
    return images


@composite(samples=(
    call((1, 2, 3, 4), 2), call((2, 3, 4), kernel_size=(2, 3), padding=1, stride=2), call((1, 1, 5, 5), 2, dilation=2)))
def image_to_columns(x, /, kernel_size, dilation=1, padding=0, stride=1):
    r"""The patches of images as columns: (batch, channels, height, width) becomes (batch, channels · kernel, patches).

    It is PyTorch's `unfold`: a convolution is the product of its kernel, as a matrix, with the columns. Each element receives the
    sum of the cotangents of the patches that it is in.
    """
    if x.ndim < 3:
        raise ShapeError(f"image_to_columns needs images (..., channels, height, width), got shape {tuple(x.shape)}")
    _, window = _geometry(x.shape[-2:], kernel_size, dilation, padding, stride)
    (rows, columns), lead = _pair(kernel_size), tuple(range(x.ndim - 2))
    patches = pad(x, ((0, 0),) * (x.ndim - 2) + tuple((p, p) for p in _pair(padding)))
    patches = windows_of(patches, (rows, columns), _pair(stride), _pair(dilation))
    patches = permute_dims(patches, (*lead, x.ndim, x.ndim + 1, x.ndim - 2, x.ndim - 1))
    return reshape(patches, (*x.shape[:-3], x.shape[-3] * rows * columns, window[0] * window[1]))


@composite(samples=(
    call((1, 8, 6), output_size=(3, 4), kernel_size=2), call((4, 4), output_size=(3, 3), kernel_size=2, stride=2, padding=1)))
def columns_to_image(x, /, output_size, kernel_size, dilation=1, padding=0, stride=1):
    r"""Patches put back into images of `output_size` and added where they overlap: PyTorch's `fold`.

    It is the transpose of `image_to_columns`, which is therefore its derivative.
    """
    size, border, kernel = _pair(output_size), _pair(padding), _pair(kernel_size)
    padded, window = _geometry(size, kernel_size, dilation, padding, stride)
    if x.shape[-1] != (places := window[0] * window[1]) or x.shape[-2] % (kernel[0] * kernel[1]):
        raise ShapeError(f"the columns must have shape (batch, channels * {kernel[0] * kernel[1]}, {places}), got {x.shape}")
    lead = (*x.shape[:-2], x.shape[-2] // (kernel[0] * kernel[1]))
    (height, width), (rows, columns) = padded, window
    (down, right), (below, beside) = _pair(stride), _pair(dilation)
    patches = reshape(x, (*lead, *kernel, rows, columns))
    lines = _folded(moveaxis(patches, -3, -1), (*lead, kernel[0], rows, width), -1, kernel[1], right, beside)
    image = _folded(moveaxis(lines, -3, -1), (*lead, height, width), -2, kernel[0], down, below)
    return shrink(image, (None,) * len(lead) + tuple((p, p + n) for p, n in zip(border, size, strict=True)))


def _geometry(shape, kernel_size, dilation, padding, stride) -> Any:
    """The shape of the padded image, and how many patches lie along each of its axes."""
    padded, counts = [], []
    for n, k, d, p, s in zip(shape, *map(_pair, (kernel_size, dilation, padding, stride)), strict=True):
        count = (n + 2 * p - d * (k - 1) - 1) // s + 1
        if min(k, d, s) < 1 or p < 0 or count < 1:
            raise ArgumentError(f"a kernel of {k} with dilation {d}, stride {s} and padding {p} has no place on an axis of {n}")
        padded.append(n + 2 * p)
        counts.append(count)
    return tuple(padded), tuple(counts)


def _pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)
