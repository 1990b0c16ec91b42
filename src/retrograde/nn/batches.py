"""Functions of batches that also take one example alone."""

from functools import wraps

from ..errors import DTypeError
from ..ops.manipulation.movements import expand_dims, squeeze


def batched(function, ndim):
    """`function` of batches of `ndim` axes, made to take one example, of an axis less, too."""

    @wraps(function)
    def called(input, *args, **kwargs):
        if not hasattr(input, "ndim"):
            raise DTypeError(f"{function.__name__} needs an array or a tensor, got {input!r}; make one with rg.tensor(...)")
        if input.ndim != ndim - 1:
            return function(input, *args, **kwargs)
        return squeeze(function(expand_dims(input, 0), *args, **kwargs), 0)

    return called
