"""`torch.optim.lr_scheduler`: the schedules of `rg.optim`."""

from ...optim import lr_scheduler as rg
from ..absent import absent_from
from ..mirrored import public

_NAMES = public(rg)
globals().update(_NAMES)

__all__ = list(_NAMES)
__getattr__ = absent_from("torch.optim.lr_scheduler", lambda: __all__)
