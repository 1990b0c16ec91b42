"""Patience: how long a process waits for the others, and how it waits."""

import os
import time

from .seconds import Seconds

#: How often is looked at once, then with a place in the queue given up each time, then with ever longer sleeps between.
_LOOKS, _YIELDS, _LONGEST = 50, 2000, 0.002
#: Whoever has to end the others within 30 s needs some for that too.
_seconds = Seconds("patience", "RETROGRADE_PATIENCE", 25.0, lambda x: x > 0, "above 0")


def patience(seconds):
    """Within it, `seconds` pass before a process that has not come is given up, and the others end with an error; usually 25.

    `RETROGRADE_PATIENCE` in the environment says how long it is elsewhere.

    >>> with rg.distributed.patience(300):  # while process 0 writes what is large
    ...     rg.distributed.barrier()
    """
    return _seconds.within(seconds)


def seconds_of_patience():
    """How long it is here."""
    return _seconds.here()


def waited(is_done, seconds, sleeps=True):
    """Wait until `is_done()`, at most so many seconds; whether it came. Others get the core meanwhile, as there may be fewer cores
    than processes.

    sleeps  whether to sleep in a long wait; not so where `is_done` itself brings the work on, as that of MPI does with messages
    """
    end, looks, pause = None, 0, 0.0001
    while not is_done():
        looks += 1
        if looks < _LOOKS:
            continue
        if end is None:
            end = time.monotonic() + seconds
        elif time.monotonic() > end:
            return False
        if looks < _YIELDS or not sleeps:
            os.sched_yield()
        else:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)
    return True
