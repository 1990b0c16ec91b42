"""Images and volumes read at any places: sampling at the points of a grid, and the grids of affine maps."""

from math import prod
from typing import Any

from ..core.mode import whole
from ..errors import ArgumentError, ShapeError
from ..ops.elementary.arithmetic import abs as magnitude
from ..ops.elementary.comparisons import where
from ..ops.elementary.rounding import floor, round
from ..ops.images.resampling import cubic_weights
from ..ops.linalg.contractions import matmul
from ..ops.manipulation.gathering import take_along_axis
from ..ops.manipulation.joins import stack
from ..ops.manipulation.movements import broadcast_to, reshape
from ..ops.networks.activation import hardtanh
from ..shapes import sizes
from ..tensor.creation import arange, ones

_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def affine_grid(theta, size, align_corners=False):
    """The points, (batch, height, width, 2), that the maps `theta`, (batch, 2, 3), take the pixels of images of `size` to.

    `size` is (batch, channels, height, width). Points are (x, y), and run from -1 to 1 from the left and top edges of an image to
    the others, or from its first pixels to its last ones with `align_corners`. Of volumes, (batch, channels, depth, height,
    width), maps are (batch, 3, 4) and points (x, y, z).

    >>> rg.nn.functional.affine_grid(rg.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2))[0, 0, :, 0].tolist()
    [-0.5, 0.5]
    """
    batch, _, *lengths = sizes(size)
    axes = len(lengths)
    if axes not in (2, 3) or tuple(theta.shape) != (batch, axes, axes + 1):
        raise ShapeError(f"affine_grid needs maps (batch, 2, 3) for images (batch, channels, height, width), or (batch, 3, 4) for "
                         f"volumes, of one batch, got shape {tuple(theta.shape)} for size {tuple(size)}")
    points = [
        broadcast_to(reshape(_line(n, align_corners, theta.dtype), (-1, *[1] * (axes - 1 - i))), tuple(lengths))
        for i, n in reversed(list(enumerate(lengths)))
    ]
    points = stack([*points, broadcast_to(ones(1, dtype=theta.dtype), tuple(lengths))], -1)
    return reshape(matmul(reshape(points, (-1, axes + 1)), theta.mT), (batch, *lengths, axes))


def _line(count, align_corners, dtype):
    """Where the pixels of an axis lie between -1 and 1."""
    places = arange(count).astype(dtype)
    return places * (2 / max(count - 1, 1)) - (count > 1) if align_corners else (places * 2 + 1) / count - 1


@whole
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """The images `input`, (batch, channels, height, width), at the points `grid`, (batch, rows, columns, 2), of `affine_grid`.

    mode          "bilinear", between the four pixels around a point, "nearest", or "bicubic", by sixteen pixels
    padding_mode  what is outside: "zeros", the pixels at the "border", or the "reflection" of the image

    Volumes, (batch, channels, depth, height, width), are taken at points (batch, layers, rows, columns, 3), between eight
    elements in "bilinear" mode, or the nearest. Gradients flow to the images and, but in "nearest" mode, to the points, not to
    those at the border or beyond it (Jaderberg et al., "Spatial transformer networks", 2015).

    >>> image = rg.tensor([[[[1.0, 3.0]]]])
    >>> rg.nn.functional.grid_sample(image, rg.tensor([[[[0.0, 0.0]]]]), align_corners=True).tolist()
    [[[[2.0]]]]
    """
    axes = _checked_axes(input.shape, grid.shape, mode, padding_mode)
    lengths = input.shape[2:]
    # The last number of a point is that of the first axis.
    places = [_pixels(grid[..., axes - 1 - i], n, align_corners) for i, n in enumerate(lengths)]
    if mode == "bicubic":
        y, x = places
        return _by_cubics(input, y, x, lambda place, n: _padded(place, n, padding_mode, align_corners))
    places = [_padded(place, n, padding_mode, align_corners) for place, n in zip(places, lengths, strict=True)]
    if mode == "nearest":
        return _read(input, [round(place) for place in places])
    lows = [floor(place) for place in places]
    return _between(input, lows, [(place - low)[:, None] for place, low in zip(places, lows, strict=True)])


def _checked_axes(shape, grid_shape, mode, padding_mode):
    """The number of axes that points have; an error of ours where arguments do not fit."""
    if mode not in _MODES or padding_mode not in _PADDINGS:
        raise ArgumentError(f"mode must be one of {', '.join(_MODES)} and padding_mode one of {', '.join(_PADDINGS)}, got {mode!r} "
                            f"and {padding_mode!r}")
    axes = len(shape) - 2
    if axes not in (2, 3) or len(grid_shape) != axes + 2 or grid_shape[-1] != axes or grid_shape[0] != shape[0]:
        raise ShapeError("grid_sample needs images (batch, channels, height, width) and points (batch, rows, columns, 2), or "
                         f"volumes and points (batch, layers, rows, columns, 3), got {tuple(shape)} and {tuple(grid_shape)}")
    if 0 in shape[2:]:
        raise ShapeError(f"grid_sample needs at least one pixel along each axis, got shape {tuple(shape)}")
    if mode == "bicubic" and axes == 3:
        raise ArgumentError('mode="bicubic" is for images; for volumes there are "bilinear" and "nearest"')
    return axes


def _pixels(points, count, align_corners):
    """The points along one axis, from -1 to 1, as pixels, from 0 to `count` - 1."""
    return (points + 1) * ((count - 1) / 2) if align_corners else (points + 1) * (count / 2) - 0.5


def _padded(places, count, padding_mode, align_corners):
    """Pixels with those outside taken to where `padding_mode` reads, without a derivative at the border and beyond."""
    if padding_mode == "reflection":
        places = _reflected(places, *((0, count - 1) if align_corners else (-0.5, count)))
    return places if padding_mode == "zeros" else hardtanh(places, 0, count - 1)


def _reflected(places, low, span):
    """Places thrown back at `low` and at `low` + `span` until they lie between."""
    if not span:
        return places * 0
    away = magnitude(places - low)
    times = floor(away / span)
    rest = away - times * span
    return where(times % 2 == 0, rest, span - rest) + low


def _between(images, lows, parts, chosen=()):
    """The images between the pixels `lows` and those after them, `parts` of the way, along one axis after the other."""
    if len(chosen) == len(lows):
        return _read(images, chosen)
    low, part = lows[len(chosen)], parts[len(chosen)]
    return (_between(images, lows, parts, (*chosen, low)) * (1 - part)
            + _between(images, lows, parts, (*chosen, low + 1)) * part)


def _by_cubics(images, y, x, padded):
    """The images by cubic convolution (Keys, 1981) of the four pixels around a point along each axis."""
    top, left = floor(y), floor(x)
    rows, columns = cubic_weights(y - top), cubic_weights(x - left)
    tall, wide = images.shape[2:]
    lines = [padded(left + j, wide) for j in range(-1, 3)]
    total = 0
    for i, weight in zip(range(-1, 3), rows, strict=True):
        line = padded(top + i, tall)
        found = [_read(images, (line, column)) * part[:, None] for column, part in zip(lines, columns, strict=True)]
        total = total + (found[0] + found[1] + found[2] + found[3]) * weight[:, None]
    return total


def _read(images, places):
    """The pixels of `images` at whole numbers along each axis, zeros outside."""
    (batch, channels, *lengths), points = images.shape, places[0].shape[1:]
    inside: Any = True
    at: Any = 0
    for place, n in zip(places, lengths, strict=True):
        is_along = (place >= 0) & (place <= n - 1)
        inside, at = inside & is_along, at * n + where(is_along, place, 0).astype("int64")
    at = broadcast_to(reshape(at, (batch, 1, prod(points))), (batch, channels, prod(points)))
    found = take_along_axis(reshape(images, (batch, channels, prod(lengths))), at, -1)
    return where(inside[:, None], reshape(found, (batch, channels, *points)), 0)
