"""Verify: what must hold after each pass, asked anew of the draft that it leaves; on where the variable RETROGRADE_VERIFY is 1.

Whatever a pass found on its way (lifetimes, which step makes what, shapes) is found here once more, in another way as far as there
is one, so that a fault in a pass is an error which names the pass and the node, before any code is made.
"""

from bisect import bisect, bisect_left
from heapq import heappop, heappush
from math import inf, prod

import numpy as np

from ..core.dispatch import operands_of
from ..errors import VerifierError
from .graph.effects import has_effect
from .graph.infer import infer
from .graph.loop_op import Loop
from .graph.recorder import PICK
from .passes.order import risky_steps
from .verify_setting import is_on


def before(draft):
    """Take note of what no pass may change: the calls with an effect, and their order."""
    if is_on():
        draft.effects = [node.op for node in draft.outputs.nodes if has_effect(node)]


def after(name, draft):
    """Raise a VerifierError that names the pass if a draft, as the pass `name` leaves it, is not what it must be."""
    if not is_on():
        return
    try:
        _check_graph(draft)
        if draft.schedule is not None:
            made = _check_steps(draft)
            _check_nests(draft, made)
            _check_aliases(draft, made)
        if draft.arena is not None:
            _check_memory(draft)
    except _Fault as fault:
        node, told = fault.args
        raise VerifierError(f"the pass {name!r} of the compiler is broken: {told}, at {node!r}; this is a fault of ours, worth a "
                            "report") from None


class _Fault(Exception):  # noqa: N818 - is raised again as an error
    """What must hold and does not, with the node or the step at which it was found."""


def _check(holds, node, told):
    if not holds:
        raise _Fault(node, told)


# Graphs

def _check_graph(draft):
    """Each node stands after its arguments, its leaves are handed in, and it has the shape and the dtype that its op gives."""
    # Most passes after `fuse` leave the graph alone; what was looked at once is not looked at again.
    if draft.outputs is draft.verified[0]:
        return
    known, seen = draft.verified[1], set()
    for node in draft.outputs.nodes:
        for a in node.inputs:
            _check(a in seen, node, "an argument is not made before it is read")
        seen.add(node)
        if node in known:
            continue
        if node.op is None:
            _check(node in draft.leaves or not known, node, "a leaf that nobody hands in")
        else:
            _check_spec(node)
    draft.verified = draft.outputs, known | seen
    found = [node.op for node in draft.outputs.nodes if has_effect(node)]
    for node in draft.outputs.nodes if found != draft.effects else ():
        _check(not has_effect(node) or node.op in draft.effects, node, "an effect that nobody asked for")
    _check(found == draft.effects, draft.outputs, "effects are missing, merged, or in another order")


def _check_spec(node):
    # Picks are checked instead, each against its op's result of that number.
    if node.shape is None:  # of several results, which are asked for one by one
        return
    shape, dtypes = _spec_of_pick(node) if node.op is PICK else _spec(node.op, node.args)
    if node.shape != shape or node.dtype not in dtypes:
        raise _Fault(node, f"the op gives {' or '.join(sorted({str(d) for d in dtypes}))}{list(shape)}")


def _spec_of_pick(node):
    source, number, *order = node.args
    if isinstance(source.op, Loop):
        kind, which = source.op.results[number]
        like = which if kind == "stack" else source.op.carries[which].leaf
        rows = () if kind == "final" else (source.op.length + (kind == "history"),)
        return (*rows, *like.shape), (like.dtype,)
    shape, dtype = infer(source.op, source.args)[number]
    return (tuple([shape[axis] for axis in order[0]]) if order else shape), (dtype,)


def _spec(op, args):
    """The shape that an op gives, and the dtypes that it may have: that of its kernel, and what the algebra makes of it."""
    shape, dtype = infer(op, args)
    return tuple(shape), (np.dtype(dtype), np.dtype(op.algebra.settled_dtype(dtype, operands_of(op, args))))


# Steps

def _check_steps(draft):
    """Each stored node is made once, before it is read; by node (place of its step, number of that, the step)."""
    schedule, made, leaves = draft.schedule, {}, draft.leaves
    for place, (number, step) in enumerate(schedule.numbered()):
        for node in schedule.read_by(step):
            is_own = node.shape is None and node in step.roots  # a loop and its results are one step
            _check(is_own or node in made or node in leaves, node, "a step reads it, and none before that has made it")
        for root in step.roots:
            _check(root not in made, root, "two steps make it")
            _check(root in schedule.stored, root, "a step makes it, and it is not stored")
        made.update(dict.fromkeys(step.roots, (place, number, step)))
    found = [root.op for step in schedule.steps for root in step.roots if has_effect(root)]
    _check(found == draft.effects, draft.outputs, "steps have their effects in another order, or not at all")
    for node in (*schedule.stored, *draft.kept):
        _check(node in made or node in leaves, node, "it is to be in memory, and no step makes it")
    return made


def _check_nests(draft, made):
    """The steps of a nest stand beside each other; they alone read what is local to it, and none reads a sum of all rows."""
    steps, readers, local = draft.schedule.steps, _readers(draft.schedule), {}
    nests = dict.fromkeys([step.nest for step in steps if step.nest is not None])
    for nest in nests:
        first = steps.index(nest.steps[0])
        _check(steps[first : first + len(nest.steps)] == nest.steps, nest.steps[0].roots[0], "the steps of its nest stand apart")
        inside = set(nest.steps)
        for step in nest.steps:
            partial = [] if draft.is_interchanged else _partial(step, nest.rows, draft.schedule.facts)
            for root in partial:
                is_read = any([reader in inside for _, reader in readers.get(root, ())])
                _check(not is_read, root, "a step of a nest reads a sum of all rows before it is complete")
        for node in nest.local:
            _check(node not in draft.kept, node, "it is local to a nest, and is read when all is over")
            _check({reader for _, reader in readers.get(node, ())} <= inside, node, "it is local to a nest, and others read it")
        order = {step: number for number, step in enumerate(nest.steps)}
        local = {n: (order[made[n][2]], max([order[r] for _, r in readers.get(n, ())], default=0)) for n in nest.local}
        _check_apart([(at, nest.block_bytes(n), *local[n], n) for n, at in nest.local.items()], nest.frame)


def _partial(step, rows, facts):
    """The results of a step that are folded over the axes which `rows` number."""
    if not step.reduced:
        return []
    leading = next((axis for axis in range(len(step.domain)) if prod(step.domain[: axis + 1]) >= rows), len(step.domain))
    return [root for root in step.roots if min(facts.kind(root).domain(root, facts)[1], default=inf) <= leading]


def _readers(schedule):
    """(number, step) of the steps that read each node."""
    readers = {}
    for number, step in schedule.numbered():
        for node in schedule.read_by(step):
            readers.setdefault(node, []).append((number, step))
    return readers


def _check_aliases(draft, made):
    """A leaf is written by one step at most: the last one that reads it, after which none can fail."""
    if not draft.aliases:
        return
    readers, risky = _readers(draft.schedule), risky_steps(draft.schedule)
    fails = max([number for number, step in draft.schedule.numbered() if step in risky], default=-1)
    leaves = set(draft.aliases.values())
    _check(len(leaves) == len(draft.aliases), next(iter(draft.aliases)), "two nodes have one leaf as their memory")
    updates = set(draft.computed_updates)
    for node, leaf in draft.aliases.items():
        _, number, step = made[node]
        is_like = leaf in draft.leaves and (leaf.shape, leaf.dtype) == (node.shape, node.dtype)
        _check(is_like, node, "its memory is that of another spec")
        _check((leaf, node) in updates, node, "it lies in the memory of a leaf that it does not update")
        _check(leaf not in draft.kept, node, "it overwrites a leaf that is read when all is over")
        late = [reader for n, reader in readers.get(leaf, ()) if n > number or (n == number and reader is not step)]
        _check(not late, node, "it overwrites a leaf that is still read")
        _check(number > fails, node, "it overwrites state before the last step that can fail")


# Memory

def _check_memory(draft):
    """Each stored node lies at one place in memory, and those that live at the same time have no byte in common."""
    arena, live = draft.arena, _live_ranges(draft)
    _check_homes(draft)
    _check_apart([(at, buffer.nbytes, *live[buffer], buffer) for buffer, at in arena.places.items()], arena.size)


def _check_homes(draft):
    """Each stored node lies at one place: in the block, in a frame, in what is handed in or given out, or as an alias."""
    elsewhere = [draft.aliases, draft.framed, draft.leaves, set(draft.fresh if draft.body is None else ()), draft.arena.places]
    placed = set() if draft.body is None else draft.body.places
    for node in draft.schedule.stored:
        if node.shape is None:
            continue
        count = sum([node in nodes for nodes in elsewhere]) + (id(node) in placed)
        # A leaf of a body is handed in at a place that the loop outside has for it: that is one home by two names.
        if count != 1 and not (count == 2 and node in draft.leaves and id(node) in placed):
            raise _Fault(node, f"it lies at {count} places in memory, and must lie at one")


def _live_ranges(draft):
    """For each buffer the numbers of the first and the last step that needs it; found here anew, not as the pass finds it."""
    kept, live = draft.kept if draft.body is None else set(draft.body.read_at_the_end), {}
    schedule = draft.schedule
    for number, step in schedule.numbered():
        live.update({root: (number, inf if root in kept else number) for root in step.roots})
        for node in schedule.read_by(step):
            if node in live and live[node][1] < number:
                live[node] = live[node][0], number
    return live | {buffer: (number, number) for buffer, number in draft.scratch}


def _check_apart(requests, size):
    """Of (place, bytes, first step, last step, buffer) no two that live at one step overlap, and all lie in a block of a size."""
    live, ends = [], []
    for at, nbytes, first, last, buffer in sorted(requests, key=lambda request: request[2]):
        if at < 0 or at + nbytes > size:
            raise _Fault(buffer, f"its memory, bytes {at} to {at + nbytes}, is not in the block of {size}")
        while ends and ends[0][0] < first:
            del live[bisect_left(live, heappop(ends)[1])]
        if not nbytes:
            continue
        place = bisect(live, (at,))
        for other, end in live[max(place - 1, 0) : place + 1]:
            if end > at and at + nbytes > other:
                raise _Fault(buffer, f"its memory, bytes {at} to {at + nbytes}, is that of another live buffer")
        live.insert(place, (at, at + nbytes))
        heappush(ends, (last, (at, at + nbytes)))
