"""Weights in a file beside a model: what the file of a model, which holds at most 2 GB, has no room for."""

import hashlib
import os
import re
from contextlib import suppress

import numpy as np

from ..atomic import writing
from ..errors import ArgumentError
from ..io.tensor_file import as_bytes
from .library import onnx

#: The most bytes of a model: that is how far protocol buffers count. What stands beside its weights is let so much room.
MOST_BYTES, _ROOM = 2**31 - 1, 1 << 20
#: Tensors of fewer bytes stay in the model; others begin at a multiple of a page, so that they can be mapped.
_SMALL, _PAGE = 1024, 4096


def is_large(model, arrays):
    """Whether a model has no room for its weights, arrays by name."""
    return model.ByteSize() + sum([array.nbytes for array in arrays.values()]) + _ROOM > MOST_BYTES


def fill(model, arrays):
    """Put the numbers of weights, arrays by name, into a model."""
    for tensor in model.graph.initializer:
        if tensor.name in arrays:
            tensor.CopyFrom(onnx().numpy_helper.from_array(_plain(arrays[tensor.name]), tensor.name))


def write(path, model, arrays, check):
    """Write a model to `path`, and its weights, arrays by name, to a file beside it; `check(path)` raises if they are not good.

    The file has a name by its content, and the model says which it needs: so an older model is whole until the new one takes its
    place. What older ones needed is deleted then.
    """
    if path.is_symlink():
        raise ArgumentError(f"{path} is a link, and a model whose weights lie beside it is looked for in the folder of the link; "
                            "give the path that it leads to")
    held = {name: _plain(array) for name, array in arrays.items() if array.nbytes >= _SMALL}
    fill(model, {name: array for name, array in arrays.items() if name not in held})
    data = path.with_name(f"{path.name}-{_digest(held)}.data")
    was_there = data.exists()
    if held:
        with writing(data) as part, part.open("wb") as file:
            for tensor in model.graph.initializer:
                if tensor.name in held:
                    _write_one(file, tensor, held[tensor.name], data.name)
    try:
        with writing(path) as part:
            part.write_bytes(model.SerializeToString())
            check(os.fspath(part))
    except BaseException:
        if not was_there:
            data.unlink(missing_ok=True)
        raise
    _delete_others(data, path.name)


def _plain(array):
    """An array in row-major order with the lowest byte first, of the same shape."""
    lowest_first = array.dtype.newbyteorder("<") if array.dtype.kind in "iufc" else array.dtype
    return np.asarray(array, lowest_first, order="C")


def _digest(arrays):
    found = hashlib.sha256()
    for name, array in arrays.items():
        found.update(f"{name} {array.dtype} {array.shape}\n".encode())
        found.update(as_bytes(array))
    return found.hexdigest()[:16]


def _write_one(file, tensor, array, location):
    """Write the numbers of one tensor, and say in it where they are."""
    file.write(bytes(-file.tell() % _PAGE))
    tensor.data_location = onnx().TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", file.tell()), ("length", array.nbytes)):
        tensor.external_data.add(key=key, value=str(value))
    file.write(as_bytes(array))


def _delete_others(data, name):
    """Delete the files of weights that earlier models of this name needed."""
    with suppress(OSError):
        for other in data.parent.iterdir():
            if other != data and re.fullmatch(re.escape(name) + r"-[0-9a-f]{16}\.data", other.name):
                other.unlink()
