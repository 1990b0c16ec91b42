"""`torch.cpu`: the one device, and its autocast."""

from ..absent import absent_from
from ..devices import nothing
from . import amp

synchronize = nothing


def is_available():
    """True."""
    return True


def device_count():
    """1."""
    return 1


__all__ = ["amp", "device_count", "is_available", "synchronize"]
__getattr__ = absent_from("torch.cpu", lambda: __all__)
