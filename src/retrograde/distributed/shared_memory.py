"""Shared memory: memory of each process of a group that the others read and write too, where all are on one machine."""

import mmap
import os
from contextlib import suppress

import numpy as np

_TOKEN = 16


#: The bytes of each process. They are taken from the system as they are first used.
_BYTES = 2**32


def shared_rows(group):
    """The memory of each process, which is zero, and which all of the group call alike; none where not all see all.

    They are anonymous files, so that nothing is left of processes that die.
    """
    token, mine, fd = os.urandom(_TOKEN), None, -1
    with suppress(OSError, AttributeError):  # where there are no such files
        fd = os.memfd_create("retrograde")
        os.ftruncate(fd, _BYTES + _TOKEN)
        mine = mmap.mmap(fd, _BYTES + _TOKEN)
        mine[_BYTES:] = token
    told = b"%d %d " % (os.getpid(), fd) + token if mine is not None else b""
    rows = [_seen(one) if rank != group.rank else mine
            for rank, one in enumerate(group.contents(told, "the memory of sums"))]
    seen = b"%d" % all([row is not None for row in rows])
    is_shared = b"0" not in group.contents(seen, "whether memory is shared")
    if fd >= 0:
        os.close(fd)
    return [np.frombuffer(row, np.uint8, _BYTES) for row in rows if row is not None] if is_shared else []


def _seen(told):
    """The memory that another process tells of; None where it is not of this machine."""
    if not told:
        return None
    pid, fd, token = told.split(b" ", 2)
    with suppress(OSError, ValueError):
        other = os.open(f"/proc/{int(pid)}/fd/{int(fd)}", os.O_RDWR)
        try:
            row = mmap.mmap(other, _BYTES + _TOKEN)
        finally:
            os.close(other)
        # The same number may be that of another process, in another container or on another machine.
        if row[_BYTES:] == token:
            return row
    return None
