"""Tensors that stay on the disk: files of weights mapped to memory, of which only what is read takes any."""

import mmap
from typing import Any, NamedTuple

import numpy as np

from ..errors import CheckpointError
from .bounded import opened, refused
from .tensor_file import read_header


class Stored(NamedTuple):
    """A tensor of a file: `array` holds its numbers, or where it has a `format`, rows of blocks of quantised ones; `shape` is that
    of the numbers.
    """

    array: Any
    shape: tuple
    format: str | None = None


def mapped_bytes(path):
    """The bytes of the file at `path` as an array that reads them when they are looked at.

    Writing to it changes this process's memory alone, never the file.
    """
    with opened(path) as (file, size):
        if not size:
            raise CheckpointError(f"{path} is empty")
        try:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
        except (OSError, ValueError) as error:
            raise refused(path, "mapped to memory", error) from None


def as_array(content, start, dtype, shape):
    """The array of `dtype` and `shape` that begins at byte `start` of mapped bytes; copied where it does not lie as arrays must."""
    count = int(np.prod(shape, dtype=object))
    part = content[start : start + count * dtype.itemsize]
    if part.ctypes.data % dtype.itemsize:
        part = part.copy()
    return part.view(dtype).reshape(shape)


def mapped_weights(path):
    """The tensors of the safetensors file at `path` by name, each a `Stored`, read from the disk when they are looked at."""
    with opened(path) as (file, size):
        entries, first = read_header(path, file, size)
    content = mapped_bytes(path)
    return {name: Stored(as_array(content, first + entry.start, np.dtype(entry.dtype), entry.shape), entry.shape)
            for name, entry in sorted(entries.items())}
