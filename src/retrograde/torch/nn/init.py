"""`torch.nn.init`: the first numbers of parameters."""

from ...nn import init as rg
from ..absent import absent_from
from ..mirrored import public

_NAMES = public(rg)
globals().update(_NAMES)

__all__ = list(_NAMES)
__getattr__ = absent_from("torch.nn.init", lambda: __all__)
