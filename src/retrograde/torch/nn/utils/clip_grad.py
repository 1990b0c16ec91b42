"""`torch.nn.utils.clip_grad`: that of `rg.nn.utils`."""

from ....nn.utils import clip_grad as rg
from ...absent import absent_from
from ...mirrored import public

_NAMES = public(rg)
globals().update(_NAMES)

__all__ = list(_NAMES)
__getattr__ = absent_from("torch.nn.utils.clip_grad", lambda: __all__)
