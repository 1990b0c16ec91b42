"""Our tensors in einops: `einops.rearrange(x, "b c h w -> b (c h w)")` and its other functions take them as they are."""

from typing import Any

from ..ops.axes import products, reductions, searches
from ..ops.linalg import contractions
from ..ops.manipulation import joins, movements, repetition
from .creation import arange, tensor
from .tensor import Tensor

_REDUCTIONS = {"min": reductions.min, "max": reductions.max, "sum": reductions.sum, "mean": reductions.mean, "prod": products.prod,
               "any": searches.any, "all": searches.all}


def define(backends):
    """Make the backend of our tensors in einops' module `backends`, which finds it among the subclasses of `AbstractBackend`."""
    abstract: Any = getattr(backends, "AbstractBackend", object)
    if any(found.__module__ == __name__ for found in abstract.__subclasses__()):
        return

    class RetrogradeBackend(abstract):
        """einops' functions by ops, which are differentiated and traced as any others."""

        framework_name = "retrograde"

        def is_appropriate_type(self, tensor):
            return isinstance(tensor, Tensor)

        def from_numpy(self, x):
            made = tensor(x)
            made.requires_grad = self.is_float_type(made)  # as in the backend of PyTorch
            return made

        def to_numpy(self, x):
            return x.detach().numpy()

        def arange(self, start, stop):
            return arange(start, stop)

        def reshape(self, x, shape):
            return movements.reshape(x, shape)

        def transpose(self, x, axes):
            return movements.permute_dims(x, axes)

        def reduce(self, x, operation, axes):
            return _REDUCTIONS[operation](x, axes)

        def stack_on_zeroth_dimension(self, tensors):
            return joins.stack(tensors)

        def add_axis(self, x, new_position):
            return movements.expand_dims(x, new_position)

        def tile(self, x, repeats):
            return repetition.tile(x, repeats)

        def concat(self, tensors, axis):
            return joins.concatenate(tensors, axis)

        def is_float_type(self, x):
            return x.dtype.kind == "f" or x.dtype.name == "bfloat16"

        def einsum(self, pattern, *x):
            return contractions.einsum(pattern, *x)

    backends.RetrogradeBackend = RetrogradeBackend  # a list of subclasses alone keeps none alive
