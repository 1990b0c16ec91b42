"""Recomputed values: those that one loop would compute at several places for each number of its own.

A stencil reads its operand at a point and at its neighbours, a sum with a transpose at a point and at its mirror image. Where the
operand is read from memory this costs a read each; where the loop computes it on the way, it is computed anew for each of them,
and steps of a stencil that follow one another multiply: a value n steps back is met at as many places as there are paths to it.
"""

from .. import cost
from ..index.access_maps import AccessMaps


def met_at_several_places(schedule, is_expensive):
    """The nodes that are `is_expensive` which a loop of the schedule would compute at more than one place for each of its numbers;
    each of them counts as a loop of its own for what it needs itself.
    """
    facts = schedule.facts
    moving = {node for node in schedule.nodes if facts.kind(node).is_moving}
    loops, met, found = {}, {}, set()
    for step in _that_move(moving, schedule):
        for node in _computed(step, schedule):
            loop = loops.get(_loop_of(step)) or loops.setdefault(_loop_of(step), _Loop(*_loop_of(step)))
            met.setdefault(node, {})[loop] = {loop.start}
    for node in reversed(schedule.nodes):
        places = met.pop(node, None)
        if places is None:
            continue
        most = max(map(len, places.values()))
        is_worth_it = most > 1 and facts.kind(node).is_worth_memory(most, cost.MOST_PLACES)
        if is_worth_it and (most > cost.MOST_PLACES or is_expensive(node)):
            found.add(node)
            loop = _Loop(schedule.stage(node), node.shape)
            places = {loop: {loop.start}}
        for loop, at in places.items():
            for place in at:
                for operand, where in loop.operands(facts, node, place):
                    if not schedule.is_loaded(operand, loop.stage):
                        met.setdefault(operand, {}).setdefault(loop, set()).add(where)
    return found


def _that_move(moving, schedule):
    """The steps whose loops may meet a node at several places: of those over one domain, at one stage, one computes a node that is
    among `moving`, or the domain has an axis of length 1, which is a place of its own.
    """
    if not moving:
        return []
    found = schedule.loops.of(moving)
    return [step for step in schedule.steps if step.kernel.fuses and (1 in step.domain or _loop_of(step) in found)]


def _loop_of(step):
    return step.stage, step.domain


def _computed(step, schedule):
    """What a step computes at the point of its loop itself."""
    for root in step.roots:
        for node in schedule.facts.kind(root).at_point(root, schedule.facts):
            if node is root or not schedule.is_loaded(node, step.stage):
                yield node


class _Loop:
    """A loop of a stage. What it meets is at a place, and inside of pieces or not: (place, bounds of all pieces around it)."""

    def __init__(self, stage, domain):
        self.stage, self._places = stage, AccessMaps(domain)
        self.start = self._places.start, ()

    def operands(self, facts, node, met):
        """What is computed for a node where it is met: (operand, where)."""
        place, bounds = met
        return facts.kind(node).operands(node, place, bounds, self._places, facts)
