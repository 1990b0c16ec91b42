"""Writing a file so that there is always a whole one: beside it first, then in its place."""

import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

# A part older than this was left by a process that died.
_ABANDONED = 3600


@contextmanager
def replacing(path):
    """The path of a new file beside `path`, which takes its place on leaving; on an error it is deleted instead.

    Whoever reads `path` sees the old file or the whole new one. After a power failure it may be damaged.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        yield part
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def writing(path):
    """As `replacing`, and the new file is on the disk before it takes its place: for what cannot be made again."""
    path = Path(path)
    _sweep(path)
    with replacing(path) as part:
        yield part
        _flush(part)
    _flush_folder(path.parent)


def _flush(path):
    """Wait until the contents of `path` are on the disk."""
    with path.open("rb+") as file:
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
    for part in path.parent.glob(f".{path.name}.*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _ABANDONED:
                part.unlink()
