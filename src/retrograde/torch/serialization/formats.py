"""How PyTorch's files name the types of elements."""

import ml_dtypes
import numpy as np

from ...dtypes import (
    bfloat16,
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
from ...dtypes import bool_ as boolean

#: Types whose storages have a class of their own.
CLASSES = {
    "FloatStorage": float32, "DoubleStorage": float64, "HalfStorage": float16, "BFloat16Storage": bfloat16, "LongStorage": int64,
    "IntStorage": int32, "ShortStorage": int16, "CharStorage": int8, "ByteStorage": uint8, "BoolStorage": boolean,
    "ComplexFloatStorage": complex64, "ComplexDoubleStorage": complex128,
}
#: Types whose storages are bytes, so that each tensor says what it has.
UNTYPED = {
    "uint16": uint16, "uint32": uint32, "uint64": uint64, "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2), "float8_e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "float8_e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz), "float8_e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
}
#: All of them by the names of PyTorch's types.
DTYPES = {**{dtype.name: dtype for dtype in CLASSES.values()}, **UNTYPED}
#: The class of storages for a type.
CLASS_OF = {dtype: name for name, dtype in CLASSES.items()}
#: Types that PyTorch has and NumPy has not.
ABSENT = frozenset([
    "complex32", "bcomplex32", "float4_e2m1fn_x2", "qint8", "quint8", "qint32", "quint4x2", "quint2x4", "bits1x8", "bits2x4",
    "bits4x2", "bits8", "bits16", *[f"{sign}int{n}" for sign in ("", "u") for n in range(1, 8)],
])
