"""Planning: where every stored result lies in memory, and for how long."""

from itertools import groupby

from ..core.symbol import Symbol
from .kinds import is_checked, scattered

_ALIGNMENT = 64


class Arena:
    """One block of memory cut by lifetimes: a buffer takes the lowest gap that is free while it lives."""

    def __init__(self):
        self.size = 0
        self.places = {}
        self._taken = []

    def place(self, node, size, first, last):
        """Reserve `size` bytes for `node` from step `first` to step `last`."""
        size = -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
        busy = sorted((at, end) for at, end, since, until in self._taken if since <= last and first <= until)
        start = 0
        for at, end in busy:
            if start + size <= at:
                break
            start = max(start, end)
        self._taken.append((start, start + size, first, last))
        self.places[node] = start
        self.size = max(self.size, start + size)


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


def updates_last(schedule, updates):
    """The steps of a schedule with those that update state after all that may fail, as far as these do not need them: a call
    that fails then has written nothing. Nests stay whole.
    """
    turns = [tuple(steps) for _, steps in groupby(schedule.steps, lambda step: step.nest or step)]
    makers = {root: turn for turn in turns for step in turn for root in step.roots}
    reads = {turn: [makers[n] for step in turn for n in schedule.read_by(step) if n in makers] for turn in turns}
    risky = [number for number, turn in enumerate(turns) if any([_may_fail(schedule, step) for step in turn])]
    if not risky:
        return schedule.steps
    needed, stack = set(), [turns[number] for number in risky]
    while stack:
        turn = stack.pop()
        if turn not in needed:
            needed.add(turn)
            stack.extend(reads[turn])
    updated, delayed = {node for _, node in updates}, {}
    before, rest = turns[: risky[-1] + 1], turns[risky[-1] + 1 :]
    for turn in before:
        is_update = turn not in needed and any([root in updated for step in turn for root in step.roots])
        if is_update or any([other in delayed for other in reads[turn] if other is not turn]):
            delayed[turn] = True
    return [step for turn in (*[t for t in before if t not in delayed], *delayed, *rest) for step in turn]


def _may_fail(schedule, step):
    """Whether a step may find a position out of range, or calls what may raise."""
    kind = schedule.facts.kind
    if step.kind == "scatter":
        return not is_checked(scattered(step.roots[0])[1])
    if step.kind != "loop":
        return step.kind == "call"
    return any([kind(n) == "gather" and not is_checked(n.args[1]) or is_checked(n) for n in schedule.computed_by(step)])


def homes(schedule, updates, kept):
    """For each node that updates a leaf and can be computed in its memory, that leaf.

    It can if nothing reads the leaf after the node is computed, the node's own kernel reads it only at the element that it
    writes, and nothing fails from there on. What is among the nodes `kept` is read after the last step.
    """
    kept = {node for node in kept if isinstance(node, Symbol)}
    readers, first_safe = {}, 0
    for number, step in numbered(schedule):
        if _may_fail(schedule, step):
            first_safe = number + 1
        for node in schedule.read_by(step):
            if node not in readers or readers[node][0] < number:
                readers[node] = number, set()
            readers[node][1].add(step)
    made = {node: (number, step) for number, step in numbered(schedule) for node in step.roots}
    found = {}
    for leaf, node in updates:
        if node not in made or leaf in kept or node in found or (leaf.shape, leaf.dtype) != (node.shape, node.dtype):
            continue
        number, step = made[node]
        last, users = readers.get(leaf, (-1, set()))
        reads_alone = last == number and users == {step} and step.kind == "loop"
        is_free = last < number or (reads_alone and _reads_in_place(schedule, step, leaf))
        if is_free and number >= first_safe:
            found[node] = leaf
    return found


def _reads_in_place(schedule, step, leaf):
    """Whether the kernel of a step over the leaf's own shape reads it without moving it."""
    if step.domain != leaf.shape:
        return False
    stack, seen = [(root, False) for root in step.roots], set()
    while stack:
        node, is_moved = found = stack.pop()
        if node is leaf and is_moved:
            return False
        if found in seen or node is leaf or (node not in step.roots and schedule.is_loaded(node, step.stage)):
            continue
        seen.add(found)
        is_moved = is_moved or schedule.facts.kind(node) in ("view", "reshaped", "pieces", "gather")
        stack.extend([(a, is_moved) for a in node.inputs])
    return True
