"""A backend of einops whose arrays are our tensors, put in the place of that of NumPy: a plugin of pytest."""

import numpy as np
from einops import _backends

import retrograde as rg


class Backend(_backends.NumpyBackend):
    """einops' functions by those of the Array API standard."""

    framework_name = "retrograde"

    def __init__(self):
        self.np = rg

    def is_appropriate_type(self, tensor):
        return isinstance(tensor, rg.Tensor)

    def from_numpy(self, x):
        made = rg.tensor(x)
        return made.requires_grad_() if made.dtype.kind == "f" else made  # as in the backend of PyTorch

    def to_numpy(self, x):
        return np.asarray(x.detach())

    def is_float_type(self, x):
        return x.dtype.kind == "f"


# In einops' list of frameworks that are tested; arrays are still served by the class of NumPy, which it finds as a subclass.
_backends.NumpyBackend = Backend
