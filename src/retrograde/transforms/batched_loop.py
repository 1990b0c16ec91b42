"""Batched loops: a loop of examples inside the vmap, and its derivative.

That is another such loop, which goes the other way: its body calls the body again, from what was carried before that iteration, and
walks back through it. So it has derivatives of any order.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import tree
from ..compiler.graph.loop_op import Rows
from ..core.gradient import gradient
from ..core.mode import current, enable_grad, is_recording, rewound
from ..core.value import Projection, Record, Value
from ..dtypes import is_float
from ..errors import GraphError
from ..ops._arrays import arrays
from ..ops.elementary.arithmetic import positive
from ..ops.random.draws import unnoted
from ..tensor.creation import asarray
from .carry_checks import dtype_of, shape_of, writable
from .loop_sums import sum_over_iterations


def has_record(x):
    """Whether `x` is a value with a history."""
    return isinstance(x, Value) and x.record is not None


def linked(op, finals, stacked):
    """What a loop of examples gives, with a history by `op`, a `BatchedLoop`, if it has one."""
    if not op.loop.has_history():
        return finals, stacked
    record = Record().filled(op, tuple([x.record for x in op.sources()]) + op.loop.parents, ())
    values = [*finals, *stacked]
    values = [op.result(record, i, x) if is_float(x.dtype) else x for i, x in enumerate(values)]
    return values[: len(finals)], values[len(finals) :]


def check_steps(length):
    """Raise unless it is known how many steps a loop has, so that as many may be kept for its derivative."""
    if length is None:
        raise GraphError("a while_loop, or a fori_loop with bounds that are computed, cannot be differentiated under jit by "
                         "backward or grad, since nobody knows how many steps to keep; use rg.scan, bounds that are numbers, "
                         "or rg.jvp")



def walked_back(outputs, targets, seeds, is_again):
    """The gradients of an iteration's `targets`, as values; None where there is none."""
    found = gradient(outputs, targets, seeds, create_graph=is_again, stops_at_targets=True)
    return [c if c is None or isinstance(c, Value) else asarray(np.asarray(c)) for c in found]


class BatchedLoop:
    """The op of a loop of examples. Its parents are those of what it starts with, of its rows, and what its body uses from outside;
    its results are what it carries in the end, what it stacks, and what it carried before each iteration.
    """

    rules, name, algebra = None, "scan", arrays
    # Not an attribute: an object that holds itself is freed by the cycle collector only.
    joint = property(lambda self: self)

    def __init__(self, loop, length, reverse, is_checkpoint):
        self.loop, self.length, self.reverse, self.is_checkpoint = loop, length, reverse, is_checkpoint
        # Every float that is carried: which of them a derivative flows through is known only once the body has been walked, in
        # `Back`.
        self.flowing = [i for i, x in enumerate(loop.starts) if is_float(dtype_of(x))]
        self._starts = [i for i in self.flowing if has_record(loop.starts[i])]
        self._rows = [i for i, x in enumerate(loop.rows) if has_record(x)]

    def sources(self):
        """The values with a history that it starts with, and is handed."""
        return [*[self.loop.starts[i] for i in self._starts], *[self.loop.rows[i] for i in self._rows]]

    def result(self, record, number, value):
        """Result `number`, with its history."""
        return arrays.made(value.raw, Projection(record, number, 2 * len(self.loop.starts) + len(self.loop.made)))

    def revived(self, record):
        """The record itself, so that what was carried can be differentiated again."""
        return (record,)

    def function(self, g, needs, *saved):
        """The gradients of all parents from those of the results."""
        check_steps(self.length)
        loop, split = self.loop, len(self._starts) + len(self._rows)
        of_rows = [i for i, needed in zip(self._rows, needs[len(self._starts) :], strict=False) if needed]
        back = Back(self, self._before(*saved), g, of_rows, [p for p, n in zip(loop.parents, needs[split:], strict=True) if n])
        carried, rows = back.run(current().tracer)
        starts, sums = carried[: len(self.flowing)], iter(carried[len(self.flowing) :])
        rows = dict(zip(of_rows, rows, strict=True))
        return (*[starts[self.flowing.index(i)] for i in self._starts], *[rows.get(i) for i in self._rows],
                *[next(sums) if needed else None for needed in needs[split:]])

    def _before(self, record=None):
        """What was carried before each iteration; with its history if the `record` is given."""
        first, before = len(self.loop.starts) + len(self.loop.made), self.loop.before
        if record is None:
            return before
        return [self.result(record, first + i, x) if i in self.flowing else x for i, x in enumerate(before)]


@dataclass
class Body:
    """What `Back` asks of a loop: as of `Examples`."""

    call: Any
    starts: list
    rows: list
    written: list
    past: object
    made: list = field(default_factory=list)
    states: list = field(default_factory=list)


class Back:
    """The loop that goes back through a `BatchedLoop`: it carries the cotangents of what that carried, and the sums of those of
    what the body uses from outside.

    before  what was carried before each iteration
    g       the cotangents of the results
    rows    the numbers of the rows whose cotangents are wanted, and `parents`, the records for which they are
    """

    def __init__(self, op, before, g, rows, parents):
        self._loop, self._op, self._rows, self._parents = op.loop, op, rows, parents
        self._flowing = op.flowing
        starts, made = len(op.loop.starts), len(op.loop.made)
        self._of_ends, self._of_made, of_before = g[:starts], list(g[starts : starts + made]), g[starts + made :]
        handed = before, list(op.loop.rows), self._of_made, [of_before[i] for i in self._flowing], op.loop.states
        self._handed, self._build = tree.flatten(handed)
        self._is_again = is_recording()

    def run(self, tracer):
        """(what is carried in the end, followed by the sums, and the cotangents of rows); None for sums of nothing."""
        like, known = [self._loop.starts[i] for i in self._flowing], self._totals(tracer)
        added, plans = [i for i, x in known.items() if x is not None], {}
        starts = [_zeros(x) if self._of_ends[i] is None else self._of_ends[i] for i, x in zip(self._flowing, like, strict=True)]

        def iteration(carried, handed):
            mark = tracer.mark()
            of_carried, of_parents, of_rows = self._pulled(tracer, carried[: len(like)], self._build(handed))
            # What an iteration is handed is there before it is called.
            changing = tracer.since(mark).union(map(tracer.symbol, (*carried, *handed)))
            plans.update({i: sum_over_iterations(tracer.symbol(of_parents[i]), changing) for i, x in known.items() if x is None})
            totals = [t + of_parents[i] for t, i in zip(carried[len(like) :], added, strict=True)]
            return [*of_carried, *totals], [*of_rows, *map(arrays.made, _needed(plans))]

        ends, rows = tracer.scan(tracer, iteration, [*starts, *[known[i] for i in added]], self._handed, list, self._op.length,
                                 not self._op.reverse, self._op.is_checkpoint)
        stacks = _Stacks(self._op.length, dict(zip(_needed(plans), rows[len(self._rows) :], strict=True)))
        sums = {i: plan.build(stacks) for i, plan in plans.items()} | dict(zip(added, ends[len(like) :], strict=True))
        return [*ends[: len(like)], *map(sums.get, range(len(self._parents)))], rows[: len(self._rows)]

    def _totals(self, tracer):
        """For each of the parents that gets a cotangent, by its number: what its sum starts with if it is added up in the loop,
        None where it is computed after the loop.
        """
        if not self._parents:
            return {}
        with tracer.attempt(), unnoted():
            mark = tracer.mark()
            carried = [tracer.blank(shape_of(x), dtype_of(x)) for x in (self._loop.starts[i] for i in self._flowing)]
            found = self._pulled(tracer, carried, self._build([tracer.blank(x.shape[1:], x.dtype) for x in self._handed]))[1]
            changing = tracer.since(mark)
        is_planned = lambda c: not self._is_again and sum_over_iterations(tracer.symbol(c), changing) is not None
        return {i: None if is_planned(c) else _zeros(c) for i, c in enumerate(found) if c is not None}

    def _pulled(self, tracer, carried, handed):
        """The cotangents after one iteration, from those before it: of what is carried, of parents, of rows."""
        before, rows, of_made, of_before, states = handed
        with ExitStack() as past:
            # What the body reads may have been written to since the loop: all is as it was when it began, and what the body
            # writes to is as it was before this iteration.
            past.enter_context(rewound(self._loop.past))
            past.enter_context(enable_grad())
            past.enter_context(unnoted())
            past.enter_context(tracer.holding(self._loop.written, states))
            before, rows = [self._fresh(x) for x in before], [self._fresh(x) for x in rows]
            after, made = self._loop.call(list(map(writable, before)), list(map(writable, rows)))
        pairs = [*zip([after[i] for i in self._flowing], carried, strict=True), *zip(made, of_made, strict=True)]
        pairs = [(x, c) for x, c in pairs if c is not None and has_record(x)]
        flowing, wanted = [before[i] for i in self._flowing], [rows[i] for i in self._rows]
        targets = [*flowing, *wanted, *[p.algebra.made(None, p) for p in self._parents]]
        found = [None] * len(targets)
        if pairs:
            found = walked_back([x for x, _ in pairs], targets, [c for _, c in pairs], self._is_again)
        split, end = len(flowing), len(flowing) + len(wanted)
        of_carried = [_filled(*pair) for pair in zip(flowing, found[:split], strict=True)]
        of_carried = [c if more is None else c + more for c, more in zip(of_carried, of_before, strict=True)]
        return of_carried, found[end:], [_filled(*pair) for pair in zip(wanted, found[split:end], strict=True)]

    def _fresh(self, x):
        """`x` as a target of the walk; linked to itself if that is differentiated again."""
        if not isinstance(x, Value) or not is_float(x.dtype):
            return x
        return positive(x) if self._is_again and x.record is not None else x.unlinked().requires_grad_()


class _Stacks:
    """What a sum over all iterations is made of: nodes of an iteration, and what they were in all."""

    # `Sum.build` asks for the stacks of a loop, and for views of them.
    loop = property(lambda self: self)

    def __init__(self, length, stacks):
        self.length, self._stacks = length, stacks

    def stacked(self, node):
        """The rows of a node."""
        return Rows(self._stacks[node].raw, 0)

    def view(self, rows):
        """Rows as a value."""
        return arrays.made(rows.stack)


def _needed(plans):
    return list(dict.fromkeys([node for plan in plans.values() for node in plan.needed]))


def _filled(like, cotangent):
    return _zeros(like) if cotangent is None else cotangent


def _zeros(like):
    return np.broadcast_to(np.zeros((), dtype_of(like)), shape_of(like))
