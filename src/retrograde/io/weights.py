"""Weights in files: dictionaries of tensors as safetensors, which PyTorch, JAX and others read and write too."""

from pathlib import Path

import numpy as np

from ..atomic import writing
from ..errors import CheckpointError
from ..tensor.creation import asarray
from ..tensor.tensor import Tensor
from .bounded import opened, refused
from .tensor_file import read_array, read_header, storable, write


def save(weights, path, metadata=None):
    """Write the tensors of a module, or of a dictionary of tensors or arrays, to a safetensors file at `path`.

    The file is written beside `path` and renamed when it is whole and on the disk, so that `path` always holds either the
    old file or the new one. Where `path` is a link, the file that it leads to is replaced; a file keeps its mode. A tensor under
    several names is written under each. `metadata` is a dictionary of strings. To save all of a training, see `rg.save_run`.

    >>> rg.save({"w": rg.ones(2)}, "weights.safetensors")
    >>> rg.load("weights.safetensors")
    {'w': tensor([1., 1.])}
    """
    state = weights.state_dict() if hasattr(weights, "state_dict") else weights
    arrays = {_named(name): storable(name, _array(name, value)) for name, value in state.items()}
    _check_metadata(metadata)
    try:
        with writing(Path(path)) as part, part.open("wb") as file:
            write(file, arrays, metadata)
    except OSError as error:
        raise refused(path, "written", error) from error


def load(path):
    """The tensors in the safetensors file at `path`, by name; pass them to `module.load_state_dict`.

    Raises a CheckpointError that says what is wrong if the file is not there, damaged, or of another kind.

    >>> model.load_state_dict(rg.load("weights.safetensors"))  # doctest: +SKIP
    """
    with opened(path) as (file, size):
        entries, first = read_header(path, file, size)
        return {name: Tensor(read_array(path, name, file, first, entries[name])) for name in sorted(entries)}


def _named(name):
    if not isinstance(name, str):
        raise CheckpointError(f"weights are saved under names, got the key {name!r}")
    return name


def _array(name, value):
    if isinstance(value, (dict, list, tuple)):
        raise CheckpointError(f"weights are tensors or arrays by name, got {name!r} with a {type(value).__name__}; a model with "
                              "its optimizer, and all else of a training, is saved by rg.save_run")
    return np.asarray(asarray(value).detach().to("cpu").raw)


def _check_metadata(metadata):
    texts = [text for pair in metadata.items() for text in pair] if isinstance(metadata, dict) else [metadata]
    if metadata is not None and not all([isinstance(text, str) for text in texts]):
        raise CheckpointError(f"metadata is a dictionary of strings, got {metadata!r}")
