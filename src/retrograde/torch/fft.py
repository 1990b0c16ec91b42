"""`torch.fft`: that of `rg`, with PyTorch's names of arguments."""

from functools import wraps

from .. import fft as rg
from . import creation
from .absent import absent_from
from .kinds import floating, operand

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
           "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


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


def _of_all(input, s, dim):
    """The sizes and the axes of a transform over several axes."""
    if dim is None:
        dim = tuple(range(-len(s), 0)) if s is not None else tuple(range(input.ndim))
    dim = (dim,) if isinstance(dim, int) else tuple(dim)
    return (tuple(s) if s is not None else (None,) * len(dim)), dim


def hfftn(input, s=None, dim=None, norm=None):
    """The real spectrum over several axes of a signal that is Hermitian in the last of them."""
    x = operand(input)
    s, dim = _of_all(x, s, dim)
    for n, axis in zip(s[:-1], dim[:-1], strict=True):
        x = rg.fft(floating(x), n, axis, norm or "backward")
    return rg.hfft(floating(x), s[-1], dim[-1], norm or "backward")


def ihfftn(input, s=None, dim=None, norm=None):
    """The half of the Hermitian signal whose spectrum over several axes is real."""
    x = operand(input)
    s, dim = _of_all(x, s, dim)
    x = rg.ihfft(floating(x), s[-1], dim[-1], norm or "backward")
    for n, axis in zip(s[:-1], dim[:-1], strict=True):
        x = rg.ifft(x, n, axis, norm or "backward")
    return x


def hfft2(input, s=None, dim=(-2, -1), norm=None):
    """`hfftn` over two axes."""
    return hfftn(input, s, dim, norm)


def ihfft2(input, s=None, dim=(-2, -1), norm=None):
    """`ihfftn` over two axes."""
    return ihfftn(input, s, dim, norm)


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
