"""Formulas: what is computed alike of many operands, as the update of each parameter, is recorded twice and copied for the others.

A copy is the nodes that recording would put down, at a tenth of the time: no op is called, and no shape is asked for. The second
recording tells what the first one cannot: that it is the same for other operands, and which of its numbers are made anew each time.
"""

from typing import NamedTuple

from ...core.symbol import Symbol, replaced

_NESTED = frozenset([tuple, list])


class _Copied(NamedTuple):
    """A node that each copy of a formula has for itself: whether symbols are among its arguments alone, and not within others, and
    where among these are numbers of the formula's own.
    """

    node: Symbol
    is_flat: bool
    own: tuple


class Formula(NamedTuple):
    """What was recorded of a formula.

    operands  by the number of each operand its node, in the order in which they were read first: that is the order of state
    nodes     those that it put down, arguments first
    results   what it gave, as (algebra, node)
    copies    what is copied, once it is known. Numbers that are other objects in each recording are so in each copy: which
              constants of a loop are one object decides how often they are written
    """

    operands: dict
    nodes: list
    results: list
    copies: tuple = ()

    def agreed(self, other):
        """This formula, of which is known what is copied, if `other` is the same for other operands; None if it is not."""
        if list(self.operands) != list(other.operands) or len(self.nodes) != len(other.nodes):
            return None
        pairs = dict(zip(self.operands.values(), other.operands.values(), strict=True))
        own = set()
        for one, two in zip(self.nodes, other.nodes, strict=True):
            if (one.op, one.shape, one.dtype) != (two.op, two.shape, two.dtype) or not _are_alike(one.args, two.args, pairs, own):
                return None
            pairs[one] = two
        are_results = [(algebra, pairs.get(node, node)) for algebra, node in self.results] == other.results
        return self._replace(copies=tuple(self._copies(own))) if are_results else None

    def _copies(self, own):
        """What is copied, if `own` are the identities of the formula's own numbers. What depends on no operand, such as a factor
        that all share, is the node that is there.
        """
        made = set(self.operands.values())
        for node in self.nodes:
            if not made.isdisjoint(node.inputs):
                made.add(node)
                is_flat = len(node.inputs) == len([a for a in node.args if isinstance(a, Symbol)])
                yield _Copied(node, is_flat, tuple([place for place, a in enumerate(node.args) if id(a) in own]))

    def copied(self, trace, values):
        """What the formula gives for other values."""
        made = {node: trace.symbol(values[number]) for number, node in self.operands.items()}
        numbers = {}
        for node, is_flat, own in self.copies:
            if is_flat:
                args = [made.get(a, a) if a.__class__ is Symbol else a for a in node.args]
            else:
                args = [*replaced(node.args, lambda a: made.get(a, a))]
            for place in own:
                args[place] = numbers.setdefault(id(args[place]), _anew(args[place]))
            made[node] = trace.copied(node, tuple(args))
        return [trace.value(algebra, made.get(node, node)) for algebra, node in self.results]


def applied(trace, known, key, formula, values):
    """`formula(*values)`, a list of values, which depends on the specs of the values and on `key` alone. It is kept in `known` for
    other values, unless it did more than compute: numbers that are drawn, say, must be others each time.
    """
    key = key, tuple([(value.shape, value.dtype) for value in values])
    first, is_sure = known.get(key, (None, False))
    if is_sure:
        return formula(*values) if first is None else first.copied(trace, values)
    found, recorded = _recorded(trace, formula, values)
    if first is None:
        known[key] = recorded, recorded is None
    else:
        known[key] = None if recorded is None else first.agreed(recorded), True
    return found


def _recorded(trace, formula, values):
    """What a formula gives for some values, and the `Formula` that was recorded, None of one that did more than compute."""
    nodes, noted = [], _noted(trace)
    trace.logs.append(nodes)
    try:
        found = formula(*values)
    finally:
        trace.logs.pop()
    read = [(number, symbol) for number, symbol in _read(trace, values) if symbol is not None]
    operands = dict(read)
    # Two operands of one node could not be told apart.
    is_plain = len(set(operands.values())) == len(operands) and all([isinstance(value.raw, Symbol) for value in found])
    if not is_plain or _noted(trace) != noted:
        return found, None
    return found, Formula(operands, nodes, [(value.algebra, value.raw) for value in found])


def _are_alike(one, two, pairs, own):
    """Whether two lists of arguments are the same but for nodes, which stand in `pairs`, and for numbers that are equal and not one
    object, whose identities are added to `own`.
    """
    if len(one) != len(two):
        return False
    for a, b in zip(one, two, strict=True):
        if isinstance(a, Symbol):
            if pairs.get(a, a) is not b:
                return False
        elif a.__class__ in _NESTED:
            # Numbers within are sizes and places, whose identity nobody asks for.
            if a.__class__ is not b.__class__ or not _are_alike(a, b, pairs, set()):
                return False
        elif a is not b:
            if a.__class__ is not b.__class__ or a.__class__ not in (int, float) or repr(a) != repr(b):
                return False
            own.add(id(a))
    return True


def _anew(number):
    """The same number as another object: times 1 it keeps the sign of zero, and NaN."""
    return number * 1.0 if number.__class__ is float else number + 0


def _read(trace, values):
    """(number, node) of each of some values, None if it was not read; those from outside in the order in which they were."""
    captures = trace.captures
    places = {key: place for place, key in enumerate(captures)}
    for number in sorted(range(len(values)), key=lambda number: places.get(id(values[number]), -1)):
        value = values[number]
        is_known = isinstance(value.raw, Symbol) or id(value) in captures
        yield number, trace.symbol(value) if is_known else None


def _noted(trace):
    """How much a trace takes for granted: what a formula adds to it, as by reading a number, must be asked of all operands. What it
    writes is not among what it gives.
    """
    return [trace.changes, *[len(noted) for noted in (trace.numbers, trace.watched, trace.edits, trace.in_rows, trace.gradients)]]
