"""Gradients: what a compiled step finds in the `.grad` of tensors from outside, and what it leaves there."""

from functools import partial
from typing import Any

import numpy as np

from ...core import writes
from ...core.value import Deferred
from ...ops._arrays import arrays as algebra
from .overlaps import Memory, overlap


class _Found:
    """A gradient that the step reads, or writes to. It is found anew at each call, through its `owner`.

    place       its place among the captures
    is_written  whether the step writes to it
    sharers     other tensors that had the very same tensor as their gradient
    places      (mapping, key) of all else that held it
    twins       tensors that showed its array
    now, data   the tensor and the array of the present call
    """

    def __init__(self, place, capture, is_written, places):
        self.place, self.owner, self.is_written, self.places = place, capture.owner, is_written, places
        self._shape, self._dtype, self._is_linked = capture.start.shape, capture.start.dtype, capture.record is not None
        self._twins, self.sharers = capture.twins, []
        self.forget()

    def forget(self):
        """Know of no gradient."""
        self.now: Any = None
        self.data: Any = None
        self.record: Any = None

    @property
    def is_shared(self):
        """Whether something else held it, or its array."""
        return bool(self.sharers or self.places or self._twins)

    def is_there(self):
        """Whether there is one such as was traced, which is noted."""
        now = self.now = algebra.whole_gradient(self.owner)
        if now is None or (now.record is not None) is not self._is_linked:
            return False
        self.record = now.record
        data = self.data = algebra.settled_data(now)
        if data.shape != self._shape or data.dtype is not self._dtype and data.dtype != self._dtype:
            return False
        return not self.is_shared or self._is_shared_alike()

    def _is_shared_alike(self):
        return (all([other.grad is self.now for other in self.sharers])
                and all([mapping.get(key) is self.now for mapping, key in self.places])
                and all([twin.raw is self.data for twin in self._twins]))


class Gradients:
    """What a trace does with gradients of tensors from outside.

    trace     after its end
    captures  all that it uses from outside
    written   the identities of the symbols of those that it writes to
    places    where the function finds tensors
    """

    def __init__(self, trace, captures, written, places):
        outer = trace.outer_gradients()
        self._guards = [(g.value, g.start is None) for g in outer if g.is_read]
        self._cleared = [g.value for g in outer if g.now is None]
        #: Whether another gradient is left in a place than was found there, which the next call would find.
        self.add_up = any([g.is_read and g.now is not g.start for g in outer])
        # Captures without an owner are tensors themselves; those with one are reached through its `.grad` anew each time, since
        # `zero_grad` puts None there.
        found = {id(c): _Found(i, c, id(c.start) in written, places.holding(c.value))
                 for i, c in enumerate(captures) if c.owner is not None}
        self._found, self._written = list(found.values()), [f for f in found.values() if f.is_written]
        #: (tensor, the gradient that it had, which is known otherwise as well).
        self._known = []
        for g in outer:
            if g.is_read and g.start is not None and not g.start.is_traced:
                capture = trace.captures[id(g.start)]
                if capture.owner is None:
                    self._known.append((g.value, g.start))
                elif capture.owner is not g.value:
                    found[id(capture)].sharers.append(g.value)
        self._sort_left(trace, outer, found)
        # What is held by one tensor alone can be compared by identity at each call, at the cost of a few attributes.
        self._is_simple = not self._known and not any([f.is_shared for f in self._found])
        self._is_handed_in, self._stamps, self._apart = False, [], []

    def _sort_left(self, trace, outer, found):
        """What is left in the place of old gradients: tensors that the step makes, or others from outside."""
        made, self._given, self._passed = {}, [], []
        for g in outer:
            if g.now is None or g.now is g.start:
                continue
            capture = None if g.now.is_traced or trace.is_own(g.now) else trace.captures.get(id(g.now))
            if capture is None:
                made.setdefault(id(g.now), (g.now, []))[1].append(g.value)
            elif capture.owner is None:
                self._given.append((g.value, capture.value))
            else:
                self._passed.append((g.value, found[id(capture)]))
        #: The symbols of those that the step makes.
        self.held = []
        # One holder can be promised its gradient, and it is copied when somebody reads it. Several would each make a tensor of
        # their own, though eager code gives all the very same one.
        self._promised, self._shared = [], []
        for value, holders in made.values():
            parts = [trace.symbol(part) for part in algebra.parts(value)]
            numbers = range(len(self.held), len(self.held) + len(parts))
            self.held += parts
            make = partial(algebra.made, kind=holders[0].kind) if len(parts) == 1 else value.maker()
            if len(holders) == 1:
                self._promised.append((holders[0], numbers, make))
            else:
                self._shared.append((holders, numbers, make))
        self._is_sharing = bool(self._given or self._passed or self._shared)
        self._promises = []

    def bind(self, program):
        """Take what the step makes from `program`, from here on."""
        self._program = program
        self._promises = [(value, Deferred(partial(self._taken, *how))) for value, *how in self._promised]

    def _taken(self, numbers, make):
        return make(*[self._program.held(number) for number in numbers])

    @property
    def acts(self):
        """Whether there is something to do at a call."""
        return bool(self.finds or self._cleared or self._given or self._passed or self._promises or self._shared)

    @property
    def finds(self):
        """Whether there are gradients to be found at a call."""
        return bool(self._found)

    @property
    def are_guarded(self):
        """Whether there is something to look at before a call."""
        return bool(self._guards or self._found or self._known)

    def hold_one(self, arrays):
        """Whether one of the `arrays` lies in a gradient that is written to."""
        return bool(arrays and self._written) and Memory([found.data for found in self._written]).holds_one(arrays)

    def rebound(self):
        """Look at all gradients anew, since the memory of other tensors is another."""
        for found in self._found:
            found.forget()

    def fit(self, memory, targets, arguments):
        """Whether gradients are as they were traced. None that is written to may lie in the `memory` of tensors from outside, in
        that of `arguments` or of another one; nor any in that of `targets`, which is written to.
        """
        for value, was_none in self._guards:
            if (value._grad is None) is not was_none:  # noqa: SLF001 - past the property, which takes what is promised
                return False
        if self._found and self._are_those_of_the_last_call():
            return not self.hold_one(arguments)
        self._is_handed_in = False
        is_fit = self._are_as_traced() and (not self._found or self._are_apart(memory, targets, arguments))
        if not is_fit:
            self.rebound()
        return is_fit

    def _are_as_traced(self):
        return all([found.is_there() for found in self._found]) and all([v.grad is known for v, known in self._known])

    def _are_those_of_the_last_call(self):
        """Whether all is as it was, as it is where gradients are added up, so that all else need not be asked again."""
        if self._is_simple:
            for found in self._found:
                # Some ten attributes in place of all questions: a step that adds up gradients asks this at each call.
                now = found.owner._grad  # noqa: SLF001 - past the property, which asks for the mode
                if now is not found.now or now is None or now.raw is not found.data or now.record is not found.record:
                    return False
        return self._is_simple

    def _are_apart(self, memory, targets, arguments):
        # Eager code would see a gradient change while parameters are written to; compiled code has read it before.
        if targets is not None and targets.holds_one([found.data for found in self._found]):
            return False
        if not self._written:
            return True
        if memory.holds_one([found.data for found in self._written]) or self.hold_one(arguments):
            return False
        arrays = [found.data for found in self._found]
        owners = {id(array) for array in arrays}
        if len(owners) == len(arrays) and all([array.base is None for array in arrays]):  # mostly
            return True
        return not overlap(arrays, [found.is_written for found in self._found])

    def differ(self):
        """What is not as it was traced, in words; None if all is."""
        if any([(value.grad is None) is not was_none for value, was_none in self._guards]):
            return "whether there is a gradient in a tensor"
        are_as_traced = self._are_as_traced()
        # What was found for this answer was not handed to the program: the next call must find it anew.
        self.rebound()
        return None if are_as_traced else "the gradient of a tensor, in its dtype or in what else it is"

    def hand_in(self, program):
        """Hand the gradients that were found to `program`."""
        for found in self._written:
            writes.check_writeable(found.data)
        if not self._is_handed_in:
            self._is_handed_in, self._apart = True, []
            self._stamps = [writes.entry(algebra, found.data) for found in self._written]
            for found in self._found:
                # Once for as long as the same arrays are found; after that only what does not lie row by row is copied.
                array = program.bind(found.place, np.ascontiguousarray(found.data).reshape(found.data.shape))
                if not found.data.flags.c_contiguous:
                    self._apart.append((found, array))
        for found, array in self._apart:
            # At each call: the copy is the program's, and the gradient may have been written to in between.
            array[...] = found.data

    def keep_old(self):
        """Let those who are still to read gradients that are about to be written to keep what these hold."""
        for found in self._written:
            writes.before(algebra, found.data)

    def leave(self):
        """Do what the trace did, after a call."""
        for found, array in self._apart:
            if found.is_written:
                # It did not lie in row-major order: the program wrote to a copy of its own.
                writes.into(found.data)[...] = array
        if self._stamps:
            writes.stamp_all(self._stamps)
        for value in self._cleared:
            value._grad = None  # noqa: SLF001 - past the property, which asks for the mode
        for value, gradient in self._promises:
            value._grad = gradient  # noqa: SLF001 - as above
        if self._is_sharing:
            self._leave_shared()

    def _leave_shared(self):
        """Leave gradients that are held elsewhere as well."""
        left = self._given + [(value, found.now) for value, found in self._passed]
        for values, *how in self._shared:
            gradient = self._taken(*how)
            left += [(value, gradient) for value in values]
        for value, gradient in left:
            value.grad = gradient

    def take(self):
        """Take what was promised, before the memory that holds it is used again."""
        for value, _ in self._promises:
            value.grad  # noqa: B018 - the property takes it

    def forget(self):
        """Keep no promise of a call before one that failed, which has used the memory: eager code had cleared these gradients, or
        it would have added to them.
        """
        for value, promise in self._promises:
            if value._grad is promise:  # noqa: SLF001 - as above
                value.grad = None
