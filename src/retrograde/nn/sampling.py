"""Images read at any places: sampling at the points of a grid, and the grids of affine maps."""

from ..errors import ArgumentError, ShapeError
from ..ops.arithmetic import abs as magnitude
from ..ops.comparisons import clip, logical_and, where
from ..ops.contractions import matmul
from ..ops.gathering import take_along_axis
from ..ops.joins import stack
from ..ops.movements import broadcast_to, reshape
from ..ops.rounding import floor, round
from ..shapes import sizes
from ..tensor.creation import arange, ones

_MODES, _PADDINGS = ("bilinear", "nearest"), ("zeros", "border", "reflection")


def affine_grid(theta, size, align_corners=False):
    """The points, (batch, height, width, 2), that the maps `theta`, (batch, 2, 3), take the pixels of images of `size` to.

    `size` is (batch, channels, height, width). Points are (x, y), and run from -1 to 1 from the left and top edges of an image to
    the others, or from its first pixels to its last ones with `align_corners`.

    >>> rg.nn.functional.affine_grid(rg.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2))[0, 0, :, 0].tolist()
    [-0.5, 0.5]
    """
    batch, _, height, width = sizes(size)
    if tuple(theta.shape) != (batch, 2, 3):
        raise ShapeError(f"affine_grid needs maps of shape {(batch, 2, 3)} for images of {tuple(size)}, got {tuple(theta.shape)}")
    across, down = (_line(n, align_corners, theta.dtype) for n in (width, height))
    points = [broadcast_to(line, (height, width)) for line in (across, down[:, None], ones(1, dtype=theta.dtype))]
    return reshape(matmul(reshape(stack(points, -1), (-1, 3)), theta.mT), (batch, height, width, 2))


def _line(count, align_corners, dtype):
    """Where the pixels of an axis lie between -1 and 1."""
    places = arange(count).astype(dtype)
    return places * (2 / max(count - 1, 1)) - (count > 1) if align_corners else (places * 2 + 1) / count - 1


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """The images `input`, (batch, channels, height, width), at the points `grid`, (batch, rows, columns, 2), of `affine_grid`.

    mode          "bilinear", between the four pixels around a point, or "nearest"
    padding_mode  what is outside: "zeros", the pixels at the "border", or the "reflection" of the image

    Gradients flow to the images and, in bilinear mode, to the points (Jaderberg et al., "Spatial transformer networks", 2015).

    >>> image = rg.tensor([[[[1.0, 3.0]]]])
    >>> rg.nn.functional.grid_sample(image, rg.tensor([[[[0.0, 0.0]]]]), align_corners=True).tolist()
    [[[[2.0]]]]
    """
    if mode not in _MODES or padding_mode not in _PADDINGS:
        raise ArgumentError(f"mode must be one of {', '.join(_MODES)} and padding_mode one of {', '.join(_PADDINGS)}, got {mode!r} "
                            f"and {padding_mode!r}")
    if len(input.shape) != 4 or len(grid.shape) != 4 or grid.shape[-1] != 2 or grid.shape[0] != input.shape[0]:
        raise ShapeError("grid_sample needs images (batch, channels, height, width) and points (batch, rows, columns, 2), got "
                         f"{tuple(input.shape)} and {tuple(grid.shape)}")
    height, width = input.shape[2:]
    x, y = (_places(grid[..., i], n, padding_mode, align_corners) for i, n in enumerate((width, height)))
    if mode == "nearest":
        return _read(input, round(x), round(y))
    left, top = floor(x), floor(y)
    right, below = (x - left)[:, None], (y - top)[:, None]
    upper = _read(input, left, top) * (1 - right) + _read(input, left + 1, top) * right
    lower = _read(input, left, top + 1) * (1 - right) + _read(input, left + 1, top + 1) * right
    return upper * (1 - below) + lower * below


def _places(points, count, padding_mode, align_corners):
    """The points along one axis, from -1 to 1, as pixels, from 0 to `count` - 1."""
    found = (points + 1) * ((count - 1) / 2) if align_corners else ((points + 1) * count - 1) / 2
    if padding_mode == "reflection":
        found = _reflected(found, *((0, count - 1) if align_corners else (-0.5, count)))
    return found if padding_mode == "zeros" else clip(found, 0, count - 1)


def _reflected(places, low, span):
    """Places thrown back at `low` and at `low` + `span` until they lie between."""
    if not span:
        return places * 0
    away = magnitude(places - low)
    times = floor(away / span)
    rest = away - times * span
    return where(times % 2 == 0, rest, span - rest) + low


def _read(images, x, y):
    """The pixels of `images` at whole numbers, zeros outside."""
    (batch, channels, height, width), points = images.shape, x.shape[1:]
    inside = logical_and(logical_and(x >= 0, x <= width - 1), logical_and(y >= 0, y <= height - 1))
    places = clip(y, 0, height - 1).astype("int64") * width + clip(x, 0, width - 1).astype("int64")
    places = broadcast_to(reshape(places, (batch, 1, -1)), (batch, channels, points[0] * points[1]))
    found = take_along_axis(reshape(images, (batch, channels, height * width)), places, -1)
    return reshape(found, (batch, channels, *points)) * inside[:, None].astype(images.dtype)
