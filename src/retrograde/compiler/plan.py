"""Planning: where every stored result lies in memory, and for how long."""

from bisect import bisect
from heapq import heappop, heappush
from itertools import groupby
from math import inf

from ..core.symbol import Symbol

_ALIGNMENT = 64


class Arena:
    """One block of memory cut by lifetimes: a buffer takes the lowest gap that holds it and is free while it lives.

    requests  (buffer, its bytes, the first and the last step that touches it), in any order
    size      bytes of the block, and `places` where each buffer begins
    """

    def __init__(self, requests):
        self.size, self.places = 0, {}
        self._gaps = [(0, inf)]  # from one end to the other
        taken = []
        for number, (buffer, size, first, last) in enumerate(sorted(requests, key=lambda request: request[2])):
            while taken and taken[0][0] < first:
                _, _, start, end = heappop(taken)
                self._free(start, end)
            size = -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
            start = self._take(size)
            end = start + size
            heappush(taken, (last, number, start, end))
            self.places[buffer], self.size = start, max(self.size, end)

    def _take(self, size):
        """Where the lowest gap of `size` bytes begins, which are taken from it."""
        place = next(i for i, (start, end) in enumerate(self._gaps) if end - start >= size)
        start, end = self._gaps[place]
        self._gaps[place : place + 1] = [(start + size, end)] if end - start > size else []
        return start

    def _free(self, start, end):
        """Make a gap of what was taken, one with the gaps beside it."""
        place = bisect(self._gaps, (start, end))
        after = place + 1 if self._gaps[place][0] == end else place
        before = place - 1 if place and self._gaps[place - 1][1] == start else place
        start = self._gaps[before][0] if before < place else start
        end = self._gaps[place][1] if after > place else end
        self._gaps[before:after] = [(start, end)]


def numbered(schedule):
    """(number, step) in order; the passes of a nest, which take turns, have the same number."""
    number, before = -1, None
    for step in schedule.steps:
        number += step.nest is None or step.nest is not before
        before = step.nest
        yield number, step


def lifetimes(schedule, kept):
    """For each stored node the numbers of the first and the last step that touches it; `kept` nodes live to the end."""
    found = {}
    for number, step in numbered(schedule):
        for node in step.roots:
            found[node] = [number, number]
    for number, step in numbered(schedule):
        for node in schedule.read_by(step):
            if node in found:
                found[node][1] = max(found[node][1], number)
    for node in kept:
        if node in found:
            found[node][1] = len(schedule.steps)
    return found


def risky_steps(schedule):
    """The steps of a schedule that may find a position out of range or a matrix without an answer, or call what may raise."""
    kind = schedule.facts.kind
    fragile = {node for node in schedule.nodes if kind(node).may_fail(node)}
    return {step for step in schedule.steps if step.kernel.may_fail_in(step, schedule, fragile)}


def updates_last(schedule, updates, risky):
    """The steps of a schedule with those that update state after all `risky` ones, as far as these do not need them: a call that
    fails then has written nothing. Nests stay whole.
    """
    if not risky:
        return schedule.steps
    turns = [tuple(steps) for _, steps in groupby(schedule.steps, lambda step: step.nest or step)]
    makers = {root: turn for turn in turns for step in turn for root in step.roots}
    reads = {turn: [makers[n] for step in turn for n in schedule.read_by(step) if n in makers] for turn in turns}
    failing = [number for number, turn in enumerate(turns) if not risky.isdisjoint(turn)]
    needed, stack = set(), [turns[number] for number in failing]
    while stack:
        turn = stack.pop()
        if turn not in needed:
            needed.add(turn)
            stack.extend(reads[turn])
    updated, delayed = {node for _, node in updates}, {}
    before, rest = turns[: failing[-1] + 1], turns[failing[-1] + 1 :]
    for turn in before:
        is_update = turn not in needed and any([root in updated for step in turn for root in step.roots])
        if is_update or any([other in delayed for other in reads[turn] if other is not turn]):
            delayed[turn] = True
    return [step for turn in (*[t for t in before if t not in delayed], *delayed, *rest) for step in turn]


def homes(schedule, updates, kept, risky):
    """For each node that updates a leaf and can be computed in its memory, that leaf.

    It can if nothing reads the leaf after the node is computed, the node's own kernel reads it only at the element that it
    writes, and no `risky` step is left from there on. What is among the nodes `kept` is read after the last step.
    """
    kept = {node for node in kept if isinstance(node, Symbol)}
    readers, first_safe = {}, 0
    for number, step in numbered(schedule):
        if step in risky:
            first_safe = number + 1
        for node in schedule.read_by(step):
            if node not in readers or readers[node][0] < number:
                readers[node] = number, set()
            readers[node][1].add(step)
    made = {node: (number, step) for number, step in numbered(schedule) for node in step.roots}
    moved, found = {}, {}
    for leaf, node in updates:
        if node not in made or leaf in kept or node in found or (leaf.shape, leaf.dtype) != (node.shape, node.dtype):
            continue
        number, step = made[node]
        last, users = readers.get(leaf, (-1, set()))
        is_free = last < number
        if last == number and users == {step} and step.kernel.fuses and step.domain == leaf.shape:
            if step not in moved:
                moved[step] = _moved(schedule, step)
            is_free = leaf not in moved[step]
        if is_free and number >= first_safe:
            found[node] = leaf
    return found


def _moved(schedule, step):
    """The nodes of which the kernel of a step reads other elements than the one that it writes."""
    kind, roots, seen = schedule.facts.kind, set(step.roots), set()
    stack = [(root, False) for root in roots]
    while stack:
        node, is_moved = found = stack.pop()
        if found in seen:
            continue
        seen.add(found)
        if node in roots or not schedule.is_loaded(node, step.stage):
            is_moved = is_moved or kind(node).is_moving or kind(node).shown(node, schedule.facts) is not None
            stack.extend([(a, is_moved) for a in node.inputs])
    return {node for node, is_moved in seen if is_moved}
