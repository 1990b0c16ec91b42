"""Borders: arrays padded with what is in them, by mirror, by repetition of the edge, or around a ring."""

import numpy as np

from ...errors import ArgumentError, ShapeError
from .._families import composite
from .._samples import call
from .gathering import take
from .movements import border_widths
from .movements import pad as pad_constant

#: NumPy's and PyTorch's names of the modes.
_MODES = {"reflect": "reflect", "symmetric": "symmetric", "edge": "edge", "replicate": "edge", "wrap": "wrap", "circular": "wrap"}


@composite(is_public=False, samples=(call((3, 4), pad_width=((1, 2), (0, 3))), call((3,), pad_width=2, mode="symmetric"),
                    call((2, 3), pad_width=((2, 1), (1, 0)), mode="edge"), call((2, 3), pad_width=(2, 4), mode="wrap"),
                    call((2, 3), pad_width=1, mode="constant", value=2.0)))
def pad_border(x, /, pad_width, mode="reflect", value=0):
    r"""`x` with a border made of its own elements: `pad_width` has (before, after) for each axis, one pair, or one number.

    `mode` is "reflect" (mirrored without the edge), "symmetric" (with it), "edge" or "replicate", "wrap" or "circular", or
    "constant" for `value`. Each element receives the sum of the cotangents of its copies.

    >>> pad_border(rg.tensor([1.0, 2.0, 3.0]), 2)
    tensor([3., 2., 1., 2., 3., 2., 1.])
    """
    if mode == "constant":
        return pad_constant(x, pad_width, value)
    if mode not in _MODES:
        raise ArgumentError(f"mode must be constant or one of {', '.join(_MODES)}, got {mode!r}")
    for axis, (before, after) in enumerate(border_widths(pad_width, x.ndim)):
        if before or after:
            x = take(x, _places(x.shape[axis], before, after, _MODES[mode]), axis)
    return x


def pad(x, /, pad_width, mode="constant", value=0):
    """`x` with a border: of `value`, or with another `mode` of its own elements, as `pad_border` has them.

    `pad_width` has (before, after) for each axis, one pair for all, or one number.

    >>> rg.pad(rg.tensor([1.0, 2.0]), 1)
    tensor([0., 1., 2., 0.])
    >>> rg.pad(rg.tensor([1.0, 2.0, 3.0]), (0, 2), "wrap")
    tensor([1., 2., 3., 1., 2.])
    """
    return pad_constant(x, pad_width, value) if mode == "constant" else pad_border(x, pad_width, mode)


def _places(size, before, after, mode):
    """For each element of a line with its border, where in the line it comes from."""
    if size == 0:
        raise ShapeError("a border cannot be made of an axis without elements")
    return np.pad(np.arange(size), (before, after), mode=mode)
