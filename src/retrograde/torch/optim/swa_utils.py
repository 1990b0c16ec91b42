"""`torch.optim.swa_utils`: averages of weights."""

from ...optim import swa_utils as rg
from ..absent import absent_from
from ..mirrored import public

_NAMES = public(rg)
globals().update(_NAMES)

__all__ = list(_NAMES)
__getattr__ = absent_from("torch.optim.swa_utils", lambda: __all__)
