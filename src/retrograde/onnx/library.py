"""The onnx package, which an extra installs, and the dtypes by the numbers that ONNX gives them."""

from functools import cache
from typing import Any

import numpy as np

from ..extras import optional

#: The key under which a model that was exported says which of its initializers are no parameters, as a list of names in JSON.
BUFFERS = "retrograde.buffers"


def onnx() -> Any:
    """The onnx package; a MissingExtraError that says how to install it, if it is not there."""
    return optional("onnx", "onnx")


@cache
def element_types():
    """{number of an ONNX element type: dtype}; a text is an object of NumPy."""
    helper, types = onnx().helper, onnx().TensorProto.DataType
    numbers = [n for name, n in types.items() if name != "UNDEFINED"]
    return {n: np.dtype(object) if n == types.Value("STRING") else helper.tensor_dtype_to_np_dtype(n) for n in numbers}


def element_type(dtype):
    """The number that ONNX gives a dtype."""
    if np.dtype(dtype).kind in "OUT":
        return onnx().TensorProto.STRING
    return onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
