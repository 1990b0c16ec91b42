"""Resampling: images, lines and volumes in another size. Arrays are (batch, channels, ...), as in PyTorch.

One axis after the other, each result is a sum of neighbours with weights that depend on its place alone.
"""

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from .._families import composite
from .._samples import call
from ..elementary.conversions import as_floats
from .bands import band, frozen, weighted

_MODES = {"nearest": None, "nearest-exact": None, "linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2, "area": None}


@composite(samples=(
    call((1, 2, 3, 4), size=(5, 2)), call((1, 2, 3), scale_factor=2.0, mode="linear"),
    call((1, 1, 3, 4), size=(5, 6), mode="bilinear"), call((1, 1, 3, 4), size=(5, 6), mode="bilinear", align_corners=True),
    call((1, 1, 4, 4), size=(6, 3), mode="bicubic"),
    call((1, 1, 2, 3, 2), size=(3, 2, 4), mode="trilinear"), call((1, 1, 5, 4), size=(2, 6), mode="bicubic", antialias=True),
    call((1, 1, 5), size=3, mode="nearest-exact"), call((1, 1, 5, 4), size=(3, 2), mode="area")))
def interpolate(x, /, size=None, scale_factor=None, mode="nearest", align_corners=False, antialias=False):
    r"""`x`, of shape (batch, channels, ...), with its further axes in another `size`, or `scale_factor` times as long.

    `mode` is "nearest", "nearest-exact" (from the centres of the elements, not their corners), "linear", "bilinear", "bicubic"
    or "trilinear" by the number of axes, or "area" for the mean over the part of the old image that a new element covers.
    With `align_corners` the outermost elements keep their places. With `antialias`, for "bilinear" and "bicubic", an axis that
    becomes shorter is a mean over all that a new element covers, as in Pillow, and the parameter of cubic convolution is Pillow's.
    Means of integers are float64; "nearest" keeps every dtype.

    Each axis is a product with a sparse matrix, $z = A x \Rightarrow \bar x = A^\top \bar z$.
    """
    how = tuple(x.shape[2:]), size, scale_factor, mode, align_corners, antialias
    try:
        steps = _known_steps(*how)
    except TypeError:  # lists
        steps = _steps(*how)
    if not mode.startswith("nearest"):
        (x,) = as_floats(x)
    for columns, weights, axis in steps:
        x = weighted(x, columns, weights, axis)
    return x


def _steps(shape, size, scale_factor, mode, align_corners, antialias):
    """The map of each axis of an image of `shape`, and that axis, in the order in which they are resampled."""
    if mode not in _MODES or _MODES[mode] not in (None, len(shape)):
        raise ArgumentError(f"mode must be one of {', '.join(_MODES)} and fit {len(shape)} axes, got {mode!r}")
    if align_corners and _MODES[mode] is None:
        raise ArgumentError(f"align_corners has no meaning with mode={mode!r}; leave it out")
    if antialias and (mode not in FILTERS or align_corners):
        raise ArgumentError(f"antialias is for mode {' or '.join(map(repr, FILTERS))}, without align_corners, got {mode!r} and "
                            f"align_corners={align_corners}")
    sizes, scales = _sizes(shape, size, scale_factor)
    along = zip(sizes, shape, scales, strict=True)
    # By filters an axis that keeps its length stays as it is, whatever the factor, as in PyTorch.
    steps = [(*_map(mode, *numbers, align_corners, antialias), axis) for axis, numbers in enumerate(along, 2)
             if not antialias or numbers[0] != numbers[1]]
    # Neighbours along the last axis do not lie in vectors: it comes while there are few numbers.
    return steps if prod(sizes) < prod(shape) else steps[::-1]


_known_steps = lru_cache(maxsize=128)(_steps)


def _sizes(shape, size, scale_factor):
    """The new size of each axis, and how many old elements lie between the centres of new ones."""
    if (size is None) == (scale_factor is None):
        raise ArgumentError(f"interpolate needs either size or scale_factor, got {size} and {scale_factor}")
    given = size if scale_factor is None else scale_factor
    given = tuple(given) if isinstance(given, (tuple, list)) else (given,) * len(shape)
    if len(given) != len(shape):
        raise ShapeError(f"one number for each of {len(shape)} axes is needed, got {given}")
    sizes: Any = given if scale_factor is None else tuple(int(n * s) for n, s in zip(shape, given, strict=True))
    scales = [n / m for n, m in zip(shape, sizes, strict=True)] if scale_factor is None else [1 / s for s in given]
    return sizes, scales


def _places(count, size, scale, align_corners):
    """Where in the old axis the centre of each new element lies."""
    if align_corners:
        return np.linspace(0, size - 1, count) if count > 1 else np.zeros(count)
    return (np.arange(count) + 0.5) * scale - 0.5


@lru_cache(maxsize=128)
def _map(mode, count, size, scale, align_corners, antialias):
    """The band that makes `count` elements of `size`, which nobody writes to."""
    return frozen(_filtering(mode, count, size, scale) if antialias else _new_map(mode, count, size, scale, align_corners))


def _new_map(mode, count, size, scale, align_corners):
    """The band that makes `count` elements of `size`."""
    if mode == "area":
        return _averaging(count, size)
    if mode.startswith("nearest"):
        start = 0.5 if mode == "nearest-exact" else 0.0
        nearest = np.minimum(((np.arange(count) + start) * scale).astype(int), size - 1)
        return nearest[None], np.ones((1, count))
    places, is_cubic = _places(count, size, scale, align_corners), mode == "bicubic"
    places = places if is_cubic else np.clip(places, 0, size - 1)
    first = np.floor(places).astype(int)
    part = places - first
    weights = np.stack(cubic_weights(part) if is_cubic else (1 - part, part))
    offsets = np.arange(len(weights))[:, None] - is_cubic
    columns = np.clip(first + offsets, 0, size - 1)
    rows = np.broadcast_to(np.arange(count), columns.shape)
    return band(rows.ravel(), columns.ravel(), weights.ravel(), (count, size))


def cubic_weights(part, a=-0.75):
    """The weights of 4 neighbours by Keys' cubic convolution (1981), with PyTorch's parameter."""
    return _far(part + 1, a), _near(part, a), _near(1 - part, a), _far(2 - part, a)


def _near(d, a):
    return ((a + 2) * d - (a + 3)) * d * d + 1


def _far(d, a):
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a


def _triangle(d):
    return 1 - d


def _cubic(d, a=-0.5):
    return np.where(d < 1, _near(d, a), _far(d, a))


#: How far a filter reaches, and what it is at a distance, by mode: Pillow's, which PyTorch has for `antialias`.
FILTERS = {"bilinear": (1, _triangle), "bicubic": (2, _cubic)}


def filter_weights(mode, count, size, scale):
    """The matrix (count, size) that resamples an axis by a filter around the centre of each new element, as wide as that is.

    `scale` old elements lie between these centres.
    """
    reach, curve = FILTERS[mode]
    centres = (np.arange(count)[:, None] + 0.5) * scale
    distances = np.abs(np.arange(size) + 0.5 - centres) / max(scale, 1.0)
    found = np.where(distances < reach, curve(distances), 0)
    return found / found.sum(axis=1, keepdims=True)


def _filtering(mode, count, size, scale):
    weights = filter_weights(mode, count, size, scale)
    rows, columns = np.nonzero(weights)
    return band(rows, columns, weights[rows, columns], weights.shape)


def _averaging(count, size):
    i, j = np.arange(count)[:, None], np.arange(size)
    is_inside = (j >= i * size // count) & (j < -(-(i + 1) * size // count))
    rows, columns = np.nonzero(is_inside)
    return band(rows, columns, 1 / is_inside.sum(axis=1)[rows], (count, size))
