"""The two files of a checkpoint: `run.json` says what there is, `tensors.safetensors` holds the numbers.

The description has a checksum of each tensor, and one of itself.
"""

import hashlib
import json
import math
import os
from pathlib import Path

from ..errors import CheckpointError
from ..io.bounded import is_modest, opened, parsed
from ..io.tensor_file import as_bytes, read_array, read_header, write
from .values import decode

DESCRIPTION, TENSORS = "run.json", "tensors.safetensors"
#: The version of the format that is written, and the latest that is read.
_FORMAT, _VERSION = "retrograde run", 1


def write_files(folder, content, arrays):
    """Write a checkpoint into an empty folder; all of it is on the disk when this returns."""
    content = {**content, "tensors": {name: _facts(array) for name, array in arrays.items()}}
    text = _canonical(content)
    if not is_modest(text, len(text) + sum([array.nbytes for array in arrays.values()])):
        raise CheckpointError("the run has very many small values, which take long to load; pass long lists of numbers as arrays")
    whole = {"format": _FORMAT, "version": _VERSION, "sha256": hashlib.sha256(text).hexdigest(), "content": content}
    with (folder / TENSORS).open("wb") as file:
        write(file, arrays)
        _flush(file)
    with (folder / DESCRIPTION).open("wb") as file:
        file.write(json.dumps(whole, separators=(",", ":"), ensure_ascii=True).encode())
        _flush(file)


def _flush(file):
    file.flush()
    os.fsync(file.fileno())


def _facts(array):
    return {"dtype": array.dtype.name, "shape": list(array.shape), "sha256": _digest(array)}


def _digest(array):
    return hashlib.sha256(as_bytes(array)).hexdigest()


def _canonical(content):
    """The text that the checksum of a description is of."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def described(folder):
    """The content of the description in a checkpoint's folder, once its checksum is right."""
    path = Path(folder) / DESCRIPTION
    with opened(path) as (file, size):
        try:
            room = size + (Path(folder) / TENSORS).stat().st_size
        except OSError:
            room = size
        whole = parsed(path, file.read(), room)
    if not isinstance(whole, dict) or whole.get("format") != _FORMAT:
        raise CheckpointError(f"{path} is no description of a run")
    version, content = whole.get("version"), whole.get("content")
    if version != _VERSION:
        raise CheckpointError(f"{path} is of version {version!r}, and this retrograde reads version {_VERSION}; update it")
    if not isinstance(content, dict) or hashlib.sha256(_canonical(content)).hexdigest() != whole.get("sha256"):
        raise CheckpointError(f"{path} is damaged: its checksum is not that of its content")
    if not {"parts", "generators", "tensors", "step", "metric"} <= content.keys() or not _is_metric(content["metric"]):
        raise CheckpointError(f"{path} lacks what a description of a run has")
    return content


def _is_metric(value):
    return value is None or isinstance(value, (int, float)) and math.isfinite(value)


def read_files(folder):
    """(parts, generators) by name of the checkpoint in a folder; a CheckpointError if a bit of it is not as it was written."""
    content = described(folder)
    arrays = _read_arrays(Path(folder) / TENSORS, content["tensors"])
    try:
        return _decoded(content["parts"], arrays), _decoded(content["generators"], arrays)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError, OverflowError) as error:
        raise CheckpointError(f"{Path(folder) / DESCRIPTION} describes what cannot be: {type(error).__name__}: {error}") from None


def _decoded(parts, arrays):
    return {name: decode(part, arrays) for name, part in parts.items()}


def _read_arrays(path, facts):
    with opened(path) as (file, size):
        entries, first = read_header(path, file, size)
        if not isinstance(facts, dict) or entries.keys() != facts.keys():
            raise CheckpointError(f"{path} does not hold the tensors that the description names")
        arrays = {}
        for name, entry in entries.items():
            array = read_array(path, name, file, first, entry)
            if facts[name] != _facts(array):
                raise CheckpointError(f"{path}: {name} is damaged: its checksum is not that of its numbers")
            arrays[name] = array
    return arrays
