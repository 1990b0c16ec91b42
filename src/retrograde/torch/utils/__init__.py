"""`torch.utils`: what other modules add to."""

from ..absent import absent_from

__all__: list[str] = []
"""`torch.utils`: `data`, the loader."""

from ..absent import absent_from
from . import data

__all__ = ["data"]
__getattr__ = absent_from("torch.utils", lambda: __all__)
