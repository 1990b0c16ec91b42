"""Convolutions, also transposed, of integers and deformed."""

import math
from typing import Any

import numpy as np

from ...errors import OnnxError, UnsupportedOnnxError
from ...ops.elementary.conversions import astype
from ...ops.images.convolution import conv1d, conv2d
from ...ops.images.convolutions import conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ...ops.linalg.contractions import einsum
from ...ops.manipulation.borders import pad
from ...ops.manipulation.movements import reshape
from ...ops.manipulation.patches import columns_to_image
from ..rule import rule
from ..values import integers
from .sampling import at_places

_BY_AXES = {1: conv1d, 2: conv2d, 3: conv3d}
_TRANSPOSED = {1: conv_transpose1d, 2: conv_transpose2d, 3: conv_transpose3d}


def geometry(sizes, kernel, strides, dilations, pads, auto_pad) -> Any:
    """(strides, dilations, the border before and after each axis) of windows over axes of `sizes`."""
    count = len(sizes)
    strides, dilations = list(strides or [1] * count), list(dilations or [1] * count)
    if not len(kernel) == len(strides) == len(dilations) == count or pads is not None and len(pads) != 2 * count:
        raise OnnxError(f"{count} axes need as many kernel sizes, strides and dilations and twice as many pads, got {kernel}, "
                        f"{strides}, {dilations}, {pads}")
    if any(n < 1 for n in (*kernel, *strides, *dilations)):
        raise OnnxError(f"kernel sizes, strides and dilations must be positive, got {kernel}, {strides}, {dilations}")
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        borders = []
        for size, k, step, gap in zip(sizes, kernel, strides, dilations, strict=True):
            total = max(0, (math.ceil(size / step) - 1) * step + (k - 1) * gap + 1 - size)
            less, more = total // 2, total - total // 2
            borders.append((less, more) if auto_pad == "SAME_UPPER" else (more, less))
        return strides, dilations, borders
    pads = [0] * (2 * count) if pads is None or auto_pad == "VALID" else pads
    return strides, dilations, [(pads[i], pads[count + i]) for i in range(count)]


def _by_axes(table, count):
    if count not in table:
        raise UnsupportedOnnxError(f"convolutions over {count} axes are not known here; over one, two or three they are")
    return table[count]


@rule("Conv")
def _conv(x, weight, bias=None, /, *, kernel_shape=None, strides=None, pads=None, dilations=None, group=1, auto_pad="NOTSET"):
    count = len(x.shape) - 2
    function = _by_axes(_BY_AXES, count)
    strides, dilations, borders = geometry(x.shape[2:], kernel_shape or weight.shape[2:], strides, dilations, pads, auto_pad)
    if any(before != after for before, after in borders):
        x, borders = pad(x, ((0, 0), (0, 0), *borders)), [(0, 0)] * count
    return function(x, weight, bias, _sizes(strides), _sizes([a for a, _ in borders]), _sizes(dilations), group)


def _sizes(numbers):
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


@rule("ConvTranspose")
def _conv_transpose(x, weight, bias=None, /, *, kernel_shape=None, strides=None, pads=None, dilations=None, group=1,
                    auto_pad="NOTSET",
                    output_padding=None, output_shape=None):
    count = len(x.shape) - 2
    function = _by_axes(_TRANSPOSED, count)
    kernel = list(kernel_shape or weight.shape[2:])
    strides, dilations, borders = geometry(x.shape[2:], kernel, strides, dilations, None if "SAME" in auto_pad else pads, "NOTSET")
    extra = list(output_padding or [0] * count)
    if output_shape is not None or "SAME" in auto_pad:
        wanted = output_shape[-count:] if output_shape is not None else [n * s for n, s in zip(x.shape[2:], strides, strict=True)]
        borders = []
        for i in range(count):
            total = strides[i] * (x.shape[2 + i] - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1 - wanted[i]
            less, more = total // 2, total - total // 2
            borders.append((less, more) if auto_pad == "SAME_UPPER" else (more, less))
    found = function(x, weight, None, _sizes(strides), 0, 0, group, _sizes(dilations))
    # What the borders take away, less what is added behind.
    for i, (before, after) in enumerate(borders):
        after -= extra[i]
        lead = (slice(None),) * (2 + i)
        found = found[(*lead, slice(max(0, before), found.shape[2 + i] - max(0, after)))]
        if before < 0 or after < 0:
            widths = [(0, 0)] * len(found.shape)
            widths[2 + i] = max(0, -before), max(0, -after)
            found = pad(found, tuple(widths))
    return found if bias is None else found + bias.reshape((-1, *[1] * count))


@rule("ConvInteger", since=10)
def convolved_integers(x, weight, x_zero=None, weight_zero=None, /, *, kernel_shape=None, strides=None, pads=None, dilations=None,
                       group=1,
                       auto_pad="NOTSET"):
    """A convolution of integers, by floats of 64 bits, which hold their products and sums exactly."""
    x, weight = astype(x, np.float64), astype(weight, np.float64)
    x = x if x_zero is None else x - astype(x_zero, np.float64).reshape(())
    if weight_zero is not None:
        zero = astype(weight_zero, np.float64)
        weight = weight - (zero.reshape((-1, *[1] * (len(weight.shape) - 1))) if len(zero.shape) else zero)
    found = _conv(x, weight, kernel_shape=kernel_shape, strides=strides, pads=pads, dilations=dilations, group=group,
                  auto_pad=auto_pad)
    return astype(found, np.int32)


@rule("Col2Im", since=18, numbers=(1, 2))
def _col2im(x, image_shape, block_shape, /, *, strides=None, pads=None, dilations=None):
    sizes, kernel = integers(image_shape), integers(block_shape)
    strides, dilations, borders = geometry(sizes, kernel, strides, dilations, pads, "NOTSET")
    if len(sizes) == 2:
        # Over the image with its border, which is cut off then.
        whole = [n + a + b for n, (a, b) in zip(sizes, borders, strict=True)]
        found: Any = columns_to_image(x, tuple(whole), tuple(kernel), tuple(dilations), 0, tuple(strides))
        return found[:, :, borders[0][0]:borders[0][0] + sizes[0], borders[1][0]:borders[1][0] + sizes[1]]
    return _columns_added(x, sizes, kernel, strides, dilations, borders)


def _columns_added(x, sizes, kernel, strides, dilations, borders):
    """Columns added up in images of any number of axes, one place of the kernel after another."""
    whole = [n + a + b for n, (a, b) in zip(sizes, borders, strict=True)]
    steps = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(whole, kernel, dilations, strides, strict=True)]
    batch, channels = x.shape[0], x.shape[1] // math.prod(kernel)
    parts = x.reshape((batch, channels, math.prod(kernel), *steps))
    places = np.arange(math.prod(whole)).reshape(whole)
    where = []
    for tap in np.ndindex(*kernel):
        starts = [t * d for t, d in zip(tap, dilations, strict=True)]
        where.append(places[tuple([slice(a, a + (n - 1) * s + 1, s) for a, n,
                                   s in zip(starts, steps, strides, strict=True)])].reshape(-1))
    matrix = np.zeros((math.prod(kernel) * math.prod(steps), math.prod(whole)), np.float32)
    matrix[np.arange(len(matrix)), np.concatenate(where)] = 1
    found = (parts.reshape((batch, channels, -1)) @ matrix.astype(x.dtype)).reshape((batch, channels, *whole))
    return found[(slice(None), slice(None), *[slice(a, a + n) for n, (a, _) in zip(sizes, borders, strict=True)])]


@rule("DeformConv", since=19)
def _deform_conv(x, weight, offset, bias=None, mask=None, /, *, kernel_shape=None, strides=None, pads=None, dilations=None, group=1,
                 offset_group=1):
    kernel = list(kernel_shape or weight.shape[2:])
    if len(kernel) != 2:
        raise UnsupportedOnnxError(f"a deformed convolution over {len(kernel)} axes is not known here; over two it is")
    strides, dilations, borders = geometry(x.shape[2:], kernel, strides, dilations, pads, "NOTSET")
    batch, channels = x.shape[:2]
    high, wide = offset.shape[2:]
    taps = kernel[0] * kernel[1]
    moved = offset.reshape((batch, offset_group, taps, 2, high, wide))
    rows: Any = np.arange(high)[:, None] * strides[0] - borders[0][0]
    columns: Any = np.arange(wide)[None, :] * strides[1] - borders[1][0]
    tap_rows, tap_columns = [a.reshape(-1, 1, 1) for a in np.meshgrid(
        np.arange(kernel[0]) * dilations[0], np.arange(kernel[1]) * dilations[1], indexing="ij")]
    places = [moved[:, :, :, 0] + (rows + tap_rows).astype(x.dtype), moved[:, :, :, 1] + (columns + tap_columns).astype(x.dtype)]
    images = x.reshape((batch * offset_group, channels // offset_group, *x.shape[2:]))
    flat = [p.reshape((batch * offset_group, taps * high * wide)) for p in places]
    taken = at_places(images, flat, "linear", "zeros").reshape((batch, offset_group, channels // offset_group, taps, high, wide))
    if mask is not None:
        taken = taken * mask.reshape((batch, offset_group, 1, taps, high, wide))
    taken = reshape(taken, (batch, group, channels // group, taps, high, wide))
    parts = weight.reshape((group, weight.shape[0] // group, weight.shape[1], taps))
    found = einsum("bgcthw,goct->bgohw", taken, parts).reshape((batch, weight.shape[0], high, wide))
    return found if bias is None else found + bias.reshape((-1, 1, 1))
