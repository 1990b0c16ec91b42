"""Parameter, a tensor that a module learns."""

from ..tensor.creation import asarray
from ..tensor.tensor import Tensor


class Parameter(Tensor):
    """A tensor that requires gradients and that a module lists when it becomes one of its attributes.

    Shares memory with `data` if that is a tensor or an array.

    >>> rg.nn.Parameter(rg.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __init__(self, data, requires_grad=True):
        super().__init__(asarray(data).realize().data)
        self.requires_grad = requires_grad

    def __repr__(self):
        return f"Parameter containing:\n{super().__repr__()}"
