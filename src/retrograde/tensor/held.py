"""Held: what a tensor may hold, for those who make one by its class."""

import reprlib

import numpy as np

from ..core.symbol import Symbol
from ..core.value import Value
from ..errors import DTypeError

_INSTEAD = "write rg.tensor(data) for numbers, lists or arrays, and rg.empty(2, 3) or rg.zeros(2, 3) for a shape"


def held(data, record):
    """`data` as the array of a tensor that no op has made; there is no `record` then. Raises a DTypeError for what is no array."""
    if record is not None:
        raise DTypeError(f"rg.Tensor takes one array, got {reprlib.repr(data)} and {reprlib.repr(record)}; {_INSTEAD}")
    if isinstance(data, np.generic):
        data = np.asarray(data)
    if isinstance(data, Symbol):
        return data
    if isinstance(data, Value) or not hasattr(data, "__array_function__"):  # arrays of Dask's and CuPy's have it too
        raise DTypeError(f"rg.Tensor takes one array, got {type(data).__name__} {reprlib.repr(data)}; {_INSTEAD}")
    if data.dtype.kind in "OSUMm" or data.dtype.names:
        raise DTypeError(f"rg.Tensor takes an array of numbers, got one of {data.dtype}")
    return data
