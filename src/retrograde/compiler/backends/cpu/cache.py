"""The cache of machine code on disk: a second process starts warm.

One file a piece of code, under the hash of all that the code depends on. An entry begins with a checksum of its name and of
the code that follows; one that does not match, damaged or that of another piece, is ignored and written anew. The folder
belongs to its user alone, or it is not used, since what is in it is executed.
"""

import hashlib
import os
import stat
import sys
import time
from contextlib import suppress

from ....atomic import replacing

#: The variable that names another folder; empty, it switches the cache off.
VARIABLE = "RETROGRADE_CACHE_DIR"
_MAGIC, _CHECKSUM = b"retrograde code 2\n", 32
#: Bytes above which the entries that were not used for longest are removed, down to three quarters.
_LIMIT = 256 * 1024 * 1024
_DAY = 86400


class Cache:
    """Machine code in the files of one folder; None as the folder keeps nothing."""

    def __init__(self, folder, limit=_LIMIT):
        self._folder, self._limit = folder, limit
        self._is_usable, self._writes = None, 0

    def get(self, name):
        """The code kept under `name`, or None."""
        if not self._usable():
            return None
        with suppress(OSError):
            return _read(os.path.join(self._folder, name))
        return None

    def put(self, name, code):
        """Keep `code` under `name`; a folder that cannot be written to is left alone."""
        if not self._usable():
            return
        with suppress(OSError):
            path = os.path.join(self._folder, name)
            with replacing(path) as part, os.fdopen(_created(part), "wb") as file:
                file.write(_MAGIC + _checksum(name, code) + code)
            # Also at the first write of a process: a short one writes fewer than that, and there may be many of them.
            if self._writes % 256 == 0:
                self._prune()
            self._writes += 1

    def _usable(self):
        if self._is_usable is None:
            self._is_usable = self._folder is not None and _is_private(self._folder)
        return self._is_usable

    def _prune(self):
        """Remove what was not used for longest, and what a writer that died has left."""
        entries = []
        with os.scandir(self._folder) as found:
            for entry in found:
                about = entry.stat()
                if entry.name.startswith(".") and time.time() - about.st_mtime > _DAY:
                    _remove(entry.path)
                entries.append((about.st_mtime, about.st_size, entry.path))
        total = sum(size for _, size, _ in entries)
        if total > self._limit:
            for _, size, path in sorted(entries):
                _remove(path)
                total -= size
                if total <= self._limit * 3 // 4:
                    break


def _created(path):
    """A new file that only its user can read or write, whatever is usual here: else it would not be trusted when it is read."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)


def _remove(path):
    with suppress(FileNotFoundError):
        os.unlink(path)


def _read(path):
    """The code in a file, or None if the file is not as it was written under its name."""
    # Not to wait for a FIFO, which is no entry.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    found = os.fstat(handle)
    if not _is_ours(found) or not stat.S_ISREG(found.st_mode):
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        data = file.read()
    start = len(_MAGIC) + _CHECKSUM
    if not data.startswith(_MAGIC) or _checksum(os.path.basename(path), data[start:]) != data[len(_MAGIC) : start]:
        return None
    # Once a day is enough to know what is used; each use would be a write.
    if time.time() - found.st_mtime > _DAY:
        os.utime(path)  # so that it is not the next to be removed
    return data[start:]


def _checksum(name, code):
    return hashlib.sha256(name.encode() + b"\n" + code).digest()


def _is_private(folder):
    """Whether a folder is there, or can be made, that nobody else can write to."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return _is_ours(os.stat(folder)) and os.access(folder, os.W_OK)
    except OSError:
        return False


def _is_ours(found):
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def default_cache():
    """The cache in the user's folder for caches, or where the environment says."""
    named, usual = os.environ.get(VARIABLE), _users_folder()
    if named is None and not os.path.isabs(usual):
        return Cache(None)  # nobody knows where this user's home is
    return Cache(os.path.join(usual, "retrograde", "code") if named is None else named or None)


def _users_folder():
    """The folder in which this system keeps a user's caches."""
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA") or os.path.expanduser(os.path.join("~", "AppData", "Local"))
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches")
    named = os.environ.get("XDG_CACHE_HOME", "")
    return named if os.path.isabs(named) else os.path.expanduser("~/.cache")
