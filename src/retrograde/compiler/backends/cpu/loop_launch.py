"""Loops as native steps. The steps of the body are planned once; in each iteration they find other rows in their table."""

from copy import copy

from ...kernels.kernel import Scratch
from ...passes.carry import ALL_BITS
from ...run.failures import FLAG
from .codegen.loop_runner import HEAD, write_loop_runner
from .table import POOL, laid_out
from .units import unit_of


class LoopLaunch:
    """One loop as a native step, in so many `row_chunks` that go through all iterations each."""

    chunks, passes, row_chunks = 0, (), 1

    def __init__(self, draft, launches, target):
        self.draft, self.body, self.launches = draft, draft.body, launches
        self.step, body = self.body.step, self.body
        self.unit = unit_of(("repeat", HEAD), write_loop_runner, target)
        self.entry, self.lasts = self.unit.name, False
        self.units = [self.unit, *[unit for launch in launches for unit in launch.units]]
        self._numbers, self._buffers = {}, []
        # The first two places of every table of pointers, as in that of the program around.
        for buffer in (POOL, FLAG):
            self._number(buffer)
        self._arena = self._reserved()
        moved = [(self._number(buffer), *self._place_of(buffer)) for buffer in self._all_buffers()]
        outside = [place[1] for place in moved] + [e[i] for e in (*body.starts, *body.ends) for i in (0, 2)]
        outside += [] if body.count is None else [body.count]
        #: The buffers outside by which the loop was planned, and those that it runs on.
        self._planned = self.buffers = tuple({id(b): b for b in outside}.values())
        self._moved = moved

    @property
    def shared_seconds(self):
        """A rough guess of how long what could be shared takes on one thread."""
        return (self.body.loop.length or 1) * sum([launch.shared_seconds for launch in self.launches])

    def _number(self, buffer):
        if id(buffer) not in self._numbers:
            self._numbers[id(buffer)] = len(self._numbers)
            self._buffers.append(buffer)
        return self._numbers[id(buffer)]

    def _reserved(self):
        """Room for what lives within an iteration: (scratch outside, offset by the identity of the buffer)."""
        body, numbers = self.body, {step: number for number, step in self.draft.schedule.numbered()}
        scratch = {buffer: numbers[launch.step] for launch in self.launches for buffer in launch.buffers
                   if isinstance(buffer, Scratch) and id(buffer) not in body.places}
        arena = self.draft.room(scratch.items(), self.draft.local)
        return Scratch(max(arena.size, 1)), {id(buffer): at for buffer, at in arena.places.items()}

    def _all_buffers(self):
        """The buffers of the body that are not in the table already, each once."""
        found = [b for launch in self.launches for b in launch.buffers]
        found += [b for target, source, _ in self.body.copies for b in (target, source)]
        found += [] if self.body.condition is None else [self.body.condition]
        return [b for b in {id(b): b for b in found}.values() if b is not POOL and b is not FLAG]

    def _place_of(self, buffer):
        """(buffer outside, offset, bytes a row, phase, mask) of a buffer of the body."""
        if id(buffer) in self.body.places:
            return self.body.places[id(buffer)]
        scratch, offsets = self._arena
        if id(buffer) in offsets:
            return scratch, offsets[id(buffer)], 0, 0, ALL_BITS
        return buffer, 0, 0, 0, ALL_BITS  # a constant

    def with_buffers(self, buffers):
        """The same loop on other buffers outside, one for each of `buffers` here."""
        found = copy(self)
        found.buffers = tuple(buffers)
        return found

    def put(self, slot, words):
        """Add what the step reads to `words`, its description and the places of its buffers; where that begins."""
        places = {id(buffer): i + 1 for i, buffer in enumerate(self._planned)}
        body = self.body
        table, steps, count = words.add([0] * len(self._numbers)), *self._iterations(words)
        moves = [(n, places[id(b)], offset, *self.move(movement)) for n, b, offset, *movement in self._moved]
        starts, ends = ([(places[id(a)], i, places[id(b)], j, more, n) for a, i, b, j, more, n in entries]
                        for entries in (body.starts, body.ends))
        copies = [(self._number(a), self._number(b), n) for a, b, n in body.copies]
        sized = [word for entries in (moves, starts, copies, ends)
                 for word in (len(entries), words.add([number for entry in entries for number in entry]))]
        counter = 0 if body.count is None else places[id(body.count)]
        condition = -1 if body.condition is None else self._number(body.condition)
        head = [count, counter, condition, 0, steps, len(self.launches), table, *sized]
        at = words.add(head, (4, 6, 8, 10, 12, 14), [(3, "retrograde_steps")])
        return words.add([at, *[slot(buffer) for buffer in self.buffers]], (0,))

    def _iterations(self, words):
        """Where the steps of an iteration begin, and how many iterations there are, -1 if that is not known."""
        length = self.body.loop.length
        return laid_out(self.launches, self._number, words), -1 if length is None else length

    @staticmethod
    def move(movement):
        """How the pointer of a buffer moves from iteration to iteration."""
        return move(movement)


def move(movement):
    """(bytes a row, phase, mask) as native code is told: bytes a row, mask, phase."""
    step, phase, mask = movement
    return step, mask, phase
