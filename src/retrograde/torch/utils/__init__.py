"""`torch.utils`: what other modules add to."""

from ..absent import absent_from

__all__: list[str] = []
__getattr__ = absent_from("torch.utils", lambda: __all__)
