"""Groups: which steps can stand beside each other and run block by block over the same rows, whatever needs what.

Used by the pass `tile`: it asks for two groups to be made one, and this file knows whether that can be.
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from .. import cost


@dataclass(eq=False)
class _Group:
    """Steps that are to be a nest: the bits of `members`, their `numbers`, and the `counts` of rows that they may be: one that all
    go over, and after it smaller ones that some have by their axes. `summed` are the results that sums outside of all nests read.
    """

    members: int
    numbers: list
    counts: list
    summed: tuple


class Groups:
    """The steps of a schedule by number, what each needs before it, and the nests that are being made."""

    def __init__(self, schedule, rows):
        self._steps, self._rows = schedule.steps, rows
        makers = {root: number for number, step in enumerate(self._steps) for root in step.roots}
        self.producers = [{makers[n] for n in schedule.read_by(step) if n in makers} for step in self._steps]
        self.users = [[] for _ in self._steps]
        for number, needed in enumerate(self.producers):
            for n in needed:
                self.users[n].append(number)
        self._nest_of = {}
        #: By the number of a step the bits of it and of all that it needs, and of all that need it, also through others. The steps
        #: of a nest have the same: whatever needs one of them needs all.
        self._before = [1 << n for n in range(len(self._steps))]
        self._after = self._before.copy()
        for number, needed in enumerate(self.producers):
            for n in needed:
                self._before[number] |= self._before[n]
        for number in reversed(range(len(self._steps))):
            for n in self.users[number]:
                self._after[number] |= self._after[n]

    def open(self, number, summed=()):
        """Begin a nest with a step, of whose results sums outside of all nests read those that are `summed`."""
        self._nest_of[number] = _Group(1 << number, [number], self._rows.counts(self._steps[number]), summed)

    def unite(self, one, other):
        """Make the nests of two steps one if nothing outside stands between their members and all keep to their rows."""
        a, b = self._nest_of.get(one), self._nest_of.get(other)
        if a is None or b is None or a is b:
            return
        before, after = ((some[one], some[other]) for some in (self._before, self._after))
        # A step outside that needs one of them while another needs it.
        if (before[0] | before[1]) & (after[0] | after[1]) & ~(a.members | b.members):
            return
        summed = a.summed + b.summed
        # They are all kept until the nest is over, and with them what they are multiplied by.
        if len(summed) > cost.MOST_SUMMED and sum([node.nbytes for node in summed]) > cost.SUMMED_BYTES:
            return
        numbers = sorted(a.numbers + b.numbers)
        counts = sorted({*a.counts, *b.counts}, reverse=True)
        steps = [self._steps[n] for n in numbers]
        # The most rows first: small blocks fit the cache better, and fewer rows are only needed where a step meets several of a
        # larger count.
        while counts and not self._rows.are_apart(steps, counts[0]):
            del counts[0]
        if not counts or self._rows.leave_cache([[self._steps[n] for n in g.numbers] for g in (a, b)], counts[0]):
            return
        group = _Group(a.members | b.members, numbers, counts, summed)
        self._nest_of |= dict.fromkeys(numbers, group)
        self._tie(group, self._before, before, after)
        self._tie(group, self._after, after, before)

    @staticmethod
    def _tie(group, beyond, ours, others):
        """Note in `beyond`, on one side of a new nest, what its two parts have there, `ours`; on the other, `others`."""
        both, whole = ours[0] | ours[1], others[0] | others[1]
        # What was beyond both parts knows it all. Few steps are beyond one of them alone, whatever the length of the program.
        for n in _bits(whole & ~(others[0] & others[1]) & ~group.members):
            beyond[n] |= both
        for n in group.numbers:
            beyond[n] = both

    def found(self):
        """(steps, number of rows) of each nest of several steps."""
        groups = dict.fromkeys(self._nest_of.values())
        return [([self._steps[n] for n in g.numbers], g.counts[0]) for g in groups if len(g.numbers) > 1]

    def order(self, nests):
        """The steps with the members of each nest beside each other, else as they were as far as that can be."""
        number = {step: n for n, step in enumerate(self._steps)}
        heads = list(range(len(self._steps)))
        for nest in nests:
            for step in nest.steps:
                heads[number[step]] = number[nest.steps[0]]
        needs = {head: set() for head in heads}
        for head, needed in zip(heads, self.producers, strict=True):
            needs[head] |= {heads[n] for n in needed} - {head}
        members = {head: [] for head in heads}
        for head, step in zip(heads, self._steps, strict=True):
            members[head].append(step)
        return [step for head in _sorted(needs) for step in members[head]]


def _bits(number):
    """The places of the bits of a number, the first one first."""
    # Of a number of thousands of bits NumPy finds all at once; one after the other each would take a copy of the number.
    found = np.frombuffer(number.to_bytes(-(-number.bit_length() // 8), "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(found, bitorder="little")).tolist()


def _sorted(needs):
    """The keys of `needs` in rising order, except that each comes after those that it needs."""
    users = {}
    for key, needed in needs.items():
        for n in needed:
            users.setdefault(n, []).append(key)
    waiting = {key: len(needed) for key, needed in needs.items()}
    ready, found = [key for key, count in waiting.items() if not count], []
    heapify(ready)
    while ready:
        found.append(heappop(ready))
        for user in users.get(found[-1], ()):
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, user)
    return found
