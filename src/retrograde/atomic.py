"""Writing a file so that there is always a whole one: beside it first, then in its place."""

import os
import time
from contextlib import contextmanager, suppress

# A part older than this was left by a process that died.
_ABANDONED = 3600


@contextmanager
def replacing(path):
    """The path of a new file beside `path`, which takes its place on leaving; on an error it is deleted instead. It is text, or a
    Path, as `path` is.

    Whoever reads `path` sees the old file or the whole new one. After a power failure it may be damaged.
    """
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name}.{os.urandom(16).hex()}.part")
    try:
        yield path.__class__(part)
        os.replace(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


@contextmanager
def writing(path):
    """As `replacing`, and the new file is on the disk before it takes its place: for what cannot be made again."""
    _sweep(path)
    with replacing(path) as part:
        yield part
        _flush(part)
    _flush_folder(os.path.dirname(path) or os.curdir)


def _flush(path):
    """Wait until the contents of `path` are on the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _flush_folder(folder):
    """Wait until the names in `folder` are on the disk, where the system can tell."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sweep(path):
    """Delete what earlier processes left when they died while they wrote `path`."""
    folder, name = os.path.split(path)
    with suppress(OSError), os.scandir(folder or os.curdir) as entries:
        for entry in entries:
            if entry.name.startswith(f".{name}.") and entry.name.endswith(".part"):
                with suppress(OSError):
                    if time.time() - entry.stat().st_mtime > _ABANDONED:
                        os.unlink(entry)
