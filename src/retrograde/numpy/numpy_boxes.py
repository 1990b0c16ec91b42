"""The class of arrays that a derivative is computed of, by its name in autograd: `isinstance(x, ArrayBox)`."""

from ..tensor.tensor import Tensor as ArrayBox

__all__ = ["ArrayBox"]
