"""Names of dtypes, and the classes of tensors that older programs call."""

from typing import Any

import numpy as np

from ..dtypes import (
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from . import kinds
from .tensor import DTYPE_OF, Tensor, by_class

DTYPES = {
    "bool": bool_, "uint8": uint8, "uint16": uint16, "uint32": uint32, "uint64": uint64, "int8": int8, "int16": int16,
    "short": int16,
    "int32": int32, "int": int32, "int64": int64, "long": int64, "float16": float16, "half": float16, "bfloat16": bfloat16,
    "float32": float32, "float": float32, "float64": float64, "double": float64, "complex64": complex64, "cfloat": complex64,
    "complex128": complex128, "cdouble": complex128, "dtype": np.dtype,
}


class _Typed(type):
    """A class whose instances are tensors of one dtype."""

    dtype: Any

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.dtype == cls.dtype

    def __call__(cls, *data, device=None):
        return by_class(Tensor, data, cls.dtype)


#: `torch.FloatTensor` and its like.
CLASSES = {
    f"{name}Tensor": _Typed(f"{name}Tensor", (), {"dtype": dtype, "__doc__": f"Makes tensors of {dtype}: of data, or of a shape."})
    for name, dtype in DTYPE_OF.items()
}


def is_tensor(obj):
    """Whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Whether the elements of a tensor are real floats."""
    return kinds.operand(input).is_floating_point()


def is_complex(input):
    """Whether the elements of a tensor are complex numbers."""
    return kinds.operand(input).is_complex()


def is_nonzero(input):
    """Whether the only element of a tensor is not 0."""
    return bool(kinds.operand(input))


def numel(input):
    """The number of elements of a tensor."""
    return kinds.operand(input).numel()


def promote_types(type1, type2):
    """The dtype of what is computed of tensors of two dtypes."""
    one, other = (kinds.TorchTensor.kind(np.empty(1, as_dtype(t))) for t in (type1, type2))
    return kinds.result_type(one, other)


def can_cast(from_, to):
    """Whether numbers of a dtype can be written to a tensor of another: of no lower category."""
    ranks = [kinds.CATEGORY[as_dtype(t).kind] for t in (from_, to)]
    return ranks[0] <= ranks[1]
