"""Carry: where in memory outside a loop all lies that its body is handed, carries from iteration to iteration and hands out.

Takes  the lowered graph of the body of a loop, and where buffers lie outside.
Gives  for each buffer that the body shares with the outside its place there, and what is copied before, in and after iterations.
Keeps  an iteration never writes to the row that it reads: what is carried without its history has two rows, which alternate.
"""

import numpy as np

from ...core.symbol import Symbol
from ..kernels.kernel import Scratch

#: The bits of the number of an iteration that choose a row, where there is one for each.
ALL_BITS = -1


class Body:
    """The body of a loop: in which buffer outside each of its own lies, at which row.

    step     the step of the loop outside: the loop, and those of its results that are wanted
    storage  in which buffer a node outside lies
    opened   the body as a graph of its own, as `Opened`
    """

    def __init__(self, step, storage):
        self.node, self.step = step.roots[0], step
        self.loop, self.storage = self.node.op, storage
        *_, count = self.node.args
        self.count = None if count is None else self._outside(count)
        self.wanted = {self.loop.results[pick.args[1]]: pick for pick in step.roots[1:]}
        self.opened = self.loop.opened(self.node.args[2], [node for kind, node in self.wanted if kind == "stack"])
        #: By the identity of a buffer of the body: (buffer outside, offset, bytes a row, phase, mask).
        self.places, self._kept = {}, []
        self.starts, self.copies, self.ends = [], [], []
        self.condition = None

    def carry(self, outputs):
        """Decide where all lies that the body is handed, carries and hands out; `outputs` are those of the lowered graph."""
        starts, stacks, captured, _ = self.node.args
        first = len(self.loop.carries)
        last = len(outputs) if self.loop.condition is None else -1
        self._place_inputs(stacks, captured)
        self._place_carries(starts, outputs[:first])
        self._place_made(outputs[first:last])
        self.condition = None if self.loop.condition is None else outputs[-1]

    @property
    def read_at_the_end(self):
        """The nodes with memory within an iteration that are read when its steps are over."""
        return [n for n in (self.condition, *[source for _, source, _ in self.copies]) if isinstance(n, Symbol)]

    def _place(self, buffer, place):
        self._kept.append(buffer)  # so that its identity stays its own
        self.places[id(buffer)] = place

    def _place_inputs(self, stacks, captured):
        loop = self.loop
        for leaf, (_, rows), stack in zip(self.opened.rows, loop.stacks, stacks, strict=True):
            self._place(leaf, self._rows(self._outside(stack), leaf.nbytes, rows.first))
        for leaf, found in zip(self.opened.captured, captured, strict=True):
            if isinstance(leaf, Symbol):
                self._place(leaf, (self._outside(found), 0, 0, 0, ALL_BITS))

    def _rows(self, buffer, nbytes, first):
        """The rows of a stack from row `first` on, in the order of iterations."""
        if self.loop.reverse:
            return buffer, (first + self.loop.length - 1) * nbytes, -nbytes, 0, ALL_BITS
        return buffer, first * nbytes, nbytes, 0, ALL_BITS

    def _place_carries(self, starts, carried):
        loop = self.loop
        for number, (carry, start) in enumerate(zip(loop.carries, starts, strict=True)):
            nbytes, out = carry.leaf.nbytes, carried[number]
            history = self.wanted.get(("history", number))
            if history is not None:
                # All states are wanted outside: each is computed in its row there, and read from it in the next iteration.
                buffer, last = self.storage(history), loop.length * nbytes
                first, last = (last, 0) if loop.reverse else (0, last)
                self._place(carry.leaf, self._rows(buffer, nbytes, int(loop.reverse)))
                after, more = self._rows(buffer, nbytes, int(not loop.reverse)), 0
            else:  # two rows, which alternate
                # Which of the two holds the last state depends on whether the number of iterations is odd. Where that is not
                # known, native code adds `more` then.
                buffer, first = Scratch(2 * nbytes), 0
                self._place(carry.leaf, (buffer, 0, nbytes, 0, 1))
                after = buffer, 0, nbytes, 1, 1
                last, more = (0, nbytes) if loop.length is None else (loop.length % 2 * nbytes, 0)
            self._store(out, after, nbytes)
            self.starts.append((buffer, first, self._outside(start), 0, 0, nbytes))
            final = self.wanted.get(("final", number))
            if final is not None:
                self.ends.append((self.storage(final), 0, buffer, last, more, nbytes))

    def _place_made(self, made):
        stacks = [(node, pick) for (kind, node), pick in self.wanted.items() if kind == "stack"]
        for (node, pick), out in zip(stacks, made, strict=True):
            self._store(out, self._rows(self.storage(pick), node.nbytes, 0), node.nbytes)

    def _store(self, out, place, nbytes):
        """Let what the body computes be in a place: computed there, or copied if it has another one already."""
        is_computed = isinstance(out, Symbol) and out.op is not None
        if is_computed and id(out) not in self.places:
            self._place(out, place)
            return
        # An object of its own stands for the target: `out` has a place already, as what is carried to two names has.
        target, out = object(), out if isinstance(out, Symbol) else np.ascontiguousarray(out)
        self._place(target, place)
        self._kept.append(out)
        self.copies.append((target, out, nbytes))

    def fixed(self, buffer):
        """What lies outside in the place of a buffer that is the same in each iteration; None for others."""
        found, _, step, *_ = self.places.get(id(buffer), (None, 0, 1))
        return found if step == 0 else None

    def keep(self, scratch):
        """Let memory that is filled before the first iteration stay as it is."""
        self._place(scratch, (scratch, 0, 0, 0, ALL_BITS))

    def _outside(self, operand):
        return self.storage(operand) if isinstance(operand, Symbol) else np.ascontiguousarray(operand)
