"""Recurrence: a loop in a trace. Its body is recorded once; its derivative is another loop, which runs the other way.

The body of the derivative is the derivative of the body: the same walk through the same records, with the cotangents of an
iteration as leaves. What it reads of the body forward is either computed again from what was carried, or kept for each iteration.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..compiler.graph.loop_op import Carry, Loop, Rows, frontier, leaves_below
from ..core.graph import ancestors
from ..core.mode import changed, current, enable_grad, is_recording, no_grad
from ..core.symbol import Symbol
from ..core.value import Projection, Record, Value, tick
from ..dtypes import is_float
from ..errors import GraphError
from ..ops._arrays import arrays
from ..ops.manipulation.movements import broadcast_to
from ..tensor.tensor import Tensor
from .batched_loop import Back, BatchedLoop, check_steps, walked_back
from .forward_loop import ForwardLoop
from .loop_sums import sum_over_iterations


@dataclass
class Carried:
    """One thing that is carried: where it starts (None for zeros), its leaf in the body, and what it becomes."""

    start: Any
    node: Any
    leaf: Value
    out: Any = None


@dataclass
class Recurrence:
    """A loop in a trace, and the op of its record.

    length, count  the number of iterations, or a node that holds the greatest number of iterations
    windows        the times during which records of the body were made: all others are outside of it
    carries        what is carried
    handed         (leaf, value whose row it stands for)
    made           what the body gives for each iteration: values of the body; of a loop without a length, whether it goes on
    bindings       (node of the body, the rows that stand for it)
    loops          of a derivative: the loops whose iterations its body may read
    body           how its body is called, as a `Body`; None of a derivative
    again, past    of a loop without a length: what runs another one as often, from (call, starts) to what is carried in the end;
                   and what tensors from outside held when this one began
    finals         what is carried after the last iteration
    stacked        what `made` was in all iterations

    Once it is finished with a record: the `outside` records that its body depends on, and by their numbers the carries through
    which a derivative flows (`flowing`), those of them that start with what has a history (`starts`), and those handed in
    whose gradient is wanted (`rows`); `width` is the number of its results, in which the history of each carry counts too.
    """

    tracer: Any
    length: int
    reverse: bool
    is_checkpoint: bool
    windows: list = field(default_factory=list)
    carries: list = field(default_factory=list)
    handed: list = field(default_factory=list)
    made: list = field(default_factory=list)
    count: Any = None
    bindings: list = field(default_factory=list)
    loops: list = field(default_factory=list)
    loop: Any = None
    body: Any = None
    again: Any = None
    past: Any = None
    finals: list = field(default_factory=list)
    stacked: list = field(default_factory=list)
    outside: list = field(default_factory=list)
    flowing: list = field(default_factory=list)
    starts: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    width: int = 0

    rules, name, algebra = None, "scan", arrays
    # Not an attribute: an object that holds itself is freed by the cycle collector only.
    joint = property(lambda self: self)

    def node(self, value):
        """The node of a value, or a constant."""
        return self.tracer.symbol(value) if isinstance(value, Value) else np.asarray(value)

    def close(self, bindings, others=()):
        """The loop, once its body is known; `others` are nodes that will be asked for."""
        carries = [Carry(c.leaf.raw, c.node, self.node(c.out)) for c in self.carries]
        nodes = [self.node(y) for y in self.made]
        if self.length is None:
            return Loop(None, carries, bindings, [], count=self.count, condition=nodes[0])
        return Loop(self.length, carries, bindings, [*nodes, *others], self.reverse)

    def finish(self, loop):
        """Find the values that the loop gives."""
        self.loop = loop
        self.finals = [arrays.made(loop.final(i)) for i in range(len(self.carries))]
        self.stacked = [] if self.length is None else [self._rows_of(y) for y in self.made]

    def _rows_of(self, y):
        node = self.node(y)
        if isinstance(node, Symbol) and node in self.loop.nodes:
            return self.view(self.loop.stacked(node))
        return broadcast_to(y, (self.length, *node.shape))

    def view(self, rows):
        """A stack's rows as a value."""
        whole = arrays.made(rows.stack) if isinstance(rows.stack, Symbol) else rows.stack
        if whole.shape[0] == self.length:
            return whole
        with no_grad():
            return whole[rows.first : rows.first + self.length]

    def _is_inside(self, record):
        return any([start <= record.order <= end for start, end in self.windows])

    def link(self):
        """Give the results their history."""
        inside, self.outside = self._records()
        needed = {*[leaf.record for leaf, source in self._leaves() if _record_of(source) is not None], *self.outside}
        flows = self._flowing(inside, needed)
        if not flows:
            self.outside = []
            return
        self.flowing = [i for i, c in enumerate(self.carries) if c.leaf.record in flows]
        self.rows = [i for i, (leaf, _) in enumerate(self.handed) if leaf.record in needed and leaf.record is not None]
        self.starts = [i for i in self.flowing if _record_of(self.carries[i].start) is not None]
        starts, rows = [self.carries[i].start for i in self.starts], [self.handed[i][1] for i in self.rows]
        record = Record().filled(self, (*[value.record for value in (*starts, *rows)], *self.outside), ())
        self._link_results(record, flows)

    def _given(self):
        """What the body gives for each iteration, of a loop with a length."""
        return [] if self.length is None else self.made

    def _leaves(self):
        """(leaf of the body, what it stands for outside) of all leaves that can have a derivative."""
        pairs = [*[(c.leaf, c.start) for c in self.carries], *self.handed]
        return [(leaf, source) for leaf, source in pairs if leaf.record is not None]

    def _records(self):
        """The records that the body made, in the order of a walk back, and those outside which they depend on."""
        roots = [r for v in (*[c.out for c in self.carries], *self._given()) if (r := _record_of(v)) is not None]
        inside = [r for r in ancestors(roots, self.windows[0][0]) if self._is_inside(r)] if roots else []
        parents = [p for r in inside for p in r.parents if p is not None]
        return inside, list(dict.fromkeys([r for r in (*parents, *roots) if not self._is_inside(r)]))

    def _link_results(self, record, flows):
        """Let `record` be the history of the results through which a derivative flows."""
        self.width = 2 * len(self.carries) + len(self._given())
        for i, c in enumerate(self.carries):
            if isinstance(c.out, Value) and c.out.record in flows and is_float(c.out.dtype):
                self.finals[i] = arrays.made(self.finals[i].raw, Projection(record, i, self.width))
        for j, y in enumerate(self._given(), len(self.carries)):
            # What the body gives as it found it outside has the history that it had there.
            if (own := _record_of(y)) in flows and self._is_inside(own):
                row = j - len(self.carries)
                self.stacked[row] = arrays.made(self.tracer.symbol(self.stacked[row]), Projection(record, j, self.width))

    def _flowing(self, inside, needed):
        """The records through which a derivative flows that something outside may want."""
        flows = set(needed)
        while True:
            for record in inside:
                if not flows.isdisjoint(record.parents):
                    flows.add(record)
            # What flows into a carry comes in at its leaf in the next iteration, so that more may flow then: again until nothing
            # is new.
            more = {c.leaf.record for c in self.carries if c.leaf.record is not None and isinstance(c.out, Value)
                    and c.out.record in flows} - flows
            if not more:
                return flows - {None}
            flows |= more

    # The derivative.
    def revived(self, record):
        """The record itself, so that what was carried can be differentiated again."""
        return (record,)

    def function(self, g, needs, *saved):
        """The gradients of what the loop depends on, from those of what it gives."""
        if self.length is None and self.body is not None and is_recording() and current().tracer is self.tracer:
            return self._ahead(g, needs, *saved)
        check_steps(self.length)
        # The loop's nodes are of a trace that does not know of examples: a loop is made again, in which each example has its own.
        if current().tracer is not self.tracer:
            return self._for_examples(g, needs, *saved)
        # A derivative that may be differentiated again is recorded as the loop itself was: its body has records, in a window of
        # time of its own.
        is_again, start = is_recording(), tick()
        back = Recurrence(self.tracer, self.length, not self.reverse, self.is_checkpoint)
        outputs, seeds = self._seeds(back, g, is_again)
        wanted = needs[len(self.starts) + len(self.rows) :]
        outside = [r for r, is_wanted in zip(self.outside, wanted, strict=True) if is_wanted]
        targets = [self.carries[i].leaf for i in self.flowing] + [self.handed[i][0] for i in self.rows]
        # Values without data stand for records outside: the walk asks for their history alone.
        targets += [r.algebra.made(None, r) for r in outside]
        with self.tracer.world.refusing():
            found = walked_back(outputs, targets, seeds, is_again)
        split, end = len(self.flowing), len(self.flowing) + len(self.rows)
        for carry, c in zip(back.carries, found[:split], strict=True):
            carry.out = _zeros(carry.leaf) if c is None else c
        back.made = [_zeros(self.handed[i][0]) if c is None else c for i, c in zip(self.rows, found[split:end], strict=True)]
        sums = self._with_sums(back, found[end:], start, is_again, saved)
        sums = dict(zip(outside, sums, strict=True))
        of_starts = [back.finals[self.flowing.index(i)] for i in self.starts]
        return (*of_starts, *back.stacked[: len(self.rows)], *[sums.get(r) for r in self.outside])

    def _ahead(self, g, needs, record):
        """As `function`, where nobody knows how many iterations to walk back through; the walk may be differentiated in turn."""
        outside = [r for r, is_wanted in zip(self.outside, needs[len(self.starts) :], strict=True) if is_wanted]
        outs = [c.out for c in self.carries if isinstance(c.out, Value) and c.out.record is not None]
        likes = walked_back(outs, [r.algebra.made(None, r) for r in outside], [_seed(x, True) for x in outs], True)
        starts = [self.carries[i].leaf if needed else None for i, needed in zip(self.starts, needs, strict=False)]
        of_outside = dict(zip(outside, likes, strict=True))
        ahead = ForwardLoop(self.body, self.flowing, self.starts, self.outside, self.again, self.past)
        return ahead.walk(g[: len(self.body.starts)], [*starts, *map(of_outside.get, self.outside)], record.parents)

    def _for_examples(self, g, needs, record=None):
        """As `function`, where the walk is in a vmap that the loop is not in: for each example, with other cotangents."""
        if self.body is None:
            raise GraphError("within vmap, a pullback cannot walk through the derivative of a loop outside; take both "
                             "derivatives within vmap, or use rg.hessian")
        op = BatchedLoop(self.body, self.length, self.reverse, self.is_checkpoint)
        carries, made = len(self.carries), len(self.made)
        with changed(tracer=self.tracer):
            before = [self.view(self.loop.stacked(c.leaf.raw)) for c in self.carries]
        if record is not None:
            links = {i: Projection(record, carries + made + i, self.width) for i in self.flowing}
            before = [arrays.made(x.raw, links.get(i)) for i, x in enumerate(before)]
        count, split = len(self.body.starts), len(self.starts) + len(self.rows)
        if any([number >= count for number in self.flowing]):
            raise GraphError("within vmap, a pullback cannot walk through a loop outside that writes to a tensor from outside what "
                             "has a gradient; carry it along")
        self.body.made, self.body.states = self.made, before[count:]
        g = [*g[:count], *g[carries : carries + made], *g[carries + made :][:count]]
        parents = [r for r, needed in zip(self.outside, needs[split:], strict=True) if needed]
        ends, rows = Back(op, before[:count], g, self.rows, parents).run(current().tracer)
        sums = dict(zip(parents, ends[len(op.flowing) :], strict=True))
        return (*[ends[op.flowing.index(i)] for i in self.starts], *rows, *map(sums.get, self.outside))

    def _seeds(self, back, g, is_again):
        """What the walk through the body starts from: outputs, and leaves for their cotangents."""
        outputs, seeds, count = [], [], len(self.carries)
        for i in self.flowing:
            c, given = self.carries[i], g[i]
            node = _zeros(c.leaf) if given is None else self.node(given)
            leaf = _seed(c.leaf, is_again)
            back.carries.append(Carried(given, node, leaf))
            if isinstance(c.out, Value) and c.out.record is not None:
                outputs, seeds = [*outputs, c.out], [*seeds, leaf]
        values = [*self.made, *[c.leaf for c in self.carries]]
        for value, given in zip(values, g[count:], strict=True):
            if given is not None:
                leaf = _seed(value, is_again)
                back.handed.append((leaf, given))
                back.bindings.append((leaf.raw, Rows(self.node(given), 0)))
                outputs, seeds = [*outputs, value], [*seeds, leaf]
        return outputs, seeds

    def _with_sums(self, back, found, start, is_again, saved):
        """Finish the loop `back`; the sums over all iterations of the cotangents `found`."""
        if is_again:
            return self._accumulated(back, found, start, *saved)
        nodes = [None if c is None else self.node(c) for c in found]
        # Only a closed loop says which nodes change from iteration to iteration; with that it is planned which sums can be taken
        # out of it, and closed anew.
        trial = self._closed(back, [n for n in nodes if isinstance(n, Symbol)])
        plans: list = [None if n is None else sum_over_iterations(n, trial.nodes) for n in nodes]
        with no_grad():
            totals = [self._accumulate(back, c, False) if c is not None and plan is None else None
                      for c, plan in zip(found, plans, strict=True)]
            back.finish(self._closed(back, [n for plan in plans if plan is not None for n in plan.needed]))
            return [plan.build(back) if plan is not None else None if total is None else back.finals[total]
                    for plan, total in zip(plans, totals, strict=True)]

    def _accumulated(self, back, found, start, record):
        """`_with_sums` where all can be differentiated again."""
        with enable_grad():
            totals = [None if c is None else self._accumulate(back, c, True) for c in found]
        for i, c in enumerate(self.carries):
            if c.leaf.record is not None:
                place = len(self.carries) + len(self.made) + i
                link = Projection(record, place, self.width) if i in self.flowing else None
                history = self.view(self.loop.stacked(c.leaf.raw))
                back.handed.append((c.leaf, arrays.made(self.tracer.symbol(history), link)))
        back.handed += self.handed
        back.windows = [*self.windows, (start, tick())]
        back.finish(self._closed(back, []))
        back.link()
        return [None if total is None else back.finals[total] for total in totals]

    @staticmethod
    def _accumulate(back, c, is_again):
        """Carry the sum of `c` along; its number among the carries."""
        total = _seed(c, is_again)
        back.carries.append(Carried(None, _zeros(c), total, total + c))
        return len(back.carries) - 1

    def _closed(self, back, others):
        """The loop of `back`, which reads what it needs of this one, and of those whose derivative this one is."""
        roots = [*[self.node(c.out) for c in back.carries], *[self.node(y) for y in back.made], *others]
        back.loops = [self.loop, *self.loops]
        # A checkpoint keeps what was carried and computes all else again; otherwise what the forward body made is stacked, row by
        # row.
        needed = (leaves_below if self.is_checkpoint else frontier)(back.loops, roots)
        return back.close([*back.bindings, *[(node, loop.stacked(node)) for node, loop in needed.items()]], others)


def _record_of(value):
    """The record of a value; None of what has none, such as an array."""
    return value.record if isinstance(value, Value) else None


def _zeros(like):
    """Zeros in the shape and dtype of a value."""
    return np.broadcast_to(np.zeros((), like.dtype), like.shape)


def _seed(like, is_again):
    leaf = Tensor(Symbol(None, (), like.shape, like.dtype))
    leaf.requires_grad = is_again
    return leaf
