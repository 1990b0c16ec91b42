"""Shortened: a graph in which layers repeat, without most of them, so that it is planned once for all.

What a layer of the full graph computes of what, one of the short graph does as well: where layers left out stood, those before them
and after them refer to each other. The program of the full graph is that of the short one with the launches of one layer repeated.
"""

from collections import Counter

import numpy as np

from ...core.symbol import Outputs, Symbol, replaced
from .repeats import Label, Repeats, repeats
from .signatures import Signatures, contents_of

#: The fewest layers that are worth it.
LEAST_LAYERS = 10
#: How many layers that are like the others stay before those that are left out, and as many after them. The launches of most
#: programs repeat among the fewest; those of small layers, where loops reach from one into the next, may need more.
_FEWEST, _MOST = 2, 3


class Short:
    """The `graph` without the layers after `cut`, `count` of them: `kept` that are like these stay on each side.

    nodes    those of the full graph, in order, with the number of each by node: they are the first items of the sequence
    """

    def __init__(self, full, nodes, numbers, found: Repeats, kept):
        self.full, self._nodes, self._numbers, self._found, self._kept = full, nodes, numbers, found, kept
        self.cut = cut = found.low + kept - 1
        self.count = count = found.high - kept - cut
        #: Where in the sequence the updates stand, and then what is held.
        self._updates = len(nodes) + len(full.results)
        self._held = self._updates + len(full.updates)
        self._is_left_out = found.within(cut + 1, cut + count)
        #: The numbers in the full graph of what the short one holds.
        self.held_numbers = np.flatnonzero(~self._is_left_out[self._held :]).tolist()
        self.graph = self._made()

    def _made(self):
        """The graph, whose nodes are made anew, but for leaves."""
        full, made, numbers = self.full, {}, self._numbers
        for number in np.flatnonzero(~self._is_left_out[: len(self._nodes)]).tolist():
            node = self._nodes[number]
            args = replaced(node.args, lambda a, number=number: made[self._stand_in(numbers[a], number)])
            made[number] = node if node.op is None else Symbol(node.op, args, node.shape, node.dtype)

        def kept(node, by):
            # A leaf that is only written to is no item.
            is_item = isinstance(node, Symbol) and node in numbers
            return made[self._stand_in(numbers[node], by)] if is_item else node

        updates = [(kept(leaf, by), kept(node, by)) for by, (leaf, node) in enumerate(full.updates, self._updates)
                   if not self._is_left_out[by]]
        held = [kept(full.held[number], self._held + number) for number in self.held_numbers]
        results = [kept(node, by) for by, node in enumerate(full.results, len(self._nodes))]
        state = [leaf for leaf in full.state if leaf not in numbers or not self._is_left_out[numbers[leaf]]]
        return full._replace(state=state, results=results, updates=updates, held=held)

    def _stand_in(self, number, by):
        """The item that `by` refers to in place of another, which is left out."""
        if not self._is_left_out[number]:
            return number
        # Those before the cut refer to what is as far behind it.
        label, apart = self._found.label(number), self.count if self._found.label(by).layer <= self.cut else -self.count
        return self._found.item(label._replace(layer=label.layer + apart))

    def place_of(self, leaf):
        """((run, place), layer) of a leaf of the short graph, whose layers are counted without those left out; None of one that no
        layer has for itself.
        """
        number = self._numbers.get(leaf)
        return None if number is None else self._place(number)

    def leaf(self, key, layer):
        """The leaf at a place in a layer of the full graph."""
        return self._nodes[self._item(key, layer)]

    def place_of_held(self, number):
        """As `place_of`, of what the short graph holds."""
        return self._place(self._held + self.held_numbers[number])

    def held(self, key, layer):
        """The number in the full graph of what is held, by its place and layer."""
        return self._item(key, layer) - self._held

    def _place(self, number):
        label = self._found.label(number)
        if label is None:
            return None
        return (label.run, label.place), label.layer - (self.count if label.layer > self.cut else 0)

    def _item(self, key, layer):
        return self._found.item(Label(*key, layer))

    @property
    def alike(self):
        """How many layers of the short graph are like those left out."""
        return 2 * self._kept

    def longer(self):
        """One with more layers of the same graph; None if they are no help."""
        return _short(self._kept + 1, self.full, self._nodes, self._numbers, self._found)

    @property
    def told(self):
        """What tells the full graph from others with the same short one."""
        state = [self._numbers.get(leaf, -1) for leaf in self.full.state]
        return self.cut, self.count, [tuple(run) for run in self._found.runs], state


def shortened(graph):
    """The `Short` of a graph; None if too few of its layers are alike."""
    nodes = Outputs([*graph.results, *[node for _, node in graph.updates], *graph.held]).nodes
    if not _may_repeat(nodes):
        return None
    numbers = {node: number for number, node in enumerate(nodes)}
    tokens, operands = _sequence(graph, nodes, numbers)
    found = repeats(tokens, operands, LEAST_LAYERS, is_strict=True)
    if found is None or not found.are_chained or _is_drawn(nodes, found):
        return None
    return _short(_FEWEST, graph, nodes, numbers, found)


def _short(fewest, graph, nodes, numbers, found):
    """The `Short` of a graph that keeps the fewest layers that will do; None without any."""
    for kept in range(fewest, _MOST + 1):
        first, last = found.low + kept, found.high - kept
        if last <= first or found.met_from_outside(first, last):
            continue
        try:
            short = Short(graph, nodes, numbers, found, kept)
        except IndexError:  # a layer refers to one that is further away than there are others
            continue
        # By leaves and gradients layers are known among launches. Those without any are loops that Python unrolled.
        if len(short.graph.state) < len(graph.state) or len(short.graph.held) < len(graph.held):
            return short
    return None


def _may_repeat(nodes):
    """Whether half of the nodes are of ops of which there are as many as layers: a quick look, since most graphs have none."""
    if len(nodes) < LEAST_LAYERS * 8:
        return False
    counts = Counter([node.op for node in nodes])
    return 2 * sum([count for count in counts.values() if count >= LEAST_LAYERS]) >= len(nodes)


def _is_drawn(nodes, found):
    """Whether layers draw random numbers: their launches differ in how far a generator has gone, and cannot be repeated."""
    of_one = np.flatnonzero(found.within(found.low, found.low)[: len(nodes)]).tolist()
    return any([getattr(nodes[number].op, "name", "").startswith("random_") for number in of_one])


def _sequence(graph, nodes, numbers):
    """(tokens, operands) of the nodes, and after them of results, updates and what is held."""
    # Each layer may have constants of its own, as that by which a generator goes on.
    signatures = Signatures(contents_of)
    # Most nodes of a deep network are those of the updates of its parameters, which are copies of a few.
    tokens = [signatures[node if node.pattern is None else node.pattern][0] for node in nodes]
    operands = [[numbers[a] for a in node.inputs] for node in nodes]
    for leaf in graph.inputs:  # of which each is another one
        if leaf in numbers:
            tokens[numbers[leaf]] = signatures.number(("input", id(leaf)))
    for n, result in enumerate(graph.results):
        tokens.append(signatures.number(("result", n)))
        operands.append(_numbers(numbers, result))
    for leaf, node in graph.updates:
        tokens.append(signatures.number(("update", leaf.shape, leaf.dtype, _told(signatures, node))))
        operands.append(_numbers(numbers, leaf, node))
    for node in graph.held:
        tokens.append(signatures.number(("held", _told(signatures, node))))
        operands.append(_numbers(numbers, node))
    return tokens, operands


def _told(signatures, node):
    """What tells an output from others."""
    return signatures[node][0] if isinstance(node, Symbol) else ("constant", id(node))


def _numbers(numbers, *found):
    return [numbers[node] for node in found if isinstance(node, Symbol) and node in numbers]
