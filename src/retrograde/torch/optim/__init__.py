"""The optimizers of `rg.optim`, whose names and arguments are PyTorch's."""

from ... import optim as rg
from ..absent import absent_from
from . import lr_scheduler, swa_utils

_KINDS = {name: kind for name, kind in vars(rg).items() if isinstance(kind, type) and not name.startswith("_")}
globals().update(_KINDS)

__all__ = sorted([*_KINDS, "lr_scheduler", "swa_utils"])
__getattr__ = absent_from("torch.optim", lambda: __all__)
