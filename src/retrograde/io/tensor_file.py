"""The safetensors format: a header in JSON that names tensors, then their numbers. It holds nothing that runs.

https://github.com/huggingface/safetensors#format; ours refuses what the format forbids: holes, overlaps, and bytes left over.
"""

import json
import sys
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import as_dtype
from ..errors import CheckpointError
from .bounded import parsed

#: By name in the format the dtype, lowest byte first.
DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "C64": "complex64", "BOOL": "bool",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8",
}
CODES = {name: code for code, name in DTYPES.items()}
#: The longest header, and the most axes, that are read.
_LONGEST, _MOST_AXES = 100_000_000, 64


class Entry(NamedTuple):
    """Where a tensor lies in a file: its dtype and shape, and its first byte and the one after its last, counted from the data."""

    dtype: Any
    shape: tuple
    start: int
    stop: int


def storable(name, array):
    """`array` in row-major order with the low byte first, which is all that the format knows."""
    if array.dtype.name not in CODES:
        raise CheckpointError(f"{name} has dtype {array.dtype}, which safetensors files cannot hold")
    dtype = array.dtype.newbyteorder("<") if array.dtype.kind in "iufc" else array.dtype
    return np.asarray(array, dtype, order="C")


def as_bytes(array):
    """The bytes of an array in row-major order, without a copy."""
    return memoryview(array.reshape(-1).view(np.uint8))


def write(file, arrays, metadata=None):
    """Write storable arrays by name to an open file; the same arrays give the same bytes."""
    header, place = {} if metadata is None else {"__metadata__": metadata}, 0
    # Those with the largest elements first, so that each tensor begins at a multiple of its element.
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    for name in names:
        array = arrays[name]
        header[name] = {"dtype": CODES[array.dtype.name], "shape": list(array.shape), "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        file.write(as_bytes(arrays[name]))


def read_header(path, file, size):
    """(entries by name, first byte of the data) of an open file of `size` bytes; a CheckpointError if anything in it is wrong."""
    header, length = _header(path, file, size)
    header.pop("__metadata__", None)
    entries = {name: _entry(path, name, facts) for name, facts in header.items()}
    place = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1][2:]):
        if entry.start != place:
            raise _damaged(path, f"{name} begins at byte {entry.start} and the tensor before it ends at {place}")
        place = entry.stop
    if place != size - 8 - length:
        raise _damaged(path, f"its tensors take {place} bytes and there are {size - 8 - length}")
    return entries, 8 + length


def read_metadata(path, file, size):
    """What an open file of `size` bytes says of itself, by name."""
    found = _header(path, file, size)[0].get("__metadata__")
    return found if isinstance(found, dict) else {}


def _header(path, file, size):
    """(the header of an open file as it stands there, its length)."""
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _LONGEST):
        raise _damaged(path, f"a header of {length} bytes does not fit" if size >= 8 else "it is shorter than a header")
    header = parsed(path, file.read(length), size)
    if not isinstance(header, dict):
        raise _damaged(path, "its header is no object")
    return header, length


def read_array(path, name, file, first, entry):
    """The array of one entry."""
    try:
        array = np.empty(entry.shape, entry.dtype)
    except (ValueError, MemoryError) as error:
        raise CheckpointError(f"{path}: {name} of shape {entry.shape} cannot be made: {error}") from None
    file.seek(first + entry.start)
    if array.nbytes and file.readinto(as_bytes(array)) != array.nbytes:
        raise _damaged(path, f"it ends within {name}")
    return array if sys.byteorder == "little" else array.byteswap()


def _entry(path, name, facts):
    """What a header says of one tensor, once it is known to make sense."""
    if not isinstance(facts, dict) or not {"dtype", "shape", "data_offsets"} <= facts.keys():
        raise _damaged(path, f"{name} lacks a dtype, a shape or its offsets")
    code, shape, offsets = facts["dtype"], facts["shape"], facts["data_offsets"]
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise _damaged(path, f"the shape or the offsets of {name} are no sizes")
    if not isinstance(code, str) or code not in DTYPES:
        raise CheckpointError(f"{path}: {name} has dtype {code}, which retrograde does not know")
    if len(shape) > _MOST_AXES:
        raise CheckpointError(f"{path}: {name} has {len(shape)} axes, and an array has at most {_MOST_AXES}")
    dtype = as_dtype(DTYPES[code])
    if prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise _damaged(path, f"{name} of shape {tuple(shape)} and dtype {code} does not take {offsets[1] - offsets[0]} bytes")
    if not is_possible(shape, dtype):
        raise CheckpointError(f"{path}: {name} of shape {tuple(shape)} cannot be made: arrays are smaller")
    return Entry(dtype, tuple(shape), *offsets)


def is_possible(shape, dtype):
    """Whether there can be an array of such a shape, which has bounds also where one of its axes is empty."""
    return prod([max(size, 1) for size in shape]) * dtype.itemsize < 1 << 63


def _are_sizes(numbers):
    return isinstance(numbers, list) and all([type(n) is int and 0 <= n < 1 << 63 for n in numbers])


def _damaged(path, why):
    return CheckpointError(f"{path} is no safetensors file, or a damaged one: {why}")
