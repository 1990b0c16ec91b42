"""Repeated places: values that one loop would compute at several places for each number of its own.

A stencil reads its operand at a point and at its neighbours, a sum with a transpose at a point and at its mirror image. Where the
operand is read from memory this costs a read each; where the loop computes it on the way, it is computed anew for each of them,
and steps of a stencil that follow one another multiply: a value n steps back is met at as many places as there are paths to it.
"""

from ..core.symbol import Symbol
from .kinds import AFTER
from .places import Places

#: What reads its operands at other places than its own.
MOVING = ("view", "pieces", "gather")
#: What is met at more places is worth a pass by itself, whatever it costs.
_MOST = 16


def met_at_several_places(schedule, is_expensive):
    """The nodes that are `is_expensive` which a loop of the schedule would compute at more than one place for each of its numbers;
    each of them counts as a loop of its own for what it needs itself.
    """
    facts = schedule.facts
    if not any([facts.kind(node) in MOVING for node in schedule.nodes]):
        return set()
    loops, met, found = {}, {}, set()
    for step in schedule.steps:
        for node in _computed(step, schedule):
            loop = loops.setdefault((step.stage, step.domain), _Loop(step.stage, step.domain))
            met.setdefault(node, {})[loop] = {loop.start}
    for node in reversed(schedule.nodes):
        places = met.pop(node, None)
        if places is None:
            continue
        most = max(map(len, places.values()))
        if most > 1 and _is_computed(facts.kind(node), most) and (most > _MOST or is_expensive(node)):
            found.add(node)
            loop = _Loop(schedule.stage(node), node.shape)
            places = {loop: {loop.start}}
        for loop, at in places.items():
            for place in at:
                for operand, where in loop.operands(facts, node, place):
                    if not schedule.is_loaded(operand, loop.stage):
                        met.setdefault(operand, {}).setdefault(loop, set()).add(where)
    return found


def _computed(step, schedule):
    """What a step computes at the point of its loop itself."""
    facts = schedule.facts
    for root in step.roots if step.kind == "loop" else ():
        if facts.is_tiled(root):
            operands = [piece.source for piece in facts.pieces(root)[0]]
        elif facts.kind(root) == "reduction":
            operands = root.inputs[:1]
        else:
            yield root
            continue
        yield from [a for a in operands if isinstance(a, Symbol) and not schedule.is_loaded(a, step.stage)]


def _is_computed(kind, places):
    """Whether a node of a kind takes work at each place; what arrays are laid together in takes little."""
    return kind == "elementwise" or (kind == "pieces" and places > _MOST)


class _Loop:
    """A loop of a stage. What it meets is at a place, and inside of pieces or not: (place, bounds of all pieces around it)."""

    def __init__(self, stage, domain):
        self.stage, self._places = stage, Places(domain)
        self.start = self._places.start, ()

    def operands(self, facts, node, met):
        """What is computed for a node where it is met: (operand, where)."""
        (place, bounds), kind = met, facts.kind(node)
        if node.op is None or kind == "reshaped":
            return []
        if kind == "view":
            return [(node.args[0], (self._places.moved(facts.index_map(node), place), bounds))]
        if kind == "pieces":
            pieces = [p for p in facts.pieces(node)[0] if isinstance(p.source, Symbol)]
            inside = [self._places.within(piece, place) for piece in pieces]
            return [(p.source, (inner, bounds + more)) for p, (inner, more) in zip(pieces, inside, strict=True)]
        if kind == "gather":
            positions, _ = self._places.chosen(place, facts.gather(node))
            return [(a, (positions, bounds)) for a in node.inputs[1:]]
        operands = node.inputs[:1] if node.op.name == AFTER else node.inputs
        return [(a, (self._places.aligned(a, place), bounds)) for a in operands]
