"""PyTorch's spelling and meaning over the same values, graph, ops and compiler: `import retrograde.torch as torch`.

>>> import retrograde.torch as torch
>>> x = torch.tensor([[1.0, 5.0], [4.0, 2.0]], requires_grad=True)
>>> x.max(dim=1).values.sum().backward()
>>> x.grad
tensor([[0., 1.],
        [1., 0.]])
"""

from math import e, inf, nan, pi

from .tensor import FUNCTIONS as _FUNCTIONS
from .tensor import Tensor

globals().update(_FUNCTIONS)
