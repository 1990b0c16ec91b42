"""Writing a file so that there is always a whole one: beside it first, then in its place."""

import os
import time
from contextlib import contextmanager, suppress
from typing import Any

fcntl: Any = None
with suppress(ImportError):  # Windows has no such locks
    import fcntl

# Where files cannot be locked, a part older than this was left by a process that died.
_ABANDONED = 3600


@contextmanager
def replacing(path):
    """The path of a new file beside `path`, which takes its place on leaving; on an error it is deleted instead. It is text, or a
    Path, as `path` is.

    Whoever reads `path` sees the old file or the whole new one. After a power failure it may be damaged.
    """
    part = _part_of(path)
    with _becoming(part, path):
        yield path.__class__(part)


@contextmanager
def writing(path):
    """As `replacing`, and the new file is on the disk before it takes its place: for what cannot be made again.

    A link stays, and the file that it leads to is replaced; a file keeps its mode.
    """
    path = path.__class__(os.path.realpath(path))
    _sweep(path)
    part = _part_of(path)
    with _claimed(part), _becoming(part, path):
        with suppress(FileNotFoundError):
            os.chmod(part, os.stat(path).st_mode & 0o7777)
        yield path.__class__(part)
        flush(part)
    flush_folder(os.path.dirname(path) or os.curdir)


def _part_of(path):
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{os.urandom(16).hex()}.part")


@contextmanager
def _becoming(part, path):
    """On leaving `part` takes the place of `path`; on an error it is deleted."""
    try:
        yield
        os.replace(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


@contextmanager
def locked(path, flags=os.O_RDONLY, waits=True):
    """Whether the file or folder at `path` could be locked, for as long as this lasts: not if somebody else has locked it, or
    deleted it meanwhile. A process that ends, however it does, lets go. None where the system has no such locks.
    """
    handle = None if fcntl is None else os.open(path, flags, 0o666)
    try:
        yield None if handle is None else lock(handle, path, waits)
    finally:
        if handle is not None:
            unlock(handle)
            os.close(handle)


def lock(handle, path, waits):
    """Whether the open file at `path` could be locked until `unlock`; as `locked` tells it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # some file systems have none
        return None


def unlock(handle):
    """End the lock of an open file. Closing it would not: a child that was forked meanwhile has the handle too."""
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def _claimed(part):
    """Within it a new file `part` is seen to be in use."""
    is_mine = False
    while is_mine is False:  # swept before it was locked
        with locked(part, os.O_RDWR | os.O_CREAT) as is_mine:
            if is_mine is not False:
                yield


def flush(path):
    """Wait until the contents of `path` are on the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def flush_folder(folder):
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
                    _delete_if_abandoned(entry)


def _delete_if_abandoned(entry):
    with locked(entry.path, waits=False) as is_free:
        if is_free is None:
            is_free = time.time() - entry.stat().st_mtime > _ABANDONED
        if is_free:
            os.unlink(entry.path)
