"""`torch.save`: a file that `torch.load` reads, here and in PyTorch with `weights_only=True`."""

import os
import sys
from hashlib import sha256
from pathlib import Path

from ...atomic import writing
from ...errors import ArgumentError
from .archive import ALIGNMENT, write
from .pickling import Pickler

#: The version of the format that is written, which all PyTorch since 1.6 read.
_VERSION = b"3\n"


def save(obj, f, pickle_module=None, pickle_protocol=2):
    """Write tensors, parameters and plain containers to a file that PyTorch reads too.

    f  a path, or a file that is open for writing bytes. A file at a path is written beside it and takes its place when it is whole
       and on the disk

    Tensors that share memory share it in the file, where each stretch of memory that they cover stands once. Numbers of NumPy
    become those of Python. Modules and optimizers are saved by their `state_dict()`. The file is a pickle of protocol 2, whatever
    `pickle_protocol` is.

    >>> import io
    >>> import retrograde.torch as torch
    >>> file, x = io.BytesIO(), torch.zeros(2, 3)
    >>> torch.save([x, x[0]], file)
    >>> x, row = torch.load(io.BytesIO(file.getvalue()))
    >>> _ = x.fill_(1.0)
    >>> row
    tensor([1., 1., 1.])
    """
    if pickle_module is not None and pickle_module.__name__ != "pickle":
        raise ArgumentError("torch.save writes files without the pickle module, and so takes no pickle_module; leave it out")
    pickler = Pickler(obj)
    if isinstance(f, (str, bytes, os.PathLike)):
        path = Path(os.fsdecode(f))
        with writing(path) as part, part.open("wb") as file:
            write(file, _members(pickler, path.stem))
    elif hasattr(f, "write"):
        write(f, _members(pickler, "archive"))
    else:
        raise ArgumentError(f"torch.save takes a path, or a file that is open for writing, got {type(f).__name__}")


def _members(pickler, folder):
    """(name, bytes) of all members, in PyTorch's order."""
    identity = sha256(pickler.content)
    yield f"{folder}/data.pkl", pickler.content
    yield f"{folder}/.format_version", b"1"
    yield f"{folder}/.storage_alignment", str(ALIGNMENT).encode()
    yield f"{folder}/byteorder", sys.byteorder.encode()
    for stretch in pickler.storages:
        content = memoryview(stretch.content())
        identity.update(content)
        yield f"{folder}/data/{stretch.key}", content
    yield f"{folder}/version", _VERSION
    yield f"{folder}/.data/serialization_id", str(int(identity.hexdigest(), 16) % 10**40).zfill(40).encode()

