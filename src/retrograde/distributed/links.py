"""Links: delays that are put in between processes, to see on one machine what a network would cost."""

import time
from math import inf

from .seconds import Seconds

_delay = Seconds("a link delay", "RETROGRADE_LINK_DELAY", 0.0, lambda x: 0 <= x < inf, "of at least 0, and finite")


def link_delay(seconds):
    """Within it, each collective of several processes takes so many seconds more, in which its process computes nothing; for
    measurements. `RETROGRADE_LINK_DELAY` in the environment says how many elsewhere.

    >>> with rg.distributed.link_delay(0.02):
    ...     rg.distributed.barrier()
    """
    return _delay.within(seconds)


def seconds_of_delay():
    """How long it is here."""
    return _delay.here()


def delayed():
    """Wait as long as a link takes here."""
    if found := seconds_of_delay():
        time.sleep(found)
