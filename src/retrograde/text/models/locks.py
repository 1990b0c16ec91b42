"""Locks between processes, which end with the process that holds them, however it ends."""

import os
import threading
import time
import weakref
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt


@contextmanager
def exclusively(file):
    """Hold the open `file` for the length of a `with` block; other processes wait."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
        return
    while True:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            break
        except OSError:
            time.sleep(0.01)
    try:
        yield
    finally:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]


_SHARED, _LOCK = weakref.WeakValueDictionary(), threading.Lock()


def key_locks(folder):
    """The KeyLocks of a folder, which all in this process share: closing any handle of its file would end the locks of all."""
    place = os.getpid(), os.path.realpath(folder)
    with _LOCK:
        found = _SHARED.get(place)
        if found is None:
            found = _SHARED[place] = KeyLocks(folder)
        return found


class KeyLocks:
    """Locks by key, in one file of a folder: of the processes that share it, one holds a key at a time. Made by `key_locks`.

    A key is a byte far out in the file, which stays empty; the locks are those of records (POSIX), which a process loses when it
    ends. Where the system has none, every process gets every key.
    """

    def __init__(self, folder):
        self._path, self._handle, self._lock = Path(folder) / "locks", None, threading.Lock()

    def take(self, key):
        """Whether this process has the lock of `key` now; it does not wait. `key` consists of hexadecimal digits."""
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._opened(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except BlockingIOError:
            return False
        return True

    def give_back(self, key):
        """Let others have `key`."""
        if fcntl is not None:
            fcntl.lockf(self._opened(), fcntl.LOCK_UN, 1, _place(key))

    def _opened(self):
        with self._lock:
            if self._handle is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
                weakref.finalize(self, os.close, self._handle)
            return self._handle


def _place(key):
    return int(key[:15], 16)
