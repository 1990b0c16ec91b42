"""The zip archive of PyTorch's files: members that are stored as they are, none on another's bytes, each with its checksum."""

import struct
import zipfile
import zlib
from collections import Counter
from typing import Any

import numpy as np

from ...errors import CheckpointError

#: A local header of a member: signature, flags and sizes, and the lengths of the name and of the extra field.
_LOCAL = struct.Struct("<4s22xHH")
#: PyTorch pads the extra field so that members start here, in a field of this name.
ALIGNMENT, _PADDING = 64, 0x4246
_BLOCK = 1 << 20
#: Letters of a name, at most: PyTorch's are a folder and a number.
_LONGEST = 200
_DAMAGES = (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, EOFError, OverflowError, IndexError)


class Archive:
    """The members of a file that is open for reading, by their names. Nothing is unpacked: what is read is in the file."""

    def __init__(self, file):
        self._file = file
        try:
            with zipfile.ZipFile(file) as archive:
                infos, end = archive.infolist(), archive.start_dir
        except _DAMAGES as error:
            raise CheckpointError(f"the file is no zip archive, or a damaged one: {error}") from None
        self._members = {info.orig_filename: (info, self._start(info)) for info in infos}
        if len(self._members) < len(infos):
            name, _ = Counter([info.orig_filename for info in infos]).most_common(1)[0]
            raise CheckpointError(f"the file has two members of the name {name!r}")
        self._check_apart(end)

    def __contains__(self, name):
        return name in self._members

    @property
    def names(self):
        """The names of all members."""
        return [*self._members]

    def size(self, name):
        """The bytes of a member."""
        return self._members[name][0].file_size

    def read(self, name):
        """The bytes of a member as an array that may be written to."""
        info, start = self._members[name]
        found = np.empty(info.file_size, np.uint8)
        view, checksum = memoryview(found), 0
        self._file.seek(start)
        for first in range(0, len(view), _BLOCK):
            part = self._file.read(min(_BLOCK, len(view) - first))
            if len(part) != min(_BLOCK, len(view) - first):
                raise CheckpointError(f"the file ends within its member {name}")
            view[first : first + len(part)] = part
            checksum = zlib.crc32(part, checksum)
        # PyTorch writes 0 where it was told to compute no checksums.
        if info.CRC not in (0, checksum):
            raise CheckpointError(f"the member {name} is damaged: its checksum is {checksum:#010x}, and should be {info.CRC:#010x}")
        return found

    def mapped(self, name, path):
        """The bytes of a member as a private map of the file at `path`: read when they are used, and not compared with their
        checksum. What is written to them stays in memory.
        """
        info, start = self._members[name]
        if not info.file_size:
            return np.empty(0, np.uint8)
        return np.asarray(np.memmap(path, np.uint8, "c", start, info.file_size))

    def _start(self, info):
        """Where the bytes of a member start; raises unless they are stored as they are."""
        name = info.orig_filename
        if info.header_offset < 0 or len(name) > _LONGEST:
            raise CheckpointError(f"the file is damaged: its directory has {name[:_LONGEST]!r} at byte {info.header_offset}")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
            raise CheckpointError(f"the member {name!r} is compressed or encrypted, which torch.save never does; write the file "
                                  "anew with torch.save")
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL.size)
        if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
            raise CheckpointError(f"the file is damaged: there is no member {name!r} where its directory says")
        _, length, extra = _LOCAL.unpack(header)
        if self._file.read(length) != name.encode("utf-8" if info.flag_bits & 0x800 else "cp437"):
            raise CheckpointError(f"the file is damaged: the member {name!r} has another name in its place")
        return info.header_offset + _LOCAL.size + length + extra

    def _check_apart(self, end):
        """Raise unless all members lie one after another, before the directory at `end`."""
        places = sorted([(info.header_offset, start + info.file_size, name) for name, (info, start) in self._members.items()])
        for (_, stop, name), (start, *_) in zip(places, [*places[1:], (end, end)], strict=True):
            if stop > start:
                raise CheckpointError(f"the member {name!r} reaches into what follows it in the file")


def write(file, members):
    """Write (name, bytes) pairs to an open file, each where PyTorch may map it."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            size = memoryview(content).nbytes
            info.file_size = size
            # zipfile puts a field of its own, of 20 bytes, before members that need 64 bits.
            wide = 20 if size * 1.05 > zipfile.ZIP64_LIMIT else 0
            written: Any = archive.fp  # which is open while members are added
            start = written.tell() + 30 + len(name.encode()) + wide + 4
            padding = -start % ALIGNMENT
            info.extra = struct.pack("<HH", _PADDING, padding) + b"Z" * padding
            with archive.open(info, "w") as member:
                member.write(content)
