"""Garbage: a rest for Python's collector while many objects are made, none of which is garbage."""

import gc
from contextlib import contextmanager


@contextmanager
def uncollected():
    """Let nothing be collected meanwhile. Python would look through a growing graph again and again, in vain, for up to half
    of the time that it takes to compile it. What is left in the end counts as old, or all of it would be looked through at once.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            _age()
            gc.enable()


def _age():
    """Count all objects as old, as those are that many collections have met; unless some are frozen, as who froze them wants."""
    if hasattr(gc, "freeze") and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
