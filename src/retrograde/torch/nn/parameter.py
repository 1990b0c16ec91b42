"""Parameter and Buffer: those of `rg.nn`, with PyTorch's methods."""

from typing import Any

from ...core.value import Value
from ...nn import parameter as rg
from ...nn.parameter import set_data
from ..creation import as_tensor, empty
from ..kinds import TorchTensor
from ..tensor import Tensor


class Parameter(Tensor, rg.Parameter):
    """A tensor that requires gradients and that a module lists when it becomes one of its attributes.

    >>> import retrograde.torch as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, *_, **__):
        return object.__new__(cls)

    def __init__(self, data=None, requires_grad=True):
        super(Tensor, self).__init__(as_tensor(empty(0) if data is None else data).raw)
        self.requires_grad = requires_grad

    def __repr__(self):
        return f"Parameter containing:\n{Tensor.__repr__(self)}"

    __str__ = __repr__

    def __deepcopy__(self, memo):
        return rg.Parameter.__deepcopy__(self, memo)

    data: Any = property(lambda self: self.detach(), set_data, doc="The same memory outside of the graph, as a tensor.")


class Buffer(Tensor, rg.Buffer):
    """A tensor that belongs to the state of a module when it becomes one of its attributes, but is not learned."""

    __slots__ = ()

    def __new__(cls, *_, **__):
        return object.__new__(cls)

    def __init__(self, data, *, persistent=True):
        super(Tensor, self).__init__(as_tensor(data).raw)
        if not persistent:
            self.persistent = False


class UninitializedParameter(rg.UninitializedParameter, Parameter):
    """A parameter without a shape."""

    __slots__ = ()
    _becomes = Parameter


class UninitializedBuffer(rg.UninitializedBuffer, Tensor):
    """A buffer without a shape."""

    __slots__ = ()
    _becomes = Tensor


#: The classes of what modules of `rg.nn` keep, and what they are here.
COUNTERPARTS: dict[Any, Any] = {
    rg.Parameter: Parameter, rg.Buffer: Buffer, rg.UninitializedParameter: UninitializedParameter,
    rg.UninitializedBuffer: UninitializedBuffer,
}


def adopted(value):
    """A tensor that a module of `rg.nn` has made, as one of PyTorch's meaning: the very same object."""
    if isinstance(value, Value) and not isinstance(value, TorchTensor):
        kind = COUNTERPARTS.get(type(value)) or (Tensor if type(value).kind is type(value) else None)
        if kind is not None:
            value.__class__ = kind
    return value
