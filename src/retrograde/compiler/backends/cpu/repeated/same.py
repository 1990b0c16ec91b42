"""Whether two programs are the same: launch by launch, with buffers that correspond to each other."""

import numpy as np

from .....core.symbol import Symbol
from .items import facts_of


def difference(graph, found, draft, parts):
    """How an `Expanded` program differs from what the draft of its whole graph became, in words; None if it does not."""
    if len(found.launches) != len(parts):
        return f"it has {len(found.launches)} launches, and not {len(parts)}"
    pairs = _Pairs((*graph.inputs, *graph.state))
    for number, (one, other) in enumerate(zip(found.launches, parts, strict=True)):
        if facts_of(one) != facts_of(other):
            return f"launch {number} is of {one.entry}, and not of {other.entry}, or differs in its words"
        if not all([pairs.meet(a, draft.storage(b)) for a, b in zip(one.buffers, other.buffers, strict=True)]):
            return f"launch {number}, of {one.entry}, meets another buffer"
    layout, updates = found.layout, dict(draft.updates)
    outputs = [(f"the update of leaf {leaf}", node, updates.pop(leaf, None)) for leaf, node in layout.updates]
    outputs += [(f"result {n}", *pair) for n, pair in enumerate(zip(layout.results, draft.outputs[: draft.results], strict=True))]
    outputs += [(f"what it holds as {n}", *pair) for n, pair in enumerate(zip(layout.held, draft.held, strict=True))]
    if updates:
        return f"{len(updates)} leaves are not updated"
    for told, one, other in outputs:
        is_node = isinstance(one, Symbol) and isinstance(other, Symbol)
        if not (pairs.meet(layout.aliases.get(one, one), draft.storage(other)) if is_node else _are_equal(one, other)):
            return f"{told} is another one"
    return None


class _Pairs:
    """Which buffers of two programs correspond: leaves to themselves, constants to equal ones, others to those they met first."""

    def __init__(self, leaves):
        self._leaves = {id(leaf) for leaf in leaves}
        self._ones, self._others = {}, {}

    def meet(self, one, other):
        """Whether two buffers correspond, as far as is known."""
        if one is other:
            return True
        if id(one) in self._leaves or id(other) in self._leaves or one.__class__ is not other.__class__:
            return False
        if isinstance(one, np.ndarray):
            return _are_equal(one, other)
        return self._ones.setdefault(id(one), other) is other and self._others.setdefault(id(other), one) is one


def _are_equal(one, other):
    """Whether two numbers or arrays are the same, bit by bit."""
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
