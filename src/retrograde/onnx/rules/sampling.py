"""Images read at places between their elements: grids, regions of interest."""

from itertools import product
from typing import Any

import numpy as np

from ...errors import OnnxError
from ...ops.axes.reductions import max, mean
from ...ops.elementary.comparisons import clip, logical_and, maximum, where
from ...ops.elementary.conversions import astype
from ...ops.elementary.rounding import floor, round
from ...ops.images.resampling import cubic_weights
from ...ops.manipulation.joins import stack
from ..rule import rule
from ..values import numbers


def at_places(x, places, mode, border):
    """`x` (batch, channels, *sizes) at `places`, a (batch, count) array of positions for each axis: (batch, channels, count).

    mode    "nearest", "linear", "cubic"
    border  what is outside: "zeros", the nearest element ("border"), or a mirror that is the middle of the first element
            ("reflection", between -0.5 and the last plus 0.5; "reflection_corners", between 0 and the last)
    """
    sizes = x.shape[2:]
    if border != "zeros":
        places = [_inside(p, n, border) for p, n in zip(places, sizes, strict=True)]
    if mode == "nearest":
        taps = [[(round(p), None)] for p in places]
    elif mode == "linear":
        taps = []
        for p in places:
            low = floor(p)
            taps.append([(low, 1 - (p - low)), (low + 1, p - low)])
    else:
        taps = []
        for p in places:
            low = floor(p)
            weights = cubic_weights(p - low)
            taps.append([(low + i - 1, w) for i, w in enumerate(weights)])
    total: Any = None
    batch = np.arange(x.shape[0]).reshape(-1, 1)
    for chosen in product(*taps):
        index, weight = [], None
        is_inside = None
        for (place, part), n in zip(chosen, sizes, strict=True):
            if border != "zeros":
                place = _inside(place, n, border) if mode == "cubic" else place
            else:
                holds = logical_and(place >= 0, place <= n - 1)
                is_inside = holds if is_inside is None else logical_and(is_inside, holds)
            index.append(astype(clip(place, 0, n - 1), np.int64))
            if part is not None:
                weight = part if weight is None else weight * part
        # Positions of the batch and of the places stand before the channels.
        value = x[(batch, slice(None), *index)]
        value = value if is_inside is None else where(is_inside[..., None], value, 0)
        value = value if weight is None else value * astype(weight, x.dtype)[..., None]
        total = value if total is None else total + value
    return total.swapaxes(1, 2)


def _inside(p, n, border):
    """Places outside brought to those of elements inside."""
    if border == "border":
        return clip(p, 0, n - 1)
    low, high = (0, n - 1) if border == "reflection_corners" else (-0.5, n - 0.5)
    span = high - low
    if span == 0:
        return p * 0
    distance = abs(p - low)
    whole = floor(distance / span)
    rest = distance - whole * span
    is_odd = whole - floor(whole / 2) * 2 == 1
    return clip(where(is_odd, high - rest, low + rest), 0, n - 1)


@rule("GridSample", since=16)
def _grid_sample(x, grid, /, *, mode="linear", padding_mode="zeros", align_corners=0):
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    if mode not in ("linear", "cubic", "nearest"):
        raise OnnxError(f"the mode of GridSample is linear, cubic or nearest, got {mode!r}")
    sizes, batch = x.shape[2:], x.shape[0]
    flat = grid.reshape((batch, -1, len(sizes)))
    places = []
    for i, n in enumerate(sizes):
        p = flat[..., len(sizes) - 1 - i]
        places.append((p + 1) / 2 * (n - 1) if align_corners else ((p + 1) * n - 1) / 2)
    border = "reflection_corners" if padding_mode == "reflection" and align_corners else padding_mode
    return at_places(x, places, mode, border).reshape((batch, x.shape[1], *grid.shape[1:-1]))


@rule("RoiAlign", since=10, numbers=(1, 2))
def _roi_align(x, regions, batches, /, *, mode="avg", output_height=1, output_width=1, sampling_ratio=0, spatial_scale=1.0,
               coordinate_transformation_mode="half_pixel", context):
    half = 0.5 if coordinate_transformation_mode == "half_pixel" and context.version >= 16 else 0.0
    found = []
    for region, batch in zip(np.asarray(numbers(regions), np.float64), batches, strict=True):
        left, top, right, bottom = region * spatial_scale - half
        high, wide = bottom - top, right - left
        if not half:
            high, wide = np.maximum([high, wide], 1)
        counts = [sampling_ratio or int(np.ceil(a / b)) for a, b in ((high, output_height), (wide, output_width))]
        rows = _samples(top, high, output_height, counts[0])
        columns = _samples(left, wide, output_width, counts[1])
        found.append(_region(x[int(batch):int(batch) + 1], rows, columns,
                             mode).reshape((x.shape[1], output_height, counts[0], output_width, counts[1])))
    fold = mean if mode == "avg" else max
    return _stacked([fold(part, (2, 4)) for part in found])


def _stacked(parts):
    return np.stack(parts) if isinstance(parts[0], np.ndarray) else stack(parts, 0)


def _samples(start, length, count, inner):
    """The places of `inner` samples in each of `count` parts."""
    size = length / count
    return (start + size * (np.arange(count)[:, None] + (np.arange(inner) + 0.5) / inner)).reshape(-1)


def _region(x, rows, columns, mode):
    """Samples of one image, of which each is the weighted sum of its four neighbours, or the greatest of the weighted ones."""
    total: Any = None
    high, wide = x.shape[2:]
    for (r, wr, r_in), (c, wc, c_in) in product(_neighbours(rows, high), _neighbours(columns, wide)):
        weight = (wr * r_in)[:, None] * (wc * c_in)[None, :]
        value = x[0][:, r[:, None], c[None, :]] * weight.astype(x.dtype)
        total = value if total is None else total + value if mode == "avg" else maximum(total, value)
    return total


def _neighbours(places, n):
    is_inside = (places >= -1) & (places <= n)
    places = np.clip(places, 0, None)
    low = np.minimum(np.floor(places).astype(np.int64), n - 1)
    part = np.where(low >= n - 1, 0.0, places - low)
    return (low, 1 - part, is_inside), (np.minimum(low + 1, n - 1), part, is_inside)
