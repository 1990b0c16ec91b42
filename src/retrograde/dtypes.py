"""Data types: the names that users write, and which of them can carry a gradient."""

from functools import cache

import ml_dtypes
import numpy as np

from .errors import DTypeError

bool_ = np.dtype("bool")
int8, int16, int32, int64 = (np.dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
float16, float32, float64 = (np.dtype(f"float{n}") for n in (16, 32, 64))
bfloat16 = np.dtype(ml_dtypes.bfloat16)
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

default_float = float32


@cache
def name_of(dtype):
    """The name of a NumPy dtype, which NumPy itself builds anew each time that it is asked."""
    return dtype.name


def is_float(dtype):
    """Whether `dtype` is a real or complex floating type, so that a gradient makes sense.

    >>> rg.dtypes.is_float(rg.bfloat16), rg.dtypes.is_float(rg.int64)
    (True, False)
    """
    return dtype.kind in "fc" or dtype == bfloat16


def is_complex(argument):
    """Whether an argument of an op, an array or a number, holds complex numbers."""
    dtype = getattr(argument, "dtype", None)
    return argument.__class__ is complex if dtype is None else getattr(dtype, "kind", "") == "c"


def parts_dtype(dtype):
    """The dtype of the parts of complex numbers; of real numbers their own."""
    return np.empty(0, dtype).real.dtype


def as_dtype(dtype):
    """`dtype` as a NumPy dtype: one of ours, one of NumPy's, a name such as "bfloat16", or `float`, `int`, `bool`.

    Python's `float` means float32, the type of new tensors.
    """
    if dtype is float:
        return default_float
    if dtype == "bfloat16":
        return bfloat16
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise DTypeError(f"dtype must be a data type such as rg.float32, got {dtype!r}") from None
    if found.kind not in "biufc" and found != bfloat16:
        raise DTypeError(f"dtype must be boolean, integer, float or complex, got {dtype!r}")
    return found


_NUMBERS = frozenset([bool, int, float, complex])


def native(array):
    """An array with its bytes in the order of this machine: itself, if they are."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def common_dtype(dtypes):
    """What NumPy promotes types to; where it has no common type, bfloat16 for it and integers, float32 for it and float16."""
    if bfloat16 not in dtypes:
        return np.result_type(*dtypes)
    if all([d == bfloat16 or d.kind in "biu" for d in dtypes]):
        return np.dtype(bfloat16)
    return np.result_type(*[np.dtype(np.float32) if d == np.float16 else d for d in dtypes])


def float_of(*args):
    """The dtype of floats that are computed from the arrays among `args`: the common one of these, float64 if that is no float."""
    found = common_dtype([x.dtype for x in args if hasattr(x, "dtype")])
    return found if is_float(found) else np.dtype(np.float64)


def promoted(operands):
    """The type of a result on `operands`: arrays, types and Python numbers, which do not promote; None for numbers alone."""
    found = [x.dtype if hasattr(x, "dtype") else x for x in operands]
    typed = [x for x in found if isinstance(x, np.dtype)]
    if not typed:
        return None
    dtype = common_dtype(typed)
    # NumPy takes a Python number beside a bfloat16 for a float64.
    numbers = [x for x in found if not isinstance(x, np.dtype)]
    return dtype if dtype == bfloat16 and not any([isinstance(x, complex) for x in numbers]) else np.result_type(dtype, *numbers)


def without_promotion(operands):
    """`operands` with Python numbers as arrays of the type of the others, which they do not promote."""
    is_number = [x.__class__ in _NUMBERS for x in operands]
    if not any(is_number) or all(is_number):
        return operands
    dtype = promoted(operands)
    return [np.asarray(x, dtype) if is_weak else x for x, is_weak in zip(operands, is_number, strict=True)]
