"""Links: delays that are put in between processes, to see on one machine what a network would cost."""

import os
import time
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import ArgumentError

_delay: ContextVar = ContextVar("link delay", default=None)


@contextmanager
def link_delay(seconds):
    """Within it, each collective of several processes takes so many seconds more, in which its process computes nothing; for
    measurements. `RETROGRADE_LINK_DELAY` in the environment says how many elsewhere.

    >>> with rg.distributed.link_delay(0.02):
    ...     rg.distributed.barrier()
    """
    token = _delay.set(_checked(seconds))
    try:
        yield
    finally:
        _delay.reset(token)


def delayed():
    """Wait as long as a link takes here."""
    found = _delay.get()
    found = _checked(os.environ.get("RETROGRADE_LINK_DELAY", "0")) if found is None else found
    if found:
        time.sleep(found)


def _checked(seconds):
    try:
        found = float(seconds)
    except (TypeError, ValueError):
        found = -1.0
    if not 0 <= found < float("inf"):
        raise ArgumentError(f"a link delay is a number of seconds of at least 0, got {seconds!r}")
    return found
