"""Writes: the version of every buffer that has been written to in place since records may have saved it."""

import weakref

from ..errors import InplaceError
from .value import tick

# The time of the last write to a buffer, by the identity of its owner. Empty until somebody writes in place.
WRITTEN = {}


# What will read a buffer later, by the identity of the buffer's owner. Each has `keep()`, which makes it take a copy. Empty
# until somebody is lazy.
READERS = {}


def before(algebra, data):
    """Let whoever is still to read the memory of `data` keep what it holds now, since it is about to be written to."""
    if READERS:
        for reference in tuple(READERS.pop(id(algebra.owner(data)), ())):
            if (reader := reference()) is not None:
                reader.keep()


def stamp(algebra, data):
    """Note that the memory of `data` has been written to now."""
    key, reference = entry(algebra, data)
    WRITTEN[key] = (tick(), reference)


def stamp_all(entries):
    """Note that the memory has been written to now for which `entry` gave these `entries`."""
    now = tick()
    for key, reference in entries:
        WRITTEN[key] = now, reference


def entry(algebra, data):
    """The key of the memory of `data` in `WRITTEN`, and a reference that takes it out when the memory is freed."""
    owner = algebra.owner(data)
    key = id(owner)
    return key, weakref.ref(owner, lambda _: WRITTEN.pop(key, None))


def check_fresh(record):
    """Raise an InplaceError if a rule of `record` would read an array that was written to after it was saved."""
    algebra = record.algebra
    groups = (record.saved,) if record.op.joint is not None else record.saved
    for group in groups:
        for saved in group or ():
            if isinstance(saved, algebra.native) and saved is not None:
                written = WRITTEN.get(id(algebra.owner(saved)))
                if written is not None and written[0] > record.order:
                    raise InplaceError(
                        f"the gradient of {record.op.name} reads an array of shape {saved.shape} that was written to in "
                        "place after the op ran; write `x = x + y` instead of `x += y`, or write before the op"
                    )
