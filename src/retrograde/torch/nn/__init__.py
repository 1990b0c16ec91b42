"""Layers, losses and models of `rg.nn`, of tensors of PyTorch's meaning."""

from ... import nn as rg
from ...nn import functional_call
from ..absent import absent_from
from . import functional, init, parallel, utils
from .module import Module, counterpart
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

_LAYERS = {name: counterpart(kind) for name, kind in vars(rg).items()
           if isinstance(kind, type) and issubclass(kind, rg.Module) and not name.startswith("_")}
globals().update(_LAYERS)
_LAYERS["Transformer"].generate_square_subsequent_mask = staticmethod(
    functional.handed(rg.Transformer.generate_square_subsequent_mask))

NonDynamicallyQuantizableLinear = _LAYERS["Linear"]

__all__ = sorted({*_LAYERS, "Buffer", "Module", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init",
                  "parallel", "utils"})
__getattr__ = absent_from("torch.nn", lambda: __all__)
