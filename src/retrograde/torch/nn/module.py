"""Module, and the layers of `rg.nn` as subclasses of it: whatever they are made of has PyTorch's methods."""

from typing import Any

from ... import nn as rg
from ...core.value import Value
from ..compiled import compile
from ..kinds import TorchTensor, handed_out
from .parameter import adopted


class Module(rg.Module):
    """Base of layers and models. Subclass it, set parameters and modules as attributes, and define `forward`.

    >>> import retrograde.torch as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())
    >>> model[0].weight.size(1), isinstance(model[0], torch.nn.Module)
    (4, True)
    """

    def __setattr__(self, name, value):
        if isinstance(value, rg.Module):
            value = of_torch(value)
        elif isinstance(value, Value) and not isinstance(value, TorchTensor) and (
                isinstance(value, (rg.Parameter, rg.Buffer)) or name in self._buffers):
            value = adopted(value)
        super().__setattr__(name, value)

    def __call__(self, *args, **kwargs):
        compiled = self.__dict__.get("_compiled_call")
        return handed_out(super().__call__(*args, **kwargs) if compiled is None else compiled(*args, **kwargs))

    def compile(self, *args, **kwargs):
        """Compile this module's calls from now on, with the arguments of `torch.compile`; the module stays the same object."""
        call = super().__call__

        def called(*inputs, **words):
            return call(*inputs, **words)

        called.__name__ = type(self).__name__
        object.__setattr__(self, "_compiled_call", compile(called, *args, **kwargs))

    def to_empty(self, *, device=None, recurse=True):
        """The module itself."""
        return self.to(device=device)

    def type(self, dst_type):
        """Convert the floats among parameters and buffers."""
        return self.to(dst_type)

    def share_memory(self):
        """The module itself."""
        return self


#: The classes of `rg.nn`, and those that stand for them here.
COUNTERPARTS: dict[Any, Any] = {rg.Module: Module}


def counterpart(kind):
    """The class that stands for one of `rg.nn`'s."""
    found = COUNTERPARTS.get(kind)
    if found is None:
        bases = [counterpart(base) for base in kind.__bases__ if issubclass(base, rg.Module)]
        contents = {"__doc__": kind.__doc__, "__module__": "retrograde.torch.nn"}
        if getattr(kind, "cls_to_become", None) is not None:
            contents["cls_to_become"] = counterpart(kind.cls_to_become)
        found = COUNTERPARTS[kind] = type(kind.__name__, (*dict.fromkeys(bases), kind), contents)
    return found


def of_torch(module):
    """A module of `rg.nn`, with all in it, as one of PyTorch's meaning: the very same object."""
    for part in module.modules():
        kind = type(part)
        if not issubclass(kind, Module) and kind.__module__.startswith("retrograde.nn."):
            object.__setattr__(part, "__class__", counterpart(kind))
        for value in list(vars(part).values()):
            adopted(value) if isinstance(value, Value) else None
    return module
