"""Weights in files: dictionaries of tensors as safetensors, which PyTorch, JAX and others read and write too."""

import sys
from pathlib import Path

import numpy as np

from ..atomic import writing
from ..dtypes import as_dtype
from ..errors import CheckpointError
from ..extras import optional
from ..tensor.creation import asarray
from ..tensor.tensor import Tensor

_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "C64": "complex64", "BOOL": "bool",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8",
}
_SAVED = frozenset(_DTYPES.values())


def save(weights, path, metadata=None):
    """Write the tensors of a module, or of a dictionary of tensors or arrays, to a safetensors file at `path`.

    The file is written beside `path` and renamed when it is whole and on the disk, so that `path` always holds either the
    old file or the new one. A tensor under several names is written under each. `metadata` is a dictionary of strings.

    >>> rg.save({"w": rg.ones(2)}, "weights.safetensors")  # doctest: +SKIP
    """
    safetensors = optional("safetensors.numpy", "io")
    state = weights.state_dict() if hasattr(weights, "state_dict") else weights
    arrays = {_named(name): _storable(name, value) for name, value in state.items()}
    with writing(Path(path)) as part:
        safetensors.save_file(arrays, part, metadata=metadata)


def load(path):
    """The tensors in the safetensors file at `path`, by name; pass them to `module.load_state_dict`.

    Raises a CheckpointError that says what is wrong if the file is not there, damaged, or of another kind.

    >>> model.load_state_dict(rg.load("weights.safetensors"))  # doctest: +SKIP
    """
    safetensors = optional("safetensors", "io")
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from None
    try:
        entries = safetensors.deserialize(content)
    except safetensors.SafetensorError as error:
        raise CheckpointError(f"{path} is no safetensors file, or a damaged one: {_told(error)}") from None
    return {name: _tensor(path, name, entry) for name, entry in sorted(entries, key=lambda pair: pair[0])}


def _named(name):
    if not isinstance(name, str):
        raise CheckpointError(f"weights are saved under names, got the key {name!r}")
    return name


def _storable(name, value):
    """`value` as an array in row-major order and with the low byte first, which is all that the format knows."""
    if isinstance(value, (dict, list, tuple)):
        raise CheckpointError(f"weights are tensors or arrays by name, got {name!r} with a {type(value).__name__}; the state of an "
                              "optimizer can be pickled")
    array = np.asarray(asarray(value).detach().to("cpu").raw)
    dtype = array.dtype.newbyteorder("<") if array.dtype.kind in "iufc" else array.dtype
    if array.dtype.name not in _SAVED:
        raise CheckpointError(f"{name} has dtype {array.dtype}, which safetensors files cannot hold")
    return np.asarray(array, dtype, order="C")


def _tensor(path, name, entry):
    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise CheckpointError(f"{path}: {name} has dtype {entry['dtype']}, which retrograde does not know")
    array = np.frombuffer(entry["data"], as_dtype(dtype)).reshape(entry["shape"])
    return Tensor(array.copy() if sys.byteorder == "little" else array.byteswap())


def _told(error):
    return str(error).removeprefix("Error while deserializing header: ")
