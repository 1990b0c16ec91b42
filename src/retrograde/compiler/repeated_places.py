"""Repeated places: values that one loop would compute at several places for each number of its own.

A stencil reads its operand at a point and at its neighbours, a sum with a transpose at a point and at its mirror image. Where the
operand is read from memory this costs a read each; where the loop computes it on the way, it is computed anew for each of them,
and steps of a stencil that follow one another multiply: a value n steps back is met at as many places as there are paths to it.
"""

#: What reads its operands at other places than its own.
MOVING = ("view", "pieces", "gather")
#: What is met at more places is worth a pass by itself, whatever it costs.
_MOST = 16


def met_at_several_places(schedule, is_dear):
    """The nodes that are `is_dear` which a loop of the schedule would compute at more than one place for each of its numbers; each
    of them counts as a loop of its own for what it needs itself.
    """
    kind = schedule.facts.kind
    if not any([kind(node) in MOVING for node in schedule.nodes]):
        return set()
    met, paths, found = _met_by_roots(schedule), _Paths(), set()
    for node in reversed(schedule.nodes):
        at = met.pop(node, None)
        if at is None:
            continue
        most = max(map(len, at.values()))
        if most > 1 and _is_computed(kind(node), most) and (most > _MOST or is_dear(node)):
            found.add(node)
            at = {(schedule.stage(node), node.shape): {0}}
        for operand, mark in _operands(schedule.facts, node):
            for loop, places in at.items():
                if not schedule.is_loaded(operand, loop[0]):
                    moved = places if mark is None else {paths.through(place, node, mark) for place in places}
                    met.setdefault(operand, {}).setdefault(loop, set()).update(moved)
    return found


def _is_computed(kind, places):
    """Whether a node of a kind takes work at each place; what arrays are laid together in takes little."""
    return kind == "elementwise" or (kind == "pieces" and places > _MOST)


def _met_by_roots(schedule):
    """{node: {(stage, domain): paths}} for the roots of loops, which are met where they stand: on the path of number 0."""
    return {root: {(step.stage, step.domain): {0}} for step in schedule.steps if step.kind == "loop" for root in step.roots}


class _Paths:
    """Ways from a number of a loop to a place in another node, by number."""

    def __init__(self):
        self._numbers = {}

    def through(self, path, node, mark):
        """The path that goes on through a node that moves, by one of its operands."""
        return self._numbers.setdefault((path, id(node), mark), len(self._numbers) + 1)


def _operands(facts, node):
    """(operand, mark) of what the loop computes for a node; the mark is None where the places are those of the node."""
    kind = facts.kind(node)
    if kind == "reshaped":
        return []
    if kind == "pieces":
        return [(piece.source, i) for i, piece in enumerate(facts.pieces(node)[0]) if hasattr(piece.source, "inputs")]
    if kind == "gather":
        return [(a, 0) for a in node.inputs[1:]]
    return [(a, 0 if kind == "view" else None) for a in node.inputs]
