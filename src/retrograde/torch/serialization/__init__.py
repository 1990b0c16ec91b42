"""PyTorch's files of weights: `torch.save` writes them and `torch.load` reads them, and neither runs code."""

from ..absent import absent_from
from .reading import load
from .writing import save

__all__ = ["load", "save"]
__getattr__ = absent_from("torch.serialization", lambda: __all__)
