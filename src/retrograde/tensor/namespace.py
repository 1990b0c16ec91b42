"""What the Array API standard (2024.12) asks of the namespace beside its functions: data types and their limits, capabilities,
and exchange with other libraries.
"""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from .. import dtypes
from ..core.value import Value
from ..dtypes import as_dtype, is_float
from ..errors import ArgumentError, DTypeError
from .creation import asarray
from .tensor import Tensor

#: The edition of the standard.
__array_api_version__ = "2024.12"


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating type, as Python numbers; of a complex one, those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype

    @property
    def tiny(self):
        """The smallest normal number, as NumPy and PyTorch call it."""
        return self.smallest_normal


@dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: np.dtype


def finfo(dtype, /):
    """The limits of a floating type, or of that of a tensor.

    >>> rg.finfo(rg.float32).eps
    1.1920928955078125e-07
    """
    dtype = _dtype_of(dtype)
    if not is_float(dtype):
        raise DTypeError(f"finfo needs a floating type, got {dtype}; use iinfo")
    found = ml_dtypes.finfo(dtype)
    eps, most, least, normal = map(float, (found.eps, found.max, found.min, found.smallest_normal))
    return FloatInfo(int(found.bits), eps, most, least, normal, np.dtype(found.dtype))


def iinfo(dtype, /):
    """The limits of an integer type, or of that of a tensor.

    >>> rg.iinfo(rg.int8).max
    127
    """
    dtype = _dtype_of(dtype)
    if dtype.kind not in "iu":
        raise DTypeError(f"iinfo needs an integer type, got {dtype}; use finfo")
    found = np.iinfo(dtype)
    return IntegerInfo(int(found.bits), int(found.max), int(found.min), dtype)


def _dtype_of(x) -> Any:
    return x.dtype if hasattr(x, "dtype") else as_dtype(x)


def result_type(*operands):
    """The type of the result of an operation on tensors, types and Python numbers; the last do not promote.

    >>> rg.result_type(rg.float32, rg.int8, 2.5)
    dtype('float32')
    """
    found = dtypes.promoted(operands)
    if found is None:
        raise ArgumentError(f"result_type needs a tensor or a type among its operands, got {operands}")
    return found


def can_cast(source, to, /):
    """Whether numbers of a type, or of a tensor's, can become another without loss, by the rules of promotion.

    >>> rg.can_cast(rg.float32, rg.float64), rg.can_cast(rg.float64, rg.float32)
    (True, False)
    """
    return bool(np.can_cast(_dtype_of(source), as_dtype(to)))


#: The types of each kind, by the names of the standard.
_KINDS = {
    "bool": (dtypes.bool_,),
    "signed integer": (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    "unsigned integer": (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
    "real floating": (dtypes.float32, dtypes.float64),
    "complex floating": (dtypes.complex64, dtypes.complex128),
}
_UNIONS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}
#: Types beyond the standard.
_MORE = {"real floating": (dtypes.float16, dtypes.bfloat16)}


def isdtype(dtype, kind):
    """Whether `dtype` is of a `kind`: a name such as "real floating", a type, or a tuple of them.

    >>> rg.isdtype(rg.int8, "integral"), rg.isdtype(rg.int8, ("bool", rg.int8))
    (True, True)
    """
    if isinstance(kind, tuple):
        return any([isdtype(dtype, part) for part in kind])
    if isinstance(kind, str):
        if kind not in _KINDS and kind not in _UNIONS:
            raise ArgumentError(f"kind must be one of {', '.join([*_KINDS, *_UNIONS])}, got {kind!r}")
        return any([dtype in (*_KINDS[name], *_MORE.get(name, ())) for name in _UNIONS.get(kind, (kind,))])
    return dtype == as_dtype(kind)


def from_dlpack(x, /, device=None, copy=None):
    """A tensor over the memory of an array of another library, or a copy of it if `copy` or another `device` asks for one.

    >>> rg.from_dlpack(np.arange(3.0))
    tensor([0., 1., 2.], dtype=float64)
    """
    if isinstance(x, Value):
        return asarray(x.detach(), device=device, copy=copy)
    return Tensor(np.from_dlpack(x, device=device, copy=copy))


class Info:
    """What this library can do, by the names of the standard: `rg.__array_namespace_info__()`."""

    def capabilities(self):
        """Which of the standard's options are supported."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The device of new tensors."""
        return "cpu"

    def devices(self):
        """The devices that are always there."""
        return ["cpu"]

    def default_dtypes(self, *, device=None):
        """The types of new tensors from Python numbers."""
        return {"real floating": dtypes.default_float, "complex floating": dtypes.complex64, "integral": dtypes.int64,
                "indexing": dtypes.int64}

    def dtypes(self, *, device=None, kind=None):
        """The standard's types, by name, of all kinds or of some."""
        kinds = tuple(_KINDS) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        names = [name for k in kinds for name in _UNIONS.get(k, (k,))]
        return {str(dtype): dtype for name in names for dtype in _KINDS[name]}


def __array_namespace_info__():  # noqa: N807 - the standard's name
    """What this library can do, as an object that answers questions by the names of the standard."""
    return Info()
