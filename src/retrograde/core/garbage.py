"""Garbage: a rest for Python's collector while many objects are made, none of which is garbage."""

import gc
from contextlib import contextmanager


@contextmanager
def uncollected():
    """Let nothing be collected meanwhile. Python would look through a growing graph again and again, in vain, for up to half
    of the time that it takes to compile it.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
