"""Once: what a process has one of, however many threads ask for it first."""

from functools import wraps

from .locks import forkable


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
