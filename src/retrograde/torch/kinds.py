"""The tensor of PyTorch's meaning as a kind of tensors: its dtypes, and how what is not such a tensor becomes one."""

from typing import Any

import numpy as np

from .. import dtypes, tree
from ..core.value import Value
from ..errors import DTypeError
from ..ops._arrays import arrays
from ..ops.elementary.conversions import astype
from ..tensor import tensor as rg

#: The type of new tensors from Python floats, in a list of one; `set_default_dtype` sets it.
DEFAULT = [dtypes.default_float]
_COMPLEX = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}


def default_dtype():
    """The dtype of new tensors from Python floats."""
    return DEFAULT[0]


class TorchTensor(rg.Tensor):
    """Base of the tensor, which its methods are added to."""

    __slots__ = ()


def tensor_of(x) -> Any:
    """A value as one of PyTorch's meaning: of the same memory, and of the same graph."""
    return x if isinstance(x, TorchTensor) else arrays.made(x.raw, x.record, TorchTensor.kind)


def made(array) -> Any:
    """An array as a tensor of PyTorch's meaning, of the same memory."""
    return arrays.made(np.asarray(array), None, TorchTensor.kind)


def handed_out(found):
    """What a function of `rg` returned, with tensors of PyTorch's meaning in it."""
    if isinstance(found, TorchTensor) or found is None:
        return found
    if isinstance(found, Value):
        return tensor_of(found) if isinstance(found, rg.Tensor) else found
    return tree.map(lambda x: tensor_of(x) if isinstance(x, rg.Tensor) else x, found)


def operand(x, name="input") -> Any:
    """`x` as a tensor of PyTorch's meaning; raises where it is none."""
    if isinstance(x, TorchTensor):
        return x
    if isinstance(x, rg.Tensor):
        return tensor_of(x)
    if hasattr(x, "to_dense"):
        raise DTypeError(f"{name} is a sparse tensor, which this function does not take; use x.to_dense()")
    raise DTypeError(f"{name} must be a tensor, got {type(x).__name__}; make one with torch.tensor(data), or of an array without a "
                     "copy with torch.from_numpy(array)")


def is_floating(dtype):
    """Whether `dtype` is a real floating type."""
    return dtype.kind == "f" or dtype == dtypes.bfloat16


#: The rank of each category of dtypes: what is of a lower one takes the dtype of what is of a higher one.
CATEGORY = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}


def _category(x):
    if x.__class__ is bool or isinstance(x, np.bool_):
        return 0
    if isinstance(x, (int, np.integer)):
        return 1
    if isinstance(x, (float, np.floating)):
        return 2
    return 3 if isinstance(x, (complex, np.complexfloating)) else CATEGORY[x.dtype.kind]


def _number_dtype(category):
    if category == 3:
        return _COMPLEX.get(DEFAULT[0], dtypes.complex64)
    return (dtypes.bool_, dtypes.int64, DEFAULT[0])[category]


def result_type(*operands):
    """The dtype of what is computed of tensors and Python numbers, by PyTorch's rule.

    Tensors with axes come before those without, and these before numbers; what comes later counts only if it is of a higher
    category: boolean, integer, floating, complex.

    >>> import retrograde.torch as torch
    >>> torch.result_type(torch.arange(3), 0.5), torch.result_type(torch.ones(2), torch.tensor(1.0, dtype=torch.float64))
    (dtype('float32'), dtype('float32'))
    """
    found: Any = None
    known, of_rank = -1, None
    for is_rank in (_has_axes, _has_none, _is_number):
        for x in filter(is_rank, operands):
            category = _category(x)
            dtype = x.dtype if hasattr(x, "dtype") and not isinstance(x, np.generic) else _number_dtype(category)
            is_alike = of_rank is is_rank
            if (category, known) in ((3, 2), (2, 3)) and (category == 3 or is_alike):
                parts = [_COMPLEX.get(d, d if d.kind == "c" else dtypes.complex64) for d in (found, dtype)]
                found, known, of_rank = (_promoted(*parts) if is_alike else parts[0]), 3, is_rank
            elif category > known:
                found, known, of_rank = dtype, category, is_rank
            elif category == known and is_alike:
                found = _promoted(found, dtype)
    return found


def _promoted(a, b):
    """The dtype of two of one category."""
    if a == b:
        return a
    if {a, b} == {dtypes.bfloat16, dtypes.float16}:
        return dtypes.float32
    if dtypes.bfloat16 in (a, b):
        return a if b == dtypes.bfloat16 else b
    return np.promote_types(a, b)


def _has_axes(x):
    return isinstance(x, Value) and x.ndim > 0


def _has_none(x):
    return isinstance(x, Value) and x.ndim == 0


def _is_number(x):
    return not isinstance(x, Value)


_PLAIN = frozenset([int, float, bool, complex])


def promoted(x, y) -> Any:
    """Two operands, tensors or numbers, so that what ops make of them has PyTorch's dtype."""
    if isinstance(x, Value):
        if isinstance(y, Value):
            if x.raw.dtype is y.raw.dtype:
                return x, y
        elif y.__class__ is float:
            if x.raw.dtype.kind == "f":
                return x, y
        elif y.__class__ is int and x.raw.dtype.kind in "fi":
            return x, y
    x, y = _usual(x), _usual(y)
    dtype = result_type(x, y)
    return _as(x, dtype), _as(y, dtype)


def floating(x):
    """`x`, integers as numbers of the default dtype: what functions such as the sine are computed of."""
    return x if x.raw.dtype.kind in "fcV" else astype(x, DEFAULT[0])


def _usual(x):
    """Numbers of NumPy as those of Python, and arrays as tensors."""
    if isinstance(x, rg.Tensor):
        return tensor_of(x)
    if isinstance(x, np.generic):
        return x.item()
    if hasattr(x, "to_dense"):
        return operand(x, "other")
    return arrays.made(x, None, TorchTensor.kind) if isinstance(x, np.ndarray) else x


def _as(x, dtype):
    return astype(x, dtype) if isinstance(x, Value) and x.raw.dtype != dtype else x
