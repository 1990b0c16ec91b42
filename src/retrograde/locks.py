"""Locks that a forked child can take: a thread that held one when its parent was forked is not there to let it go."""

import os
from threading import RLock
from typing import Any
from weakref import WeakSet

_LOCKS: WeakSet[Any] = WeakSet()


def forkable():
    """A lock that the thread which holds it may take again. In a forked child it is free, unless the thread that forked holds it.

    What it guards may be half done in the child, if another thread was at work on it.

    >>> with forkable():
    ...     print("held")
    held
    """
    lock = RLock()
    _LOCKS.add(lock)
    return lock


def _free():
    for lock in list(_LOCKS):
        if not lock._is_owned():  # noqa: SLF001 - as Python's own locks are freed in a child
            lock._at_fork_reinit()  # noqa: SLF001


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)
