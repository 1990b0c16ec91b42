"""Tensors in ONNX files as NumPy arrays: checked before memory is taken for them."""

import math
import os
from pathlib import Path, PurePosixPath

import numpy as np

from ..errors import OnnxError, StorageError
from .library import element_types, onnx

#: Where the numbers of an element type stand that are not in `raw_data`.
_FIELDS = {"float32": "float_data", "complex64": "float_data", "float64": "double_data", "complex128": "double_data",
           "int64": "int64_data", "uint64": "uint64_data", "uint32": "uint64_data", "object": "string_data"}
#: The bits of elements that share a byte.
_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}


def array_of(tensor, folder=None):
    """The array in a TensorProto; an OnnxError if it holds no such numbers. `folder` is where external data may lie."""
    name = tensor.name or "a tensor without a name"
    dtype = element_types().get(tensor.data_type)
    if dtype is None:
        raise OnnxError(f"{name} has the element type {tensor.data_type}, which ONNX does not have")
    shape = tuple(tensor.dims)
    if any(n < 0 for n in shape):
        raise OnnxError(f"{name} has a negative length in its shape {shape}")
    if tensor.HasField("segment"):
        raise OnnxError(f"{name} is a segment of a tensor, which is not read; store it whole")
    size = math.prod(shape)
    if tensor.data_location == onnx().TensorProto.EXTERNAL:
        return _external(tensor, name, dtype, shape, folder)
    if tensor.HasField("raw_data"):
        _check_length(name, shape, len(tensor.raw_data), _bytes(dtype, size))
    else:
        field = getattr(tensor, _FIELDS.get(dtype.name, "int32_data"))
        _check_length(name, shape, len(field), _entries(dtype, size), "entries")
    if dtype.kind == "O":
        return np.array([_text(b) for b in tensor.string_data], object).reshape(shape)
    try:
        return np.asarray(onnx().numpy_helper.to_array(tensor)).reshape(shape)
    except (ValueError, OverflowError, TypeError) as error:
        raise OnnxError(f"{name} cannot be read: {error}") from None


def dense(sparse, folder=None):
    """The array in a SparseTensorProto, with its zeros, of which there may not be more than 1,000 for each number that it holds."""
    values, places = array_of(sparse.values, folder), array_of(sparse.indices, folder)
    shape = tuple(sparse.dims)
    if any(n < 0 for n in shape) or math.prod(shape) > 1000 * (values.size + 1):
        raise OnnxError(f"a sparse tensor of shape {shape} holds {values.size} numbers; it is too large to be written out")
    found = np.zeros(shape, values.dtype)
    try:
        if places.ndim == 1:
            found.reshape(-1)[places] = values
        else:
            found[tuple(places.T)] = values
    except (IndexError, ValueError) as error:
        raise OnnxError(f"the indices of a sparse tensor do not fit its shape {shape}: {error}") from None
    return found


def _bytes(dtype, size):
    return (size * _BITS[dtype.name] + 7) // 8 if dtype.name in _BITS else size * dtype.itemsize


def _entries(dtype, size):
    per_entry = 8 // _BITS.get(dtype.name, 8)
    return 2 * size if dtype.kind == "c" else -(-size // per_entry)


def _check_length(name, shape, found, needed, what="bytes"):
    if found != needed:
        raise OnnxError(f"{name} of shape {shape} needs {needed} {what}, and has {found}")


def _text(content):
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else content


def _external(tensor, name, dtype, shape, folder):
    """The array of a tensor whose numbers lie in another file, which must be in the model's folder or below it."""
    facts = {entry.key: entry.value for entry in tensor.external_data}
    location, needed = facts.get("location", ""), _bytes(dtype, math.prod(shape))
    path = _place(name, location, folder)
    try:
        offset, length = int(facts.get("offset", 0)), int(facts.get("length", needed))
    except ValueError:
        raise OnnxError(f"{name} has an offset or a length that is no integer: {facts}") from None
    if dtype.kind == "O" or offset < 0 or length != needed:
        raise OnnxError(f"{name} of shape {shape} needs {needed} bytes of {location!r}, and says {length} from byte {offset} on")
    try:
        if not path.is_file():
            raise OnnxError(f"{name} lies in {location!r}, which is no file beside the model")
        if offset + length > path.stat().st_size:
            raise OnnxError(f"{name} needs bytes {offset} to {offset + length} of {location!r}, which has {path.stat().st_size}")
        if dtype.name not in _BITS:
            found = np.fromfile(path, dtype.newbyteorder("<") if dtype.kind in "iufc" else dtype, math.prod(shape), offset=offset)
            return found.reshape(shape).astype(dtype, copy=False)
        with path.open("rb") as file:
            file.seek(offset)
            content = file.read(length)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}") from None
    return array_of(onnx().TensorProto(name=name, data_type=tensor.data_type, dims=shape, raw_data=content))


def _place(name, location, folder):
    """The path of external data; an OnnxError for one that leads out of the model's folder, also by a link."""
    parts = PurePosixPath(location).parts
    if folder is None:
        raise OnnxError(f"{name} lies in another file, and the model was given as bytes; give the path of the model")
    if not parts or "\0" in location or "\\" in location or PurePosixPath(location).is_absolute() or ".." in parts:
        raise OnnxError(f"{name} lies in {location!r}, which is not a path below the model's folder")
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / location))
    if not path.is_relative_to(root):
        raise OnnxError(f"{name} lies in {location!r}, which leads out of the model's folder")
    return path
