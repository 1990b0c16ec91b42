"""The reference backend: the same steps in the same places of memory, each computed by NumPy.

Slower than machine code, with the same answers to rounding. It needs nothing but NumPy, and it checks the plan: what reads
memory that another step has overwritten is wrong here as it is there.
"""

from functools import partial

import numpy as np

from ...core import writes
from ...core.symbol import replaced, symbols_in
from ..inspection.inspection import Inspected
from ..run.library_call import computed
from ..run.program import Program
from . import interface


class Backend(interface.Backend):
    """NumPy, step by step."""

    is_faster = False

    def target(self):
        """NumPy is the same everywhere."""

    def written(self, draft, target):
        """A `ReferenceStep` for each step that is not a call of Python anyway."""
        schedule = draft.schedule
        return [step.kernel.called(step, self.program) or ReferenceStep(step, schedule) for step in schedule.steps]

    def load(self, graph, draft, parts):
        """A program that NumPy runs."""
        return ReferenceProgram(graph, draft, parts)


class ReferenceProgram(Inspected, Program):
    """A program whose steps are run by NumPy."""

    def __init__(self, graph, draft, parts):
        self.graph, self.draft, self.parts = graph, draft, parts
        super().__init__(graph, draft.layout())
        places = {id(leaf): i for i, leaf in enumerate(self.state)}
        self._written = [places[id(leaf)] for leaf in dict.fromkeys(self.aliases.values())]

    def __call__(self, arrays):
        """The results, as new arrays. `arrays` have the inputs' shapes and dtypes."""
        found, fresh = self._places(arrays)
        # Machine code never gets to a write once a check has failed. NumPy raises in the middle, so that what was written is
        # taken back.
        old = [(self.state_arrays[i], self.state_arrays[i].copy()) for i in self._written]
        try:
            with np.errstate(all="ignore"):
                for part in self.parts:
                    part.run(found)
                return self.finished(found, fresh)
        except BaseException:
            for array, before in old:
                np.copyto(writes.into(array), before)
            raise

    def single_runs(self, arrays):
        """For each part a function that runs it alone."""
        found, _ = self._places(arrays)
        return [np.errstate(all="ignore")(partial(part.run, found)) for part in self.parts]

    def _places(self, arrays):
        fresh = {node: np.empty(node.shape, node.dtype) for node in self.fresh}
        return self.arrays(arrays, fresh), fresh


class ReferenceStep:
    """One step: all its results are computed before the first is written, as a kernel reads a place before it writes it."""

    units, chunks, passes, role = (), 1, (), ""

    def __init__(self, step, schedule):
        self.step = step
        self._order, self._loaded = _inside(step, schedule)

    def run(self, found):
        """Compute the step's results into their places in `found`."""
        values = {node: found[node] for node in self._loaded}
        for node in self._order:
            # In the dtype that was planned, since that is what the step after this one reads.
            value = computed(node, replaced(node.args, values.__getitem__))
            values[node] = value if node.shape is None else np.asarray(value).astype(node.dtype, copy=False)
        for root in self.step.roots:
            np.copyto(writes.into(found[root]), values[root])


def _inside(step, schedule):
    """The nodes that a step computes, arguments first, and those that it reads from memory. Iterative."""
    # A stored copy of a view may be gone when a product reads what the view shows, so what the plan lets it read is what counts.
    order, loaded, seen, read = [], [], set(), set(schedule.read_by(step))
    stack = [(root, False) for root in reversed(step.roots)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            if node not in step.roots and (node.op is None or node in read):
                loaded.append(node)
                continue
            stack.append((node, True))
            stack.extend((a, False) for a in symbols_in(node.args) if a not in seen)
    return order, loaded


BACKEND = Backend()
