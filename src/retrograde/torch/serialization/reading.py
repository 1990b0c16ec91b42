"""`torch.load`: the containers and tensors of a file that `torch.save` wrote, here or in PyTorch."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path

from ...errors import ArgumentError, CheckpointError
from ..devices import placed
from .archive import Archive
from .arrays import ArrayType
from .contents import objects
from .formats import CLASSES
from .machine import Machine
from .names import Name, called, named, updated
from .rebuilding import Storage, swapped

#: The first bytes of files before PyTorch 1.6: a pickle of a number, and the name of a member of a tar archive at its place.
_PICKLED, _TAR, _AT = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", b"ustar", 257
#: The newest version of the format that is known.
_NEWEST = 10


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, **pickle_load_args):
    """The object in a file that `torch.save` wrote, here or in PyTorch: tensors, parameters and plain containers.

    f             a path, or a file that is open for reading bytes and can be searched
    map_location  where tensors go that were on other devices; there is one place, the CPU, where all go without it too
    weights_only  only True: no code of a file is ever run
    mmap          whether storages stay in the file, at a path, until they are used; then their checksums are not compared

    Tensors that shared memory share it. Raises a CheckpointError that says what is wrong with a file.

    >>> import io
    >>> import retrograde.torch as torch
    >>> file = io.BytesIO()
    >>> torch.save({"epoch": 3, "weight": torch.ones(2)}, file)
    >>> torch.load(io.BytesIO(file.getvalue()))
    {'epoch': 3, 'weight': tensor([1., 1.])}
    """
    if weights_only is False:
        raise ArgumentError("torch.load runs no code that a file brings, and so has no weights_only=False; leave it out, and save "
                            "tensors and plain containers, such as model.state_dict()")
    if pickle_module is not None:
        raise ArgumentError("torch.load reads files without the pickle module, and so takes no pickle_module; leave it out")
    if pickle_load_args.keys() - {"encoding"}:
        raise TypeError(f"torch.load() got an unexpected keyword argument {next(iter(pickle_load_args))!r}")
    path = os.fspath(f) if isinstance(f, (str, bytes, os.PathLike)) else None
    if mmap and path is None:
        raise ArgumentError("torch.load with mmap=True needs the path of a file")
    if path is None and not (hasattr(f, "read") and hasattr(f, "seek")):
        raise ArgumentError(f"torch.load takes a path, or a file that can be searched, got {type(f).__name__}; for a stream "
                            "write torch.load(io.BytesIO(stream.read()))")
    with nullcontext(f) if path is None else Path(os.fsdecode(path)).open("rb") as file:
        return _Reader(file, map_location, path if mmap else None).object()


class _Reader:
    def __init__(self, file, map_location, path):
        _check_kind(file)
        self._archive, self._map_location, self._path = Archive(file), map_location, path
        self._prefix, self._storages = _prefix(self._archive), {}
        # Files of before PyTorch 2.1 do not say it.
        order = self._text("byteorder", "little")
        if order not in ("little", "big"):
            raise CheckpointError(f"the file has the order of bytes {order!r}, which must be little or big")
        self._is_swapped = order != sys.byteorder
        version = self._text("version", "1")
        if not version.isdecimal() or len(version) > 3 or int(version) > _NEWEST:
            raise CheckpointError(f"the file has version {version[:20]!r} of the format; versions up to {_NEWEST} are known")

    def _text(self, name, default):
        """The text of a short member."""
        name = self._prefix + name
        if name not in self._archive:
            return default
        if self._archive.size(name) > 100:
            raise CheckpointError(f"the member {name} is longer than it may be")
        return self._archive.read(name).tobytes().decode("ascii", "replace").strip()

    def object(self):
        """What the file holds."""
        pickled = self._archive.read(f"{self._prefix}data.pkl").tobytes()
        found = Machine(named, called, updated, self._storage).run(pickled)
        for part in objects(found):
            if isinstance(part, (Name, Storage, ArrayType)):
                what = "a storage without a tensor" if isinstance(part, Storage) else part.name
                raise CheckpointError(f"the file has {what} among its contents, which is no tensor or plain object")
        return found

    def _storage(self, identity):
        """The storage that an identity of five parts names; its member must have as many bytes as that says."""
        if type(identity) is not tuple or len(identity) != 5 or identity[0] != "storage":
            raise CheckpointError("data.pkl refers to something outside of it that is no storage")
        _, kind, key, location, count = identity
        kind = kind.name.removeprefix("torch.") if type(kind) is Name else ""
        if type(key) is not str or type(location) is not str or type(count) is not int or (
                kind not in CLASSES and kind != "storage.UntypedStorage"):
            raise CheckpointError("data.pkl refers to a storage without saying its type, key, place and size")
        _check_location(self._map_location, location)
        dtype = CLASSES.get(kind)
        found = self._storages.get(key)
        if found is None:
            found = self._storages[key] = Storage(self._content(key, dtype, count), dtype)
        width = 1 if dtype is None else dtype.itemsize
        if found.dtype != dtype or len(found.content) != count * width:
            raise CheckpointError(f"data.pkl says two things of storage {key!r}")
        return found

    def _content(self, key, dtype, count):
        name = f"{self._prefix}data/{key}"
        if name not in self._archive:
            raise CheckpointError(f"the file has no storage {key[:100]!r}, which a tensor needs")
        width = 1 if dtype is None else dtype.itemsize
        if self._archive.size(name) != count * width:
            raise CheckpointError(f"storage {key!r} has {self._archive.size(name)} bytes, and should have {count} elements of "
                                  f"{width} bytes")
        content = self._archive.read(name) if self._path is None else self._archive.mapped(name, self._path)
        if dtype is not None and dtype.kind == "b" and content.size and content.max() > 1:
            content = (content != 0).view("uint8")
        if self._is_swapped and width > 1:
            return swapped(content, dtype)
        if self._is_swapped and dtype is None:
            raise CheckpointError("the file was written on a machine of another order of bytes, and does not say which of its "
                                  "tensors it concerns; write it anew on a machine like this one")
        return content


def _check_kind(file):
    """Raise for files that are of an older format, or of none of PyTorch's."""
    start = file.tell()
    head = file.read(_AT + len(_TAR))
    file.seek(start)
    if not isinstance(head, bytes):
        raise ArgumentError("torch.load takes a file that is open for bytes; open it with open(path, 'rb')")
    if not head:
        raise CheckpointError("the file is empty, or was read to its end; go to its start with file.seek(0)")
    if head.startswith(_PICKLED) or head[_AT:] == _TAR:
        kind = "before version 1.6" if head.startswith(_PICKLED) else "before version 0.2"
        raise CheckpointError(f"the file is of the format that PyTorch wrote {kind}, which is a row of pickles; read it in PyTorch "
                              "and write it again with torch.save, whose format is a zip archive now")
    if not head.startswith(b"PK"):
        raise CheckpointError("the file is none that torch.save wrote, which is a zip archive; safetensors files are read by "
                              "rg.load")


def _prefix(archive):
    """What the names of members start with: the folder of data.pkl."""
    found = [name for name in archive.names if name.count("/") == 1 and name.endswith("/data.pkl")]
    if len(found) != 1:
        raise CheckpointError("the zip archive is none that torch.save wrote: it has no data.pkl, or several")
    prefix = found[0].removesuffix("data.pkl")
    if f"{prefix}constants.pkl" in archive or any([name.startswith(f"{prefix}code/") for name in archive.names]):
        raise CheckpointError("the file is a program of TorchScript, which is code; save model.state_dict() with torch.save")
    return prefix


def _check_location(map_location, location):
    """Raise if what was on the device `location` is wanted on one that there is not."""
    if isinstance(map_location, dict):
        map_location = map_location.get(location)
    if map_location is not None and not callable(map_location):
        placed(map_location)
