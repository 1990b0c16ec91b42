"""Repeats: loops as native steps. The steps of the body are planned once; in each turn they find other rows in their table."""

import numpy as np

from ..core.symbol import Symbol
from .codegen.repeats import HEAD, write_repeat
from .failures import FLAG
from .fuse import Schedule
from .lower import lower
from .plan import Arena, lifetimes
from .table import POOL, Scratch, laid_out
from .units import unit_of

_ALL = -1


class Body:
    """The body of a loop, planned: its schedule, and in which buffer outside each of its own lies, at which row.

    step  the step of the loop outside: the loop, and those of its results that are wanted
    home  what lies in the place of a node outside
    """

    def __init__(self, step, home):
        self.node, self.step = step.roots[0], step
        self.loop, self.home = self.node.op, home
        starts, stacks, captured, count = self.node.args
        self.count = None if count is None else self._outside(count)
        self._known = self.loop.body(captured)
        self._wanted = {self.loop.results[pick.args[1]]: pick for pick in step.roots[1:]}
        made = [node for kind, node in self._wanted if kind == "stack"]
        conditions = [] if self.loop.condition is None else [self.loop.condition]
        lowered = lower([*[c.out for c in self.loop.carries], *made, *conditions], self._known)
        self.schedule = Schedule(lowered)
        #: By the identity of a buffer of the body: (buffer outside, offset, bytes a row, phase, mask).
        self.places, self._kept = {}, []
        self.starts, self.copies, self.ends = [], [], []
        self._place_inputs(stacks, captured)
        self._place_carries(starts, lowered)
        self._place_made(made, lowered[len(self.loop.carries) :])
        self.condition = lowered[-1] if conditions else None

    def _place(self, buffer, place):
        self._kept.append(buffer)  # so that its identity stays its own
        self.places[id(buffer)] = place

    def _place_inputs(self, stacks, captured):
        loop = self.loop
        for (node, rows), stack in zip(loop.stacks, stacks, strict=True):
            self._place(self._known[id(node)][1], self._rows(self._outside(stack), _nbytes(node), rows.first))
        for node, found in zip(loop.captured, captured, strict=True):
            leaf = self._known[id(node)][1]
            if isinstance(leaf, Symbol):
                self._place(leaf, (self._outside(found), 0, 0, 0, _ALL))

    def _rows(self, buffer, nbytes, first):
        """The rows of a stack from row `first` on, in the order of turns."""
        if self.loop.reverse:
            return buffer, (first + self.loop.length - 1) * nbytes, -nbytes, 0, _ALL
        return buffer, first * nbytes, nbytes, 0, _ALL

    def _place_carries(self, starts, lowered):
        loop = self.loop
        for number, (carry, start) in enumerate(zip(loop.carries, starts, strict=True)):
            nbytes, out = _nbytes(carry.leaf), lowered[number]
            history = self._wanted.get(("history", number))
            if history is not None:
                buffer, last = self.home(history), loop.length * nbytes
                first, last = (last, 0) if loop.reverse else (0, last)
                self._place(carry.leaf, self._rows(buffer, nbytes, int(loop.reverse)))
                after, more = self._rows(buffer, nbytes, int(not loop.reverse)), 0
            else:  # two rows by turns
                buffer, first = Scratch(2 * nbytes), 0
                self._place(carry.leaf, (buffer, 0, nbytes, 0, 1))
                after = buffer, 0, nbytes, 1, 1
                last, more = (0, nbytes) if loop.length is None else (loop.length % 2 * nbytes, 0)
            self._store(out, after, nbytes)
            self.starts.append((buffer, first, self._outside(start), 0, 0, nbytes))
            final = self._wanted.get(("final", number))
            if final is not None:
                self.ends.append((self.home(final), 0, buffer, last, more, nbytes))

    def _place_made(self, made, lowered):
        for node, out in zip(made, lowered, strict=False):
            self._store(out, self._rows(self.home(self._wanted["stack", node]), _nbytes(node), 0), _nbytes(node))

    def _store(self, out, place, nbytes):
        """Let what the body computes be in a place: computed there, or copied if it has another one already."""
        is_computed = isinstance(out, Symbol) and out.op is not None
        if is_computed and id(out) not in self.places:
            self._place(out, place)
            return
        target, out = object(), out if isinstance(out, Symbol) else np.ascontiguousarray(out)
        self._place(target, place)
        self._kept.append(out)
        self.copies.append((target, out, nbytes))

    def fixed(self, buffer):
        """What lies outside in the place of a buffer that is the same in each turn; None for others."""
        found, _, step, *_ = self.places.get(id(buffer), (None, 0, 1))
        return found if step == 0 else None

    def keep(self, scratch):
        """Let memory that is filled before the first turn stay as it is."""
        self._place(scratch, (scratch, 0, 0, 0, _ALL))

    def _outside(self, operand):
        return self.home(operand) if isinstance(operand, Symbol) else np.ascontiguousarray(operand)


class Repeat:
    """One loop as a native step, in so many `strands` that go through all turns each."""

    chunks, passes, strands = 0, (), 1

    def __init__(self, body, launches, target):
        self.step, self.body, self.launches = body.step, body, launches
        self.unit = unit_of(("repeat", HEAD), write_repeat, target)
        self.entry, self.lasts = self.unit.name, False
        self.units = [self.unit, *[unit for launch in launches for unit in launch.units]]
        self._numbers, self._buffers = {}, []
        for buffer in (POOL, FLAG):
            self._number(buffer)
        self._arena = self._reserved()
        moved = [(self._number(buffer), *self._place_of(buffer)) for buffer in self._all_buffers()]
        outside = [place[1] for place in moved] + [e[i] for e in (*body.starts, *body.ends) for i in (0, 2)]
        outside += [] if body.count is None else [body.count]
        self.buffers = tuple({id(b): b for b in outside}.values())
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
        """Room for what lives within a turn: (scratch outside, offset by the identity of the buffer)."""
        body, requests = self.body, []
        kept = [body.condition] if isinstance(body.condition, Symbol) else []
        kept += [source for _, source, _ in body.copies if isinstance(source, Symbol)]
        for node, (first, last) in lifetimes(body.schedule, kept).items():
            if node.shape is not None and id(node) not in body.places:
                requests.append((node, _nbytes(node), first, last))
        numbers = {id(step): i for i, step in enumerate(body.schedule.steps)}
        for launch in self.launches:
            for buffer in launch.buffers:
                if isinstance(buffer, Scratch) and id(buffer) not in body.places:
                    number = numbers[id(launch.step)]
                    requests.append((buffer, buffer.nbytes, number, number))
        arena = Arena(requests)
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
            return scratch, offsets[id(buffer)], 0, 0, _ALL
        return buffer, 0, 0, 0, _ALL  # a constant

    def put(self, slot, words):
        """Add what the step reads to `words`, its description and the places of its buffers; where that begins."""
        places = {id(buffer): i + 1 for i, buffer in enumerate(self.buffers)}
        body = self.body
        table, steps, count = words.add([0] * len(self._numbers)), *self._turns(words)
        moves = [(n, places[id(b)], offset, *self.move(turning)) for n, b, offset, *turning in self._moved]
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

    def _turns(self, words):
        """Where the steps of a turn begin, and how many turns there are, -1 if that is not known."""
        length = self.body.loop.length
        return laid_out(self.launches, self._number, words), -1 if length is None else length

    @staticmethod
    def move(turning):
        """How the pointer of a buffer moves from turn to turn."""
        return move(turning)


def move(turning):
    """(bytes a row, phase, mask) as native code is told: bytes a row, mask, phase."""
    step, phase, mask = turning
    return step, mask, phase


def _nbytes(node):
    return node.size * node.dtype.itemsize
