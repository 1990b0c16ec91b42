"""The op of a loop in a graph. Its body is a graph of its own, which is compiled once, however often it runs.

The body is recorded by the trace that records everything else. What in it is the same in each iteration is therefore
outside of the loop: it is computed once, and the loop captures it.
"""

from typing import NamedTuple

import numpy as np

from ...core.symbol import Symbol, complete, substituted
from .constants import is_uniform
from .recorder import PICK

#: Ops that a loop in reverse rather does again than read what they gave from memory: they move numbers, no more.
_MOVES = frozenset(["reshape", "permute_dims", "transpose", "broadcast_to", "flip", "expand_dims", "squeeze", "moveaxis", "shrink",
                    "getitem", "positive", "contiguous", "negative", "astype"])


class Rows(NamedTuple):
    """What a node of the body is in each iteration: the rows of a stack, from row `first` on."""

    stack: object
    first: int


class Carry(NamedTuple):
    """What a loop carries from iteration to iteration: its leaf in the body, where it starts, and the node of its next value."""

    leaf: Symbol
    start: object
    out: object


class Opened(NamedTuple):
    """The body of a loop as a graph of its own.

    outputs   what is carried next, then what is made for others, then the condition if there is one
    carried   the leaves of what is carried
    rows      the leaves of the rows that each iteration is handed
    captured  what stands for the captured nodes: leaves, or constants
    """

    outputs: list
    carried: list
    rows: list
    captured: list

    @property
    def leaves(self):
        """All that an iteration is handed."""
        return [*self.carried, *self.rows, *[leaf for leaf in self.captured if isinstance(leaf, Symbol)]]


class Loop:
    """The op of one loop.

    length     how many iterations there are, None where that is known only when it runs: then `count`, a number of int64, says how
               many at most, and `condition`, a node of the body, whether there is another one
    carries    what is carried, as `Carry`
    stacks     (leaf or other node of the body, `Rows`): what each iteration is handed
    made       nodes of the body that others may want to know, each iteration's beside the others
    reverse    whether the first iteration has the last rows
    inside     nodes that belong to the body even if they are the same in each iteration, since it may not run at all
    """

    name, family, expansion, broadcasts, has_effect = "loop", "loop", None, False, False

    def __init__(self, length, carries, stacks, made, reverse=False, count=None, condition=None, inside=()):
        self.length, self.reverse, self.condition = length, reverse, condition
        self.carries, self.stacks = list(carries), list(stacks)
        cuts = [*[c.leaf for c in self.carries], *[node for node, _ in self.stacks]]
        roots = [*[c.out for c in self.carries], *made, condition]
        self.leaves = set(cuts)
        self.nodes, self.captured = _explored([r for r in roots if isinstance(r, Symbol)], cuts, inside)
        operands = tuple(c.start for c in self.carries), tuple(rows.stack for _, rows in self.stacks), tuple(self.captured), count
        self.symbol = Symbol(self, operands, None, None)
        #: What the loop leaves: (kind, which) with kind "final", "history" or "stack".
        self.results, self._picks = [], {}

    def final(self, number):
        """What carry `number` is after the last iteration."""
        leaf = self.carries[number].leaf
        return self._result(("final", number), leaf.shape, leaf.dtype)

    def stacked(self, node):
        """The `Rows` of a node that changes from iteration to iteration."""
        for known, rows in self.stacks:
            if known is node:
                return rows
        # What is carried needs no stack of its own: its history is the same numbers, one state more.
        for number, carry in enumerate(self.carries):
            if carry.leaf is node or carry.out is node:
                history = self._result(("history", number), (self.length + 1, *node.shape), node.dtype)
                return Rows(history, int((carry.leaf is node) is self.reverse))
        return Rows(self._result(("stack", node), (self.length, *node.shape), node.dtype), 0)

    def _result(self, key, shape, dtype):
        if key not in self._picks:
            self._picks[key] = Symbol(PICK, (self.symbol, len(self.results)), shape, dtype)
            self.results.append(key)
        return self._picks[key]

    def opened(self, captured, made):
        """The body as a graph of its own, as `Opened`, which gives the nodes `made` as well.

        captured  what the captured nodes became in the graph outside
        """
        rows = [node if node.op is None else Symbol(None, (), node.shape, node.dtype) for node, _ in self.stacks]
        # A captured number is written into the code of the body; a captured array is handed in.
        leaves = [found if isinstance(found, np.ndarray) and is_uniform(found) else Symbol(None, (), node.shape, node.dtype)
                  for node, found in zip(self.captured, captured, strict=True)]
        stand_ins = dict(zip([*[node for node, _ in self.stacks], *self.captured], [*rows, *leaves], strict=True))
        conditions = [] if self.condition is None else [self.condition]
        outputs = substituted([*[c.out for c in self.carries], *made, *conditions], stand_ins)
        return Opened(outputs, [c.leaf for c in self.carries], rows, leaves)


def frontier(loops, roots):
    """The nodes of the bodies of `loops` from which `roots`, graphs on top of these, are to be computed elsewhere, each with the
    first loop that has it.

    Views are cheaper to look through again than to keep beside what they show.
    """
    def reached(node):
        # Results of a loop within the body may have been asked for after that loop was made.
        loop = next((o for o in loops if node in o.nodes or (node.op is PICK and node.args[0] in o.nodes)), None)
        return loop if loop is not None and (node in loop.leaves or not _is_move(node)) else None

    return _first_below(roots, reached)


def leaves_below(loops, roots):
    """The leaves of the bodies of `loops` that `roots` depend on, each with the first loop that has it."""
    return _first_below(roots, lambda node: next((o for o in loops if node in o.leaves), None))


def _first_below(roots, reached):
    """The nodes below `roots`, or among them, for which `reached(node)` gives a loop, each with that; none below these."""
    found, seen, stack = {}, set(), [r for r in roots if isinstance(r, Symbol)]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        loop = reached(node)
        if loop is not None:
            found[node] = loop
        else:
            stack.extend(node.inputs)
    return found


def _is_move(node):
    return node.shape is not None and node.op is not None and node.op.name in _MOVES and len(node.inputs) == 1


def _explored(roots, cuts, inside):
    """The nodes that change from iteration to iteration, or are `inside` anyway, and those that they need and that do not."""
    inside, captured, changes = set(inside), {}, dict.fromkeys(cuts, True)

    def is_changing(node):
        if node not in inside and not any([changes[a] for a in node.inputs]):
            return False
        # At the edge only: what is the same in each iteration is computed outside, whole.
        captured.update(dict.fromkeys([a for a in node.inputs if not changes[a]]))
        return True

    complete(changes, roots, is_changing)
    captured.update(dict.fromkeys([r for r in roots if not changes[r]]))
    return {node for node, changing in changes.items() if changing}, list(captured)
