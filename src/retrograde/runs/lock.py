"""The lock of a run: one training at a time saves into a folder, and whoever comes meanwhile is told which process that is."""

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..atomic import lock, unlock
from ..errors import CheckpointError
from ..process import is_running, myself
from .folder import claimed

#: The file that is locked, beside the checkpoints.
NAME = "training.lock"
#: The most bytes that are read of it.
_LONGEST = 4096


class Holder(NamedTuple):
    """Who trains: the name of a process, and since when."""

    process: tuple
    since: str


class RunLock:
    """The lock of the folder of a run. It is a lock of the system (flock) on a file that says who has it.

    The system ends such a lock with the process, so that what a killed one leaves is free; over NFS it does so when the machine's
    lease has run out. Two cases are decided by what the file says: a child that a killed process has forked keeps the lock of its
    parent, and some file systems have no locks. There a holder that is known to have ended is replaced, and one on another machine
    counts as running. Systems without `flock` (Windows) lock nothing.
    """

    def __init__(self, path):
        self._path, self._file = Path(path), Path(path) / NAME
        self._handle: Any = None
        self._process = 0

    def acquire(self):
        """Take the lock, or raise a CheckpointError that says who has it. It may be taken again by the process that has it."""
        if self._handle is not None and self._process != os.getpid():
            os.close(self._handle)  # that of the process which forked this one, and keeps its lock
            self._handle = None
        if self._handle is None and os.name == "posix":
            # Whoever looks at the file, or replaces it, is alone with it.
            with claimed(self._path):
                self._handle, self._process = self._taken(), os.getpid()

    def release(self):
        """Let others have it; nothing is left of it."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        if self._process == os.getpid():
            with suppress(OSError):
                # While it is locked: who has opened it meanwhile sees that it is gone.
                if os.path.samestat(os.fstat(handle), self._file.stat()):
                    self._file.unlink()
            unlock(handle)
        os.close(handle)

    def _taken(self):
        """The handle of the file, once it is locked."""
        while True:
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                is_locked = lock(handle, self._file, waits=False)
                holder = None if is_locked else _holder(handle)
                is_gone = holder is not None and is_running(holder.process) is False
                if is_locked or is_locked is None and (holder is None or is_gone):
                    _write(handle)
                    handle, made = None, handle
                    return made
                if is_gone:
                    self._file.unlink(missing_ok=True)
                elif self._is_there(handle):
                    raise CheckpointError(self._told(holder, is_locked is None))
            finally:
                if handle is not None:
                    os.close(handle)

    def _is_there(self, handle):
        """Whether the file that was opened is still that of the run: its holder may have ended, and deleted it."""
        try:
            return os.path.samestat(os.fstat(handle), self._file.stat())
        except FileNotFoundError:
            return False

    def _told(self, holder, is_guess):
        who = "another process" if holder is None else _words(*holder)
        hint = f"; if that has ended, delete {self._file}" if is_guess else ""
        return (f"{who} is training into {self._path}, where one training at a time can save; wait for its end, or save into "
                f"another folder{hint}")


def _words(process, since):
    machine, number, _ = process
    return f"{'this process' if process == myself() else 'process'} {number} on {machine}, since {since},"


def _write(handle):
    content = {"process": myself(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(content).encode(), 0)


def _holder(handle):
    """Who a file says has it; None if it says nothing."""
    try:
        content = json.loads(os.pread(handle, _LONGEST, 0))
        machine, number, began = content["process"]
        return Holder((str(machine), int(number), int(began)), str(content["since"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
