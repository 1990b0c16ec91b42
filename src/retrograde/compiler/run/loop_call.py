"""Loop calls: loops that run iteration by iteration from Python, since something in their body has no lowering."""

import numpy as np

from ...core.symbol import Symbol, replaced
from .library_call import array_of
from .program import Graph


class LoopCall:
    """A step that runs a loop: its body is a program, made by `program(graph)`, which is called for each iteration. `calls` are the
    steps of its body that keep it from being native code.
    """

    step, chunks = None, 1

    def __init__(self, step, program, calls=()):
        self.node, self._picks = step.roots[0], step.roots[1:]
        self._loop, self._make, self._program, self._calls = self.node.op, program, None, calls

    @property
    def ops(self):
        """The names of the ops for which Python is needed."""
        return [name for call in self._calls for name in call.ops]

    def run(self, arrays):
        """Compute the wanted results of the loop into their places in `arrays`."""
        node = self.node
        starts, stacks, captured, count = replaced(node.args, lambda a: array_of(a, arrays))
        # At the first call, not when the program is made: a plan may be stored, or thrown away, without ever running.
        if self._program is None:
            self._prepare()
        fixed = [a for a, is_leaf in zip(captured, self._is_leaf, strict=True) if is_leaf]
        self._run(starts, stacks, [_contiguous(a) for a in fixed], count, arrays)

    def _prepare(self):
        self._wanted = [(pick, *self._loop.results[pick.args[1]]) for pick in self._picks]
        opened = self._loop.opened(self.node.args[2], [which for _, kind, which in self._wanted if kind == "stack"])
        self._is_leaf = [isinstance(leaf, Symbol) for leaf in opened.captured]
        self._program = self._make(Graph(opened.leaves, [], opened.outputs, [], []))

    def _run(self, starts, stacks, fixed, count, arrays):
        loop, carried, iteration = self._loop, [_contiguous(a) for a in starts], 0
        length = int(count) if loop.length is None else loop.length
        histories = [(arrays[pick], which) for pick, kind, which in self._wanted if kind == "history"]
        made = [arrays[pick] for pick, kind, _ in self._wanted if kind == "stack"]
        for array, which in histories:
            array[length if loop.reverse else 0] = carried[which]
        while iteration < length:
            place = length - 1 - iteration if loop.reverse else iteration
            rows = [_contiguous(s[r.first + place]) for s, (_, r) in zip(stacks, loop.stacks, strict=True)]
            found = self._program([*carried, *rows, *fixed])
            carried, others = found[: len(carried)], found[len(carried) :]
            for array, which in histories:
                array[place + (not loop.reverse)] = carried[which]
            for array, row in zip(made, others, strict=False):
                array[place] = row
            # The condition is the last thing that the body makes, asked after the iteration: the first one always runs.
            iteration += 1
            if loop.condition is not None and not others[-1]:
                break
        for pick, kind, which in self._wanted:
            if kind == "final":
                np.copyto(arrays[pick], carried[which])


def _contiguous(array):
    return np.ascontiguousarray(array).reshape(np.shape(array))  # NumPy makes a number an array of one axis
