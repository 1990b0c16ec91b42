"""`torch.fft`: that of `rg`, with PyTorch's names of arguments."""

from functools import wraps

from .. import fft as rg
from . import creation
from .absent import absent_from
from .kinds import floating, operand

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2",
           "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


def _along(name, one, last):
    """A transform along an axis or over several."""
    function = getattr(rg, name)

    @wraps(function)
    def of_one(input, n=None, dim=-1, norm=None):
        return function(floating(operand(input)), n, dim, norm or "backward")

    @wraps(function)
    def of_several(input, s=None, dim=last, norm=None):
        return function(floating(operand(input)), s, dim, norm or "backward")

    return of_one if one else of_several


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    globals()[_name] = _along(_name, True, None)
for _name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    globals()[_name] = _along(_name, False, (-2, -1) if _name.endswith("2") else None)


def fftfreq(n, d=1.0, *, dtype=None, device=None, requires_grad=False):
    """The frequencies of a transform of `n` numbers that are `d` apart."""
    return creation.of(rg.fftfreq(n, d=d)).to(dtype or creation.DEFAULT[0])


def rfftfreq(n, d=1.0, *, dtype=None, device=None, requires_grad=False):
    """The frequencies of a transform of `n` real numbers that are `d` apart."""
    return creation.of(rg.rfftfreq(n, d=d)).to(dtype or creation.DEFAULT[0])


def fftshift(input, dim=None):
    """The frequency 0 in the middle."""
    return rg.fftshift(operand(input), axes=dim)


def ifftshift(input, dim=None):
    """The frequency 0 at the beginning again."""
    return rg.ifftshift(operand(input), axes=dim)


__getattr__ = absent_from("torch.fft", lambda: __all__)
