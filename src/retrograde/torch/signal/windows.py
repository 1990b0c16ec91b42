"""`torch.signal.windows`: weights that fall to both ends; symmetric by default."""

import math
from typing import Any

from ...ops.special.bessel import i0
from .. import creation
from ..absent import absent_from

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
           "kaiser", "nuttall"]


def _window(function):
    def window(M, *args, sym=True, dtype=None, layout=None, device=None, requires_grad=False, **given):
        size = M + (not sym)
        if M == 0:
            return creation.empty(0, dtype=dtype, requires_grad=requires_grad)
        places = creation.arange(M, dtype=dtype or creation.DEFAULT[0])
        found = function(places, size, *args, **given) if M > 1 else places * 0 + 1
        return found.to(places.dtype).requires_grad_(requires_grad)

    window.__name__, window.__doc__ = function.__name__, function.__doc__
    return window


def _cosines(places, size, weights) -> Any:
    angle = places * (2 * math.pi / (size - 1))
    return sum([(-1) ** k * w * (angle * k).cos() for k, w in enumerate(weights)])


@_window
def general_cosine(places, size, a):
    """A sum of cosines with the weights `a`."""
    return _cosines(places, size, a)


@_window
def general_hamming(places, size, alpha=0.54):
    """`alpha - (1 - alpha) cos`."""
    return _cosines(places, size, (alpha, 1 - alpha))


@_window
def hamming(places, size):
    """Hamming's window."""
    return _cosines(places, size, (0.54, 0.46))


@_window
def hann(places, size):
    """Hann's window."""
    return _cosines(places, size, (0.5, 0.5))


@_window
def blackman(places, size):
    """Blackman's window."""
    return _cosines(places, size, (0.42, 0.5, 0.08))


@_window
def nuttall(places, size):
    """Nuttall's window of four cosines."""
    return _cosines(places, size, (0.3635819, 0.4891775, 0.1365995, 0.0106411))


@_window
def bartlett(places, size):
    """A triangle."""
    return 1 - (places * (2 / (size - 1)) - 1).abs()


@_window
def cosine(places, size):
    """Half a wave."""
    return ((places + 0.5) * (math.pi / size)).sin()


@_window
def exponential(places, size, center=None, tau=1.0):
    """An exponential that falls to both sides of `center`."""
    return (-(places - ((size - 1) / 2 if center is None else center)).abs() / tau).exp()


@_window
def gaussian(places, size, std=1.0):
    """A bell of the standard deviation `std`."""
    return (-((places - (size - 1) / 2) / (std * math.sqrt(2))) ** 2).exp()


@_window
def kaiser(places, size, beta=12.0):
    """Kaiser's window, by the Bessel function of order 0."""
    side = places * (2 / (size - 1)) - 1
    inside = (1 - side * side).clamp(min=0).sqrt() * beta
    return i0(inside) / i0(inside * 0 + beta)


__getattr__ = absent_from("torch.signal.windows", lambda: __all__)
