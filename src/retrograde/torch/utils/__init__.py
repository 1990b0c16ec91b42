"""`torch.utils`: `data`, the loader, and `checkpoint`."""

from ..absent import absent_from
from . import checkpoint, data

__all__ = ["checkpoint", "data"]
__getattr__ = absent_from("torch.utils", lambda: __all__)
