"""Operands: arrays, tensors, numbers, and lists of them, as what the ops take."""

from typing import Any

import numpy as np

from ...core.value import Value
from ...errors import DTypeError, MissingRuleError
from ...ops.manipulation.joins import stack
from ..boxes import gathered
from ..tensor import Tensor

_SEQUENCES = (list, tuple)
# What holds no value for sure; a short cut.
_PLAIN = frozenset([np.ndarray, int, float, bool, str, type(None), np.float64, np.int64])


def holds_value(arguments):
    """Whether a value is among `arguments` or in lists and tuples inside them."""
    kinds = set(map(type, arguments))
    if kinds <= _PLAIN:
        return False
    if Tensor in kinds:
        return True
    for kind in kinds:
        if issubclass(kind, Value):
            return True
        if issubclass(kind, _SEQUENCES) and any([holds_value(a) for a in arguments if a.__class__ is kind]):
            return True
    return False


def stacked(x) -> Any:
    """`x`, with nested lists that hold values as one tensor, and other lists and numbers as arrays."""
    if isinstance(x, Value) or hasattr(x, "dtype"):
        return gathered(x)
    if isinstance(x, _SEQUENCES) and holds_value(x):
        return stack([stacked(part) for part in x])
    return np.asarray(x)


def data_of(x) -> Any:
    """`x` with the data of each value in it, in lists, tuples and dictionaries too."""
    if isinstance(x, Value):
        return np.asarray(x)
    if x.__class__ in _SEQUENCES:
        return x.__class__([data_of(part) for part in x])
    return {name: data_of(part) for name, part in x.items()} if x.__class__ is dict else x


def refuse(function, **given):
    """Raise a DTypeError if an argument of NumPy's `function` that has no meaning for tensors is given."""
    found = [name for name, value in given.items() if value is not None and value is not np._NoValue]
    if found:
        raise DTypeError(f"np.{function} on tensors does not take {', '.join(found)}; leave it out")


def is_kept(keepdims):
    """Whether `keepdims` asks for axes of one element, as True and 1 do; NumPy has an object for what is not given."""
    return keepdims is not np._NoValue and bool(keepdims)


def cast(x, dtype):
    """`x` in another dtype, if one is given."""
    return x if dtype is None or x.dtype == dtype else x.astype(dtype)


def constant(x, name) -> Any:
    """The data of `x`, which must not need a gradient, since `name` has none."""
    if isinstance(x, Value) and x.requires_grad:
        raise MissingRuleError(f"there is no derivative in {name}; pass a number, or x.detach()")
    return data_of(x)
