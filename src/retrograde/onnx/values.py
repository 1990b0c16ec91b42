"""Values on their way through a model: tensors, or arrays that are known whatever the inputs are."""

from typing import Any

import numpy as np

from ..core.value import Value
from ..dtypes import bfloat16
from ..errors import OnnxError
from ..tensor.tensor import Tensor


def numbers(value):
    """`value` as a NumPy array; a TraceError if it is being traced and depends on an input."""
    return np.asarray(value.numpy() if isinstance(value, Tensor) and value.record is None else
                      value.detach().numpy() if isinstance(value, Value) else value)


def integers(value) -> Any:
    """`value`, a list of integers or an array of them, as Python's."""
    return None if value is None else [int(n) for n in np.asarray(numbers(value)).reshape(-1)]


def integer(value):
    """The one integer that `value` holds."""
    found = integers(value)
    if len(found) != 1:
        raise OnnxError(f"one integer is needed, got {len(found)}")
    return found[0]


def settled(value):
    """What a rule returned: arrays for NumPy's scalars and for tensors of dtypes that only arrays have."""
    if isinstance(value, (np.generic, bool, int, float)):
        return np.asarray(value)
    return value


def is_computed(dtype):
    """Whether our ops compute with a dtype: those that are narrower than a byte, or eight bits of a float, are only stored."""
    return dtype.kind in "biufc" or dtype == bfloat16


def is_floating(x):
    """Whether the elements of `x` are real floats."""
    return x.dtype.kind == "f" or x.dtype == bfloat16
