"""Nests: passes over the same rows that take turns block by block, so that what one hands to the next stays in cache.

Softmax, cross entropy and normalisations fold each row, then go over it again, several times. Passes that meet nothing of
one another but what belongs to the same row are run on one block of rows after the other. What only they read is never
written to memory that lasts: each chunk keeps one block of it.
"""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import prod

from .expression import Load

#: Passes over fewer numbers than this find everything in cache as it is.
_LEAST = 32768
#: A block of rows takes about this many bytes of all that its passes touch.
_BLOCK_BYTES = 48 * 1024
_MOST_CHUNKS = 32
#: A pass with more entries than this computes more than it reads.
_MOST_ENTRIES = 64


@dataclass(eq=False)
class Nest:
    """Passes in order over `rows` rows, which the first `axes` axes of their domains number.

    block    how many rows a pass takes before the next one has its turn
    local    the results that nothing else reads
    """

    steps: list
    axes: int
    rows: int = 0
    block: int = 0
    local: set = field(default_factory=set)

    @property
    def blocks(self):
        """How many blocks there are."""
        return -(-self.rows // self.block)

    @property
    def chunk_blocks(self):
        """How many blocks one chunk takes."""
        return -(-self.blocks // _MOST_CHUNKS)

    @property
    def chunks(self):
        """How many chunks there are; they may run at the same time."""
        return -(-self.blocks // self.chunk_blocks)


def nested(schedule, boxes, kept):
    """Form the nests among the steps of a schedule: members have it as their `nest`, and stand beside each other.

    What is among the nodes `kept` is read when all is over.
    """
    if not any([step.reduced and _is_large(step) for step in schedule.steps]):
        return
    groups = _Groups(schedule)
    for number, step in enumerate(schedule.steps):
        if not _is_candidate(step):
            continue
        for nest in dict.fromkeys([groups.nest_of[n] for n in sorted(groups.producers[number]) if n in groups.nest_of]):
            if groups.can_join(number, nest) and _fits(boxes, nest, step):
                groups.join(number, nest)
                break
        else:
            groups.open(number)
    readers = {}
    for step in schedule.steps:
        for node in schedule.read_by(step):
            readers.setdefault(node, set()).add(step)
    nests = [nest for nest in groups.nests if len(nest.steps) > 1 and _is_worth_it(nest, boxes, readers, kept)]
    for nest in nests:
        for step in nest.steps:
            step.nest = nest
    schedule.steps = groups.order(nests)


def _is_candidate(step):
    return step.kind == "loop" and len(step.domain) > 0 and step.domain[0] > 1 and (_is_large(step) or not step.reduced)


def _is_large(step):
    return prod(step.domain) >= _LEAST


class _Groups:
    """The steps of a schedule by number, what each needs before it, and the nests that are being made."""

    def __init__(self, schedule):
        self._steps = schedule.steps
        makers = {root: number for number, step in enumerate(self._steps) for root in step.roots}
        self.producers = [{makers[n] for n in schedule.read_by(step) if n in makers} for step in self._steps]
        self.nest_of, self._members = {}, {}
        self._before = []
        for needed in self.producers:
            self._before.append(0)
            for n in needed:
                self._before[-1] |= self._before[n] | 1 << n

    def open(self, number):
        """Begin a nest with a step."""
        nest = self.nest_of[number] = Nest([self._steps[number]], len(self._steps[number].domain))
        self._members[nest] = 1 << number

    def can_join(self, number, nest):
        """Whether nothing outside the nest stands between it and a step."""
        members, between = self._members[nest], self._before[number] & ~self._members[nest]
        while between:
            last = between.bit_length() - 1
            if self._before[last] & members:
                return False
            between &= ~(1 << last)
        return True

    def join(self, number, nest):
        """Add a step to a nest; whatever needs a member needs all from here on."""
        nest.steps.append(self._steps[number])
        self.nest_of[number] = nest
        self._members[nest] |= 1 << number
        members = whole = self._members[nest]
        for n, before in enumerate(self._before):
            if members >> n & 1:
                whole |= before
        for n, before in enumerate(self._before):
            if before & members or members >> n & 1:
                self._before[n] |= whole & ~(1 << n)

    @property
    def nests(self):
        """All nests, also those of one step."""
        return list(self._members)

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


def _fits(boxes, nest, step):
    """Whether a pass meets nothing of the members of a nest but what belongs to its own row, and the other way round; the
    nest is then of as many axes as allow that.
    """
    made = {id(root) for member in (*nest.steps, step) for root in member.roots}
    for axes in range(min(nest.axes, len(step.domain)), 0, -1):
        if all([_keeps_to_rows(boxes[member], step.domain[:axes], made) for member in (*nest.steps, step)]):
            nest.axes = axes
            return True
    return False


def _keeps_to_rows(box, rows, made):
    """Whether the loops of a box go over `rows` first, and it finds what is `made` in the row where it is."""
    axes, count = len(rows), prod(rows)
    if box.lengths[:axes] != rows or any(box.is_reduced[:axes]) or len(box.entries) > _MOST_ENTRIES:
        return False
    if not all([box.can_join(i) for i in range(axes - 1)]):
        return False
    merged = box.merged(axes)
    vector = merged.vector_loop()
    if merged.keeps_rows(vector) or merged.order(vector)[0] != 0 or merged.lengths[0] != count:
        return False
    loads = [entry for entry in merged.entries if isinstance(entry, Load) and id(entry.buffer) in made]
    return all([_is_in_row(load, merged.lengths, load.buffer.size // count) for load in loads])


def _is_in_row(load, lengths, size):
    """Whether a load finds in each round of the first loop one of the `size` elements that belong to it."""
    reach = [step * (n - 1) for step, n in zip(load.steps[1:], lengths[1:], strict=True)]
    reach += [stride * (count - 1) for _, stride, count in load.chosen]
    low, high = load.start + sum([min(r, 0) for r in reach]), load.start + sum([max(r, 0) for r in reach])
    return load.steps[0] == size and low >= 0 and high < size


def _is_worth_it(nest, boxes, readers, kept):
    """Fill in what a nest consists of; whether it hands on so much that it pays."""
    nest.rows = prod(nest.steps[0].domain[: nest.axes])
    made = {root for step in nest.steps for root in step.roots}
    touched = {id(e.buffer): e.buffer for step in nest.steps for e in boxes[step].entries if isinstance(e, Load)}
    touched |= {id(root): root for root in made}
    row_bytes = sum([b.size * b.dtype.itemsize for b in touched.values() if b.size >= nest.rows]) // nest.rows
    nest.block = 1 << max(0, (_BLOCK_BYTES // row_bytes).bit_length() - 1)
    nest.local = {node for node in made if node not in kept and readers.get(node, set()) <= set(nest.steps)}
    return nest.blocks > 1
