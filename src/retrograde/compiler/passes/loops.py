"""Loops: which loops compute which nodes, found for all of them in one walk from results to operands.

The loops of one stage over one domain count as one, whether they are one step or several. A node is computed by a loop that stores
it, or that computes another node of which it is an operand, unless the loop reads it from memory.
"""

from functools import cached_property


class Loops:
    """The loops of some steps, by number; a node that is `available` to later stages than one is read from memory by these."""

    def __init__(self, nodes, steps, available):
        self._nodes, self._available, numbers, self._own = nodes, available, {}, {}
        for step in steps:
            if step.kernel.fuses:
                number = numbers.setdefault((step.stage, step.domain), len(numbers))
                self._own.update(dict.fromkeys(step.roots, number))
        self._loops = list(numbers)
        self._stages = [stage for stage, _ in self._loops]

    @cached_property
    def computed(self):
        """For each node that is computed by loops the number of the one that does, or a frozenset of several."""
        return self._walked(lambda node, number: number)

    def of(self, nodes):
        """(stage, domain) of the loops that compute one of some nodes."""
        found = {number for node in nodes if node in self.computed for number in _several(self.computed[node])}
        return {self._loops[number] for number in found}

    def at_several_stages(self):
        """The nodes that loops of more than one stage compute."""
        stages = self._stages
        several = [(node, numbers) for node, numbers in self.computed.items() if numbers.__class__ is frozenset]
        return [node for node, numbers in several if len({stages[number] for number in numbers}) > 1]

    def met_first(self, some, stages):
        """Those of `some` nodes that a loop of a later stage than their own needs itself, rather than for another one of them."""
        found = set()

        def beyond(node, number):
            if node not in some:
                return number
            late = {n for n in _several(number) if stages[node] < self._stages[n]}
            if late:
                found.add(node)
            return _one_or_several(_several(number) - late)

        self._walked(beyond)
        return found

    def _walked(self, beyond):
        """As `computed`, where only the loops that `beyond(node, these)` leaves go on from a node to its operands."""
        found, available, stages = self._own.copy(), self._available, self._stages
        for node in reversed(self._nodes):
            number = found.get(node)
            if number is None or not node.inputs or (number := beyond(node, number)) is None:
                continue
            if number.__class__ is int:  # mostly
                stage = stages[number]
                for a in node.inputs:
                    if available.get(a, stage) >= stage and (other := found.setdefault(a, number)) != number:
                        found[a] = _several(other) | {number}
                continue
            for a in node.inputs:
                needed = {n for n in number if available.get(a, stages[n]) >= stages[n]}
                if needed:
                    found[a] = _one_or_several(needed | _several(found[a]) if a in found else needed)
        return found


def _several(number):
    return number if number.__class__ is frozenset else frozenset([number])


def _one_or_several(numbers):
    """Some numbers of loops: None, one, or a frozenset of several."""
    return frozenset(numbers) if len(numbers) > 1 else next(iter(numbers), None)
