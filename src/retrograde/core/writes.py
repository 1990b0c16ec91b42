"""Writes: the version of every buffer that has been written to in place since records may have saved it."""

import weakref

from ..errors import InplaceError
from ..once import forkable
from .value import tick

# [the time of the last write to a buffer, a reference to its owner], by the identity of that. Empty until somebody writes in place.
WRITTEN = {}
#: The time of the last write of all, which only grows: what was recorded after it read nothing that was written to since.
LATEST, _CLOCK = [0], forkable()


# What will read a buffer later, by the identity of the buffer's owner. Each has `keep()`, which makes it take a copy. Empty
# until somebody is lazy.
READERS = {}


# The records that keep a buffer for their way back and can keep a copy as well: references, by the identity of the buffer's owner.
KEPT = {}
#: How many entries `KEPT` may have before those are dropped whose records are gone.
_most_kept = [64]


# What the engine writes to in the place of data that NumPy may not write to now, by the identity of that. Empty until a function is
# traced.
FROZEN = {}


def into(data):
    """What to write to in the place of `data`: itself, unless a trace, maybe of another thread, holds it fast."""
    return FROZEN.get(id(data), data) if FROZEN else data


def check_writeable(data):
    """Raise an InplaceError if nobody may write to the memory of `data`."""
    if not getattr(getattr(into(data), "flags", None), "writeable", True):
        raise InplaceError(f"an array of shape {data.shape} is read-only, and a tensor that shows it is written to; give the "
                           "tensor a copy: x.data = x.data.copy()")


def before(algebra, data):
    """Let whoever is still to read the memory of `data` keep what it holds now, since it is about to be written to."""
    if READERS:
        for reference in tuple(READERS.pop(id(algebra.owner(data)), ())):
            if (reader := reference()) is not None:
                reader.keep()
    if KEPT:
        owner = algebra.owner(data)
        for reference in KEPT.pop(id(owner), ()):
            if (record := reference()) is not None and record.saved is not None:
                record.saved = tuple([a.copy(order="K") if algebra.owner(a) is owner else a for a in record.saved])


def keep(record, given):
    """Let `record`, whose saved arrays are `given` and others, keep copies of those of `given` that are written to later."""
    reference, owner = weakref.ref(record), record.algebra.owner
    for array in given:
        key = id(owner(array))
        others = KEPT.get(key)
        KEPT[key] = [reference] if others is None else [*[other for other in others if other() is not None], reference]
    if len(KEPT) > _most_kept[0]:
        for key, references in tuple(KEPT.items()):
            if all([other() is None for other in references]):
                KEPT.pop(key, None)
        _most_kept[0] = 64 + 2 * len(KEPT)


def stamp(algebra, data):
    """Note that the memory of `data` has been written to now."""
    stamp_all((entry(algebra, data),))


def stamp_all(entries):
    """Note that the memory has been written to now for which `entry` gave these `entries`."""
    with _CLOCK:  # or a thread could put back what another has written since
        now = LATEST[0] = tick()
    for found in entries:
        found[0] = now


def entry(algebra, data):
    """What `WRITTEN` has of the memory of `data`; its time is 0 if that has not been written to."""
    owner = algebra.owner(data)
    key = id(owner)
    found = WRITTEN.get(key)
    if found is None:
        # Gone with its owner, whose identity another one may get then.
        found = WRITTEN[key] = [0, weakref.ref(owner, lambda _: WRITTEN.pop(key, None))]
    return found


def check_unwritten(op, arrays, mode):
    """Raise an InplaceError if `op`, within what runs again, reads what was written to since that ran for the first time."""
    if not mode.records:
        return
    name, ran, runs_again = mode.repeats
    for array in arrays[0] if op.is_variadic else arrays:
        if isinstance(array, op.algebra.native):
            written = WRITTEN.get(id(op.algebra.owner(array)))
            if written is not None and ran < written[0] < runs_again:
                raise InplaceError(f"the gradient of {name} runs its function again, where {op.name} reads an array of shape "
                                   f"{array.shape} that was written to in place since; write `x = x + y` instead of `x += y`, or "
                                   "write after backward()")


def check_fresh(record):
    """Raise an InplaceError if a rule of `record` would read an array that was written to after it was saved."""
    algebra = record.algebra
    for saved in _saved_arrays(record.saved, algebra.native):
        written = WRITTEN.get(id(algebra.owner(saved)))
        # Both are ticks of one clock: written after the record was made, and so after its rule's arrays were saved.
        if written is not None and written[0] > record.order:
            raise InplaceError(
                f"the gradient of {record.op.name} reads an array of shape {saved.shape} that was written to in "
                "place after the op ran; write `x = x + y` instead of `x += y`, or write before the op"
            )


def _saved_arrays(saved, native):
    """The arrays among what a record has saved, also within groups: several results of an op are one thing that a rule reads."""
    for part in saved or ():
        if isinstance(part, native):
            yield part
        elif part.__class__ in (tuple, list):
            yield from _saved_arrays(part, native)
