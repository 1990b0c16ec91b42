"""Once: what a process has one of, however many threads ask for it first, and locks that its forked children can take."""

import os
from functools import wraps
from threading import RLock
from typing import Any
from weakref import WeakSet


def once(function):
    """`function`, which takes nothing, run on its first call; what it returned is given to all who ask.

    Threads that ask meanwhile wait. `functools.cache` would let each of them run it, and give each a result of its own.

    >>> @once
    ... def place():
    ...     return object()
    >>> place() is place()
    True
    """
    lock, made = forkable(), []

    @wraps(function)
    def given():
        if not made:
            with lock:
                if not made:
                    made.append(function())
        return made[0]

    return given


#: A thread that held one of them when its process was forked is not there to let it go.
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
