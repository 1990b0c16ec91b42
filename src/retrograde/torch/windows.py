"""Windows for spectra: weights that fall to both ends."""

import math
from typing import Any

from ..ops.special.bessel import i0
from . import creation

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _cosines(name, *weights):
    def window(window_length, periodic=True, *more, dtype=None, device=None, requires_grad=False):
        kept = (more[0], 1 - more[0]) if more else weights
        if window_length == 1:
            return creation.ones(1, dtype=dtype)
        angle = _places(window_length, periodic, dtype) * (2 * math.pi / (window_length - (not periodic)))
        found: Any = sum([(-1) ** k * w * (angle * k).cos() for k, w in enumerate(kept)])
        return found.requires_grad_(requires_grad)

    window.__name__, window.__doc__ = name, f"`{name}`: a sum of cosines with the weights {weights}."
    return window


def _places(count, periodic, dtype):
    return creation.arange(count, dtype=dtype or creation.DEFAULT[0])


hann_window = _cosines("hann_window", 0.5, 0.5)
hamming_window = _cosines("hamming_window", 0.54, 0.46)
blackman_window = _cosines("blackman_window", 0.42, 0.5, 0.08)


def bartlett_window(window_length, periodic=True, *, dtype=None, device=None, requires_grad=False):
    """A triangle."""
    if window_length == 1:
        return creation.ones(1, dtype=dtype)
    places = _places(window_length, periodic, dtype) * (2 / (window_length - (not periodic)))
    return (1 - (places - 1).abs()).requires_grad_(requires_grad)


def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, device=None, requires_grad=False):
    """Kaiser's window, by the Bessel function of order 0."""
    if window_length == 1:
        return creation.ones(1, dtype=dtype)
    places = _places(window_length, periodic, dtype) * (2 / (window_length - (not periodic))) - 1
    inside = (1 - places * places).clamp(min=0).sqrt() * beta
    return (i0(inside) / i0(inside * 0 + beta)).requires_grad_(requires_grad)
