"""Tile: which steps go over the same rows, and run one after the other on a tile of rows that stays in cache.

Takes  steps in order.
Gives  `Nest`s of steps, which stand beside each other then, each with the rows of a tile and what is local to it.
Keeps  the steps of a nest meet nothing of one another but what belongs to the same row, no sum of all rows that is not complete
       before the nest is over; each step comes after those that it reads.

Softmax, cross entropy and normalisations fold each row, then go over it again, several times; a layer multiplies rows by a
matrix, adds a bias, applies an activation and multiplies again.
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from ..nests import Nest
from ..row_dependences import Met


def tiled(schedule, accesses, kept):
    """Form the nests among the steps of a schedule: members have it as their `nest`, and stand beside each other.

    What is among the nodes `kept` is read when all is over.
    """
    rows = _Rows(accesses)
    candidates = [number for number, step in enumerate(schedule.steps) if rows.counts(step)]
    # Few programs have such a step. The search below is quadratic in the steps at worst, so it is not begun for nothing.
    if not any([schedule.steps[number].kernel.is_worth_tiling(schedule.steps[number]) for number in candidates]):
        return
    readers = {}
    for step in schedule.steps:
        for node in schedule.read_by(step):
            readers.setdefault(node, set()).add(step)
    groups, going = _Groups(schedule, rows), {schedule.steps[number] for number in candidates}
    # A sum of all rows is complete when a nest is over: it must not keep out what needs it.
    for number in sorted(candidates, key=lambda number: (_is_awaited(schedule.steps[number], readers, going), number)):
        groups.open(number)
        for producer in sorted(groups.producers[number]):
            groups.unite(producer, number)
        for user in sorted(groups.users[number]):
            groups.unite(number, user)
    nests = []
    for steps, count in groups.found():
        if any([step.kernel.is_worth_tiling(step) for step in steps]):
            nest, made = Nest(steps, count), {root for step in steps for root in step.roots}
            nest.cut(accesses, {node for node in made if node not in kept and readers.get(node, set()) <= set(steps)})
            # One block is the same work in the same order, with a frame to be looked up for each buffer.
            nests += [nest] if nest.blocks > 1 else []
    for nest in nests:
        for step in nest.steps:
            step.nest = nest
    schedule.steps = groups.order(nests)


def keep_to_rows(accesses, steps, rows, changing):
    """Whether steps meet of one another, and of the nodes `changing`, only what belongs to the same one of so many rows."""
    return _Rows(accesses).are_apart(steps, rows, map(id, changing))


def _is_awaited(step, readers, going):
    """Whether a step sums all rows, and one of those `going` over rows needs a sum."""
    stack = [root for root in step.roots if root.shape != step.domain] if 0 in step.reduced else []
    seen = set()  # a loop, whose results are picked by its own step, is among its readers
    while stack:
        for reader in readers.get(stack.pop(), ()):
            if reader in going:
                return True
            if reader not in seen:
                seen.add(reader)
                stack.extend(reader.roots)
    return False


class _Rows:
    """What is known of the rows that passes go over, found once."""

    def __init__(self, accesses):
        self._accesses, self._known = accesses, {}

    def counts(self, step):
        """How many rows a step has by its own axes, the most first; none if it cannot be a pass of a nest."""
        return step.kernel.rows(step, self._accesses)

    def meets(self, step, rows):
        """What a pass over so many rows meets, as `Met`; None if it does not go over so many, or sums all of them in parts."""
        if (step, rows) not in self._known:
            self._known[step, rows] = step.kernel.met(step, rows, self._accesses)
        return self._known[step, rows]

    def are_apart(self, steps, rows, changing=()):
        """Whether steps meet of one another, and of what is `changing`, only what belongs to the same one of so many rows."""
        made, met = set(changing), Met(set(), set(), set())
        for step in steps:
            found = self.meets(step, rows)
            if found is None:
                return False
            for whole, part in zip(met, found, strict=True):
                whole.update(part)
            made.update(map(id, step.roots))
        return made.isdisjoint(met.strangers) and met.parts.isdisjoint(met.read)


@dataclass(eq=False)
class _Group:
    """Steps that are to be a nest: the bits of `members`, their `numbers`, and the `counts` of rows that they may be: one that all
    go over, and after it smaller ones that some have by their axes.
    """

    members: int
    numbers: list
    counts: list


class _Groups:
    """The steps of a schedule by number, what each needs before it, and the nests that are being made."""

    def __init__(self, schedule, rows):
        self._steps, self._rows = schedule.steps, rows
        makers = {root: number for number, step in enumerate(self._steps) for root in step.roots}
        self.producers = [{makers[n] for n in schedule.read_by(step) if n in makers} for step in self._steps]
        self.users = [[] for _ in self._steps]
        self._nest_of, self._before = {}, []
        for needed in self.producers:
            self._before.append(0)
            for n in needed:
                self.users[n].append(len(self._before) - 1)
                self._before[-1] |= self._before[n] | 1 << n

    def open(self, number):
        """Begin a nest with a step."""
        self._nest_of[number] = _Group(1 << number, [number], self._rows.counts(self._steps[number]))

    def unite(self, one, other):
        """Make the nests of two steps one if nothing outside stands between their members and all keep to their rows."""
        a, b = self._nest_of.get(one), self._nest_of.get(other)
        if a is None or b is None or a is b:
            return
        numbers = sorted(a.numbers + b.numbers)
        if not self._is_whole(a.members | b.members, numbers):
            return
        counts = sorted({*a.counts, *b.counts}, reverse=True)
        steps = [self._steps[n] for n in numbers]
        # The most rows first: small blocks fit the cache better, and fewer rows are only needed where a step meets several of a
        # larger count.
        while counts and not self._rows.are_apart(steps, counts[0]):
            del counts[0]
        if not counts:
            return
        group = _Group(a.members | b.members, numbers, counts)
        self._nest_of |= dict.fromkeys(numbers, group)
        self._tie(group)

    def _is_whole(self, members, numbers):
        """Whether nothing outside these steps needs one of them while another needs it."""
        between = self._all_before(numbers) & ~members
        while between:
            # `_before` has all that a step needs, also through others, so that each step in between is asked once.
            last = between.bit_length() - 1
            if self._before[last] & members:
                return False
            between &= ~(1 << last)
        return True

    def _all_before(self, numbers):
        """All that some steps need."""
        found = 0
        for number in numbers:
            found |= self._before[number]
        return found

    def _tie(self, group):
        """Note that whatever needs one of these steps needs all of them from here on."""
        whole = group.members | self._all_before(group.numbers)
        for n, before in enumerate(self._before):
            if before & group.members or group.members >> n & 1:
                self._before[n] |= whole & ~(1 << n)

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
