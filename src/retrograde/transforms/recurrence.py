"""Recurrence: a loop in a trace. Its body is recorded once; its derivative is another loop, which runs the other way.

The body of the derivative is the derivative of the body: the same walk through the same records, with the cotangents of a turn
as leaves. What it reads of the body forward is either computed again from what was carried, or kept from turn to turn.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import tree
from ..compiler.repetition import Carry, Loop, Rows
from ..core.gradient import gradient
from ..core.graph import ancestors
from ..core.mode import changed, current, enable_grad, is_recording, no_grad
from ..core.symbol import Symbol
from ..core.value import Projection, Record, Value, tick
from ..dtypes import is_float
from ..errors import GraphError, ShapeError, TraceError
from ..ops._arrays import arrays
from ..ops.comparisons import where
from ..ops.movements import broadcast_to, reshape
from ..tensor.creation import asarray
from ..tensor.tensor import Tensor
from .carried import check_carry, dtype_of, is_number, shape_of
from .turns import sum_over_turns


def traced_scan(tracer, f, init, leaves, build, count, reverse, is_checkpoint=False):
    """`scan` in a trace; with `is_checkpoint`, the backward pass keeps only what is carried."""
    starts, build_carry = tree.flatten(init)
    starts = _settled_starts(tracer, f, starts, build_carry, leaves, build)
    rebuild: Any = None

    def call(carried, rows):
        nonlocal rebuild
        returned = f(build_carry(carried), build(rows))
        check_pair(returned)
        check_carry(build_carry(starts), returned[0])
        ys, rebuild = tree.flatten(returned[1])
        return tree.leaves(returned[0]), ys

    loop = recorded(tracer, call, starts, leaves, count, reverse, is_checkpoint)
    return build_carry(loop.finals[: len(starts)]), rebuild(loop.stacked)


def check_pair(returned):
    """Raise unless a body returned two things."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise TraceError(f"the function of a scan must return (carry, y), got {type(returned).__name__}; y may be None")


def _settled_starts(tracer, f, starts, build_carry, leaves, build):
    """The carry at the start; numbers of Python's as tensors of the dtype that the body makes of them."""
    if not any(map(is_number, starts)):
        return starts
    with tracer.attempt():
        carried = [_leaf(shape_of(x), asarray(x).dtype)[0] for x in starts]
        rows = [_leaf(x.shape[1:], x.dtype)[0] for x in leaves]
        after = tree.leaves(f(build_carry(carried), build(rows))[0])
    if len(after) != len(starts):
        return starts
    return [np.asarray(x, dtype_of(y)) if is_number(x) else x for x, y in zip(starts, after, strict=True)]


def _leaf(shape, dtype):
    """A value for what is another array in each turn, and its node."""
    node = Symbol(None, (), tuple(shape), dtype)
    value = Tensor(node)
    if is_float(dtype):
        value.requires_grad = True
    return value, node


def traced_while(tracer, condition, body, init):
    """`while_loop` in a trace."""
    starts, build = tree.flatten(init)
    starts = _settled_starts(tracer, lambda carry, _: (body(carry), None), starts, build, [], list)

    def call(carried, _):
        carry = body(build(carried))
        check_carry(build(starts), carry)
        return tree.leaves(carry), [_truth(condition(carry))]

    goes_on = _truth(condition(build([asarray(x) for x in starts])))
    with no_grad():
        count = where(goes_on, np.int64(_ENDLESS), np.int64(0))
    loop = recorded(tracer, call, starts, [], None, False, False, tracer.symbol(count))
    return build(loop.finals[: len(starts)])


def _truth(found):
    """The answer of a condition, as a value without axes."""
    if shape_of(found) not in ((), (1,)):
        raise ShapeError(f"the condition of while_loop must give one truth value, got shape {shape_of(found)}; use rg.all or rg.any")
    return reshape(asarray(found).detach(), ()).astype(bool)


#: More steps than any loop takes.
_ENDLESS = 1 << 62


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

    windows  the times during which records of the body were made: all others are outside of it
    handed   (leaf, value of whose rows it stands for)
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
    loop: Any = None
    finals: list = field(default_factory=list)
    stacked: list = field(default_factory=list)

    rules, name, algebra = None, "scan", arrays
    # Not an attribute: an object that holds itself is freed by the cycle collector only.
    joint = property(lambda self: self)

    def node(self, value):
        """The node of a value, or a constant."""
        return self.tracer.symbol(value) if isinstance(value, Value) else np.asarray(value)

    def close(self, bindings, others=()):
        """Make the loop, once its body is known; `others` are nodes that will be asked for."""
        carries = [Carry(c.leaf.data, c.node, self.node(c.out)) for c in self.carries]
        nodes = [self.node(y) for y in self.made]
        if self.length is None:
            self.loop = Loop(None, carries, bindings, [], count=self.count, condition=nodes[0])
        else:
            self.loop = Loop(self.length, carries, bindings, [*nodes, *others], self.reverse)

    def finish(self):
        """The values that the loop gives, linked to what they depend on."""
        self.finals = [arrays.kind(self.loop.final(i)) for i in range(len(self.carries))]
        self.stacked = [] if self.length is None else [self._rows_of(y) for y in self.made]
        self._link()

    def _rows_of(self, y):
        node = self.node(y)
        if node in self.loop.nodes if isinstance(node, Symbol) else False:
            return self.view(self.loop.stacked(node))
        return broadcast_to(y, (self.length, *node.shape))

    def view(self, rows):
        """A stack's rows as a value."""
        whole = arrays.kind(rows.stack) if isinstance(rows.stack, Symbol) else rows.stack
        if whole.shape[0] == self.length:
            return whole
        with no_grad():
            return whole[rows.first : rows.first + self.length]

    def _is_inside(self, record):
        return any([start <= record.order <= end for start, end in self.windows])

    def _link(self):
        """Give results their history."""
        leaves = {c.leaf.record: c.start for c in self.carries if c.leaf.record is not None}
        leaves |= {leaf.record: value for leaf, value in self.handed if leaf.record is not None}
        outs, made = [c.out for c in self.carries], [] if self.length is None else self.made
        roots = [v.record for v in (*outs, *made) if isinstance(v, Value) and v.record is not None]
        inside = [r for r in ancestors(roots, self.windows[0][0]) if self._is_inside(r)] if roots else []
        outside = dict.fromkeys(p for r in inside for p in r.parents if p is not None and not self._is_inside(p))
        outside.update(dict.fromkeys(r for r in roots if not self._is_inside(r)))
        needed = {r for r, value in leaves.items() if isinstance(value, Value) and value.record is not None} | set(outside)
        flows = self._flowing(inside, needed)
        if not flows:
            return
        self.outside = list(outside)
        self.carried = [i for i, c in enumerate(self.carries) if c.leaf.record in flows]
        self.rows = [i for i, (leaf, value) in enumerate(self.handed) if leaf.record in needed and leaf.record is not None]
        self.starts = [i for i in self.carried if getattr(self.carries[i].start, "record", None) is not None]
        parents = [*[self.carries[i].start.record for i in self.starts], *[self.handed[i][1].record for i in self.rows], *outside]
        record, self.width = Record(self, tuple(parents), ()), 2 * len(self.carries) + len(made)
        for i, c in enumerate(self.carries):
            if isinstance(c.out, Value) and c.out.record in flows and is_float(c.out.dtype):
                self.finals[i] = arrays.kind(self.finals[i].data, Projection(record, i, self.width))
        for j, y in enumerate(made):
            if isinstance(y, Value) and y.record in flows and y.record is not None and self._is_inside(y.record):
                data = self.tracer.symbol(self.stacked[j])
                self.stacked[j] = arrays.kind(data, Projection(record, len(outs) + j, self.width))

    def _flowing(self, inside, needed):
        """The records through which a derivative flows that something outside may want."""
        flows = set(needed)
        while True:
            for record in inside:
                if not flows.isdisjoint(record.parents):
                    flows.add(record)
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
        if self.length is None:
            raise GraphError("a while_loop, or a fori_loop with bounds that are computed, cannot be differentiated under jit, since "
                             "nobody knows how many steps to keep; use rg.scan or bounds that are numbers")
        is_again, start = is_recording(), tick()
        back = Recurrence(self.tracer, self.length, not self.reverse, self.is_checkpoint)
        outputs, seeds = self._seeds(back, g, is_again)
        wanted = needs[len(self.starts) + len(self.rows) :]
        outside = [r for r, is_wanted in zip(self.outside, wanted, strict=True) if is_wanted]
        targets = [self.carries[i].leaf for i in self.carried] + [self.handed[i][0] for i in self.rows]
        targets += [r.algebra.kind(None, r) for r in outside]
        found = gradient(outputs, targets, seeds, create_graph=is_again, stops_at_targets=True)
        found = [None if c is None else c if isinstance(c, Value) else asarray(np.asarray(c)) for c in found]
        split, end = len(self.carried), len(self.carried) + len(self.rows)
        for carried, c in zip(back.carries, found[:split], strict=True):
            carried.out = _zeros(carried.leaf) if c is None else c
        back.made = [_zeros(self.handed[i][0]) if c is None else c for i, c in zip(self.rows, found[split:end], strict=True)]
        sums = self._with_sums(back, found[end:], start, is_again, saved)
        sums = dict(zip(outside, sums, strict=True))
        of_starts = [back.finals[self.carried.index(i)] for i in self.starts]
        return (*of_starts, *back.stacked[: len(self.rows)], *[sums.get(r) for r in self.outside])

    def _seeds(self, back, g, is_again):
        """What the walk through the body starts from: outputs, and leaves for their cotangents."""
        outputs, seeds, count = [], [], len(self.carries)
        back.bindings = []
        for i in self.carried:
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
                back.bindings.append((leaf.data, Rows(self.node(given), 0)))
                outputs, seeds = [*outputs, value], [*seeds, leaf]
        return outputs, seeds

    def _with_sums(self, back, found, start, is_again, saved):
        """Finish the loop `back`; the sums over all turns of the cotangents `found`."""
        if is_again:
            return self._accumulated(back, found, start, *saved)
        nodes = [None if c is None else self.node(c) for c in found]
        trial = self._closed(back, [n for n in nodes if isinstance(n, Symbol)])
        plans = [None if n is None else sum_over_turns(n, trial.nodes) for n in nodes]
        sums = {}
        with no_grad():
            for k, (c, plan) in enumerate(zip(found, plans, strict=True)):
                if c is not None and plan is None:
                    sums[k] = len(back.carries)
                    self._accumulate(back, c, False)
            back.loop = self._closed(back, [n for plan in plans if plan is not None for n in plan.needed])
            back.finish_plain()
            return [None if c is None else back.finals[sums[k]] if k in sums else plans[k].build(back)
                    for k, c in enumerate(found)]

    @staticmethod
    def _accumulate(back, c, is_again):
        """Carry the sum of `c` along."""
        total = _seed(c, is_again)
        back.carries.append(Carried(None, _zeros(c), total, total + c))

    def _accumulated(self, back, found, start, record):
        """`_with_sums` where all can be differentiated again."""
        sums, first = [None] * len(found), len(back.carries)
        with enable_grad():
            for k, c in enumerate(found):
                if c is not None:
                    sums[k] = len(back.carries)
                    self._accumulate(back, c, True)
        assert first <= len(back.carries)
        for i, c in enumerate(self.carries):
            if c.leaf.record is not None:
                place = len(self.carries) + len(self.made) + i
                history = arrays.kind(self.tracer.symbol(self.view(self.loop.stacked(c.leaf.data))),
                                      Projection(record, place, self.width) if i in self.carried else None)
                back.handed.append((c.leaf, history))
        back.handed += self.handed
        back.windows = [*self.windows, (start, tick())]
        back.loop = self._closed(back, [])
        back.finish()
        return [None if k is None else back.finals[k] for k in sums]

    def _closed(self, back, others):
        """The loop of `back`, which reads what it needs of this one."""
        roots = [*[self.node(c.out) for c in back.carries], *[self.node(y) for y in back.made], *others]
        below = self.loop.leaves_below if self.is_checkpoint else self.loop.frontier
        bindings = [*back.bindings, *[(node, self.loop.stacked(node)) for node in below(roots)]]
        back.close(bindings, others)
        return back.loop

    def finish_plain(self):
        """`finish` without history."""
        self.finals = [arrays.kind(self.loop.final(i)) for i in range(len(self.carries))]
        self.stacked = [self._rows_of(y) for y in self.made]


def _zeros(like):
    """Zeros in the shape and dtype of a value."""
    return np.broadcast_to(np.zeros((), like.dtype), like.shape)


def _seed(like, is_again):
    leaf = Tensor(Symbol(None, (), like.shape, like.dtype))
    leaf.requires_grad = is_again
    return leaf


def recorded(tracer, call, starts, leaves, length, reverse, is_checkpoint, count=None):
    """The loop of a body: `call(carried, rows)` returns what is carried on, and what is stacked.

    What the body writes to tensors from outside, such as the state of a generator, is carried along as well.
    """
    made = Recurrence(tracer, length, reverse, is_checkpoint, count=count)
    stacks = [x if isinstance(x, Value) else np.ascontiguousarray(x) for x in leaves]
    written: list = []
    while True:
        start = tick()
        made.carries = [Carried(x, made.node(x), _leaf(shape_of(x), dtype_of(x))[0]) for x in starts]
        made.handed = [(_leaf(x.shape[1:], x.dtype)[0], x) for x in stacks]
        with tracer.attempt(written) as attempt:
            outs, made.made = call([c.leaf for c in made.carries], [leaf for leaf, _ in made.handed])
        if len(attempt.written) == len(written):
            break
        written = attempt.written
    for carried, out in zip(made.carries, outs, strict=True):
        carried.out = out
    made.carries += [Carried(None, now, Tensor(leaf), Tensor(out)) for now, leaf, out in attempt.states]
    made.windows = [(start, tick())]
    made.close([(leaf.data, Rows(made.node(x), 0)) for leaf, x in made.handed])
    made.finish()
    for capture, final in zip(written, made.finals[len(starts) :], strict=True):
        capture.now = final.data
    return made
