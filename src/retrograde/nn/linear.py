"""Layers that map vectors to vectors."""

import math

from ..tensor.creation import empty
from . import functional, init
from .module import Module
from .parameter import Parameter


class Linear(Module):
    """`x @ weight.T + bias`: weight is (out_features, in_features), and `x` may have any leading axes.

    Both start evenly spread between plus and minus one over the root of `in_features`, as in PyTorch.

    >>> rg.nn.Linear(3, 2)(rg.ones(5, 3)).shape
    (5, 2)
    """

    #: Whether the `forward` of this class is the map above. A subclass whose own one is too says so, and `rg.quantize` replaces it.
    is_affine = True

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype, device=device))
        self.bias = Parameter(empty(out_features, dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """`x1 @ weight[o] @ x2 + bias[o]` for each output o: weight is (out_features, in1_features, in2_features).

    Both start evenly spread between plus and minus one over the root of `in1_features`, as in PyTorch.

    >>> rg.nn.Bilinear(3, 4, 2)(rg.ones(5, 3), rg.ones(5, 4)).shape
    (5, 2)
    """

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, dtype=dtype, device=device))
        self.bias = Parameter(empty(out_features, dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new weights."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1, input2):
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")
