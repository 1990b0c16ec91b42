"""Sending a job to processes: once for all of them, large arrays in memory that they share, memory maps as maps of their files."""

import io
import mmap
import os
import pickle
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import WorkerError

#: Arrays of fewer bytes are sent with the rest; more are put into memory that all workers map.
_SMALL = 1 << 16
#: Where buffers begin: at multiples of it.
ALIGNMENT = 64
#: How a memory map of a mode is opened once more.
_MODES = {"r": "r", "r+": "r+", "w+": "r+"}
CAN_SHARE = hasattr(os, "memfd_create")


class Parcel(NamedTuple):
    """A pickled object: its text, where its buffers lie in the memory `handle`, and that memory (None if there is none)."""

    text: bytes
    places: tuple
    handle: Any


class _Pickler(pickle.Pickler):
    """Sends a memory map as the name of its file."""

    def reducer_override(self, obj):
        # Only a map as it was opened has the offset and the shape of its file; one of mode "c" may hold what the file does not.
        is_whole = type(obj) is np.memmap and isinstance(obj.base, mmap.mmap) and obj.flags.c_contiguous
        if is_whole and obj.filename is not None and obj.mode in _MODES:
            return np.memmap, (obj.filename, obj.dtype, _MODES[obj.mode], obj.offset, obj.shape)
        return NotImplemented


def packed(obj):
    """`obj` as a parcel."""
    buffers = []

    def is_sent_along(buffer):
        if not CAN_SHARE or buffer.raw().nbytes < _SMALL:
            return True
        buffers.append(buffer.raw())
        return False

    stream = io.BytesIO()
    _Pickler(stream, 5, buffer_callback=is_sent_along).dump(obj)
    places, end = [], 0
    for buffer in buffers:
        places.append((end, buffer.nbytes))
        end += -(-buffer.nbytes // ALIGNMENT) * ALIGNMENT
    handle = None
    if buffers:
        handle = os.memfd_create("retrograde-data", os.MFD_CLOEXEC)
        os.posix_fallocate(handle, 0, end)
        with mmap.mmap(handle, end) as memory:
            for (start, size), buffer in zip(places, buffers, strict=True):
                memory[start : start + size] = buffer
    return Parcel(stream.getvalue(), tuple(places), handle)


def unpacked(text, places, handle):
    """What a parcel holds. Its arrays lie in the shared memory until they are written to: then a page is copied."""
    if not places:
        return pickle.loads(text)
    memory = memoryview(mmap.mmap(handle, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE))
    os.close(handle)
    return pickle.loads(text, buffers=[memory[start : start + size] for start, size in places])


def chosen(method, job):
    """(start method, parcel) for workers. A job that cannot be sent, or a script that cannot be loaded again, needs a fork."""
    if method == "fork":
        return method, None
    reason = _against_loading(method)
    parcel = None
    if reason is None:
        try:
            parcel = packed(job)
        except Exception as error:  # noqa: BLE001 - whatever it holds may be impossible to pickle
            reason = f"it cannot be pickled ({error})"
        else:
            if b"__main__" in parcel.text and _main_file() is None:
                reason = "it uses names of __main__, which is no file"
    if reason is None:
        return method or ("forkserver" if sys.platform == "linux" else "spawn"), parcel
    if method is None and sys.platform == "linux":
        return "fork", None
    raise WorkerError(f"the data set cannot be sent to processes: {reason}; define what it uses in a module, or use threads")


def _main_file():
    main = sys.modules["__main__"]
    return getattr(main, "__file__", None)


def _against_loading(method):
    """Why the main script cannot be loaded once more, as a process does that starts afresh; None if it can."""
    file = _main_file()
    if file is None or method is not None:
        return None
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "its script cannot be read"
    return None if "__name__" in text else 'its script has no `if __name__ == "__main__":`'
