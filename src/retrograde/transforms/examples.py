"""Loops of examples: under vmap, a loop that is traced becomes one loop around the vmap, which carries all examples."""

import numpy as np

from ..core.mode import changed, is_recording, remembered
from ..core.value import Value, tick
from ..ops._arrays import arrays
from ..ops.elementary.comparisons import logical_and, where
from ..ops.manipulation.movements import moveaxis, reshape
from ..ops.random.draws import unnoted
from ..tensor.creation import asarray
from .batched_loop import BatchedLoop, has_record, linked
from .carry_checks import dtype_of, shape_of, writable
from .checkpoint import outside
from .loop_tracing import flat_while, flattened


def scan_of_examples(batch, f, init, leaves, build, count, reverse, is_checkpoint=False):
    """`scan` for all examples of a batch; as `traced_scan`."""
    def run(call, starts):
        loop = Examples(batch, call, starts, leaves)
        if not all(loop.differs):
            loop.settle()
        with batch.around():
            rows = [moveaxis(x, 0, 1) if differs else x for x, differs in loop.rows_around]
            found = batch.outer.scan(batch.outer, loop.iteration, loop.starts_around(), rows, list, count, reverse, is_checkpoint)
            found = loop.standing(*found)
        return linked(BatchedLoop(loop, count, reverse, is_checkpoint), *found)

    return flattened(batch, f, init, leaves, build, run)


def while_of_examples(batch, condition, body, init, while_loop):
    """`while_loop` for all examples of a batch, by a `while_loop` around them. Where the condition differs between examples, it
    runs as long as one goes on, and those that have ended keep what they have.
    """
    starts, build, call, goes_on = flat_while(batch, condition, body, init)
    loop = Examples(batch, call, starts, [])
    if loop.settle() or batch.held(goes_on)[1]:
        loop.differs, is_one = [True] * len(starts), False
    else:
        is_one = True

    def iteration(state):
        carried, lanes = state
        after, (again, *_) = loop.iteration(carried, [])
        if is_one:
            return after, again
        after = [where(reshape(lanes, (-1, *(1,) * (c.ndim - 1))), a, c) for a, c in zip(after, carried, strict=True)]
        return after, logical_and(lanes, again)

    with batch.around():
        start = loop.starts_around(), batch.spread(goes_on, not is_one)
        finals, _ = while_loop(lambda state: state[1].any(), iteration, start)
        found = loop.standing(finals, [])
    return build(linked(BatchedLoop(loop, None, False, False), *found)[0])


class Examples:
    """One loop for all examples of a batch, given by the function `call(carried, rows)` of one iteration of one example, which
    gives what is carried on and what is stacked, as lists.

    differs  which of the things carried are not the same for all examples
    written  tensors from outside that the iterations write to
    parents  the records from outside, of the derivatives inside the vmap, on which what an iteration gives depends
    made     for each thing that is stacked, whether it differs between examples
    before   what was carried before each iteration, and `states`, what `written` held then; if a derivative may ask for it
    past     what values held when the loop began, for `rewound`
    """

    def __init__(self, batch, call, starts, rows):
        self.batch, self.call, self.starts = batch, call, starts
        self.rows = [arrays.made(batch.symbol(x), x.record) if isinstance(x, Value) else x for x in rows]
        batch.settle()
        self.differs = [self._around(x)[1] for x in starts]
        self.rows_around = [self._around(x) for x in self.rows]
        self.written, self.parents, self.made = [], (), []
        self.before, self.states, self.past = [], [], remembered(batch)

    def _around(self, x):
        return self.batch.held(x) if isinstance(x, Value) else (x, False)

    def settle(self):
        """Find what differs between examples once the loop runs: what starts alike need not stay so. Returns whether what is
        stacked does, in the end.
        """
        batch = self.batch
        while True:
            with batch.attempt(), unnoted():
                carried = [writable(batch.leaf(self._blank(shape_of(x), dtype_of(x), differs), differs))
                           for x, differs in zip(self.starts, self.differs, strict=True)]
                rows = [writable(batch.leaf(self._blank(shape_of(x)[1:], dtype_of(x), differs), differs))
                        for x, (_, differs) in zip(self.rows, self.rows_around, strict=True)]
                after, made = self.call(carried, rows)
                found = [d or self._around(x)[1] for d, x in zip(self.differs, after, strict=True)]
            if found == self.differs:
                return any([self._around(y)[1] for y in made])
            self.differs = found

    def _blank(self, shape, dtype, differs):
        return self.batch.outer.blank((self.batch.count, *shape) if differs else shape, dtype)

    def starts_around(self):
        """What is carried at first, for all examples."""
        return [self._spread(x, differs) for x, differs in zip(self.starts, self.differs, strict=True)]

    def _spread(self, x, differs):
        if isinstance(x, Value):
            return self.batch.spread(x, differs)
        return np.broadcast_to(x, (self.batch.count, *np.shape(x))) if differs else x

    def iteration(self, carried, rows):
        """One iteration for all examples, called around the vmap. Beside what is stacked it gives what was carried before and what
        was held by the tensors that it writes to, if a derivative inside the vmap may ask for it.
        """
        batch, start = self.batch, tick()
        noted, batch.written = batch.written, {id(v): (v, batch.now(v)) for v in self.written}
        with changed(tracer=batch):
            inside = [writable(batch.leaf(x, differs)) for x, differs in zip(carried, self.differs, strict=True)]
            after, made = self.call(inside, [writable(batch.leaf(x, d)) for x, (_, d) in zip(rows, self.rows_around, strict=True)])
        records = [x.record for x in (*after, *made) if isinstance(x, Value) and x.record is not None]
        self.parents = outside(records, start)
        states, batch.written = batch.written, noted
        self.written = [v for v, _ in states.values()]
        self.made = [self._around(y)[1] for y in made]
        stacked = [self._spread(y, differs) for y, differs in zip(made, self.made, strict=True)]
        kept = [*carried, *[state for _, state in states.values()]] if self.has_history() else []
        return [self._spread(x, differs) for x, differs in zip(after, self.differs, strict=True)], [*stacked, *kept]

    def has_history(self):
        """Whether there is something that a derivative inside the vmap may flow to."""
        return is_recording() and (bool(self.parents) or any(map(has_record, (*self.starts, *self.rows))))

    def standing(self, finals, stacked):
        """What the loop gives for one example, if it gave this for all: what is carried in the end, and what is stacked."""
        batch, count = self.batch, len(self.made)
        for value in self.written:
            batch.written.setdefault(id(value), (value, batch.now(value)))
        kinds = [*self.made, *self.differs, *[False] * len(self.written)]
        rows = [batch.standing(moveaxis(asarray(y), 0, 1) if differs else asarray(y), differs)
                for y, differs in zip(stacked, kinds, strict=False)]
        self.before, self.states = rows[count : count + len(self.starts)], rows[count + len(self.starts) :]
        return [batch.standing(asarray(x), differs) for x, differs in zip(finals, self.differs, strict=True)], rows[:count]
