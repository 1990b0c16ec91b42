"""Python's own containers and type tests, by the names of autograd.builtins: tensors count as the arrays that they hold."""

import builtins

from .core.value import Value

dict, list, tuple = builtins.dict, builtins.list, builtins.tuple


def isinstance(x, kinds):
    """Whether `x`, or the array that it holds, is an instance of `kinds`."""
    return builtins.isinstance(x, kinds) or builtins.isinstance(x, Value) and builtins.isinstance(x.raw, kinds)


def type(x):
    """The type of `x`, or of the array that it holds."""
    return builtins.type(x.raw if builtins.isinstance(x, Value) else x)
