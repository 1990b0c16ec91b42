"""Planned programs: a graph that is lowered, cut into steps and given memory, and what can be told of programs made so."""

from ..core.symbol import STRAY, Symbol
from ..errors import TraceError
from .attending import written_as_read
from .fuse import Schedule
from .lower import lower
from .nesting import nested
from .passes import Passes
from .plan import Arena, homes, lifetimes, risky_steps, updates_last
from .pooled_first import pooled_first
from .program import SMALL, Layout
from .recompute import recomputed
from .report import explained_program, measured


class Plan:
    """The steps of a graph, and which of its nodes live in another's memory."""

    def __init__(self, graph):
        lowered = lower([*graph.results, *[node for _, node in graph.updates], *graph.held])
        self.schedule = recomputed(Schedule(written_as_read(pooled_first(lowered))))
        lowered = self.schedule.outputs
        self.results, self.held = lowered[: len(graph.results)], lowered[len(graph.results) + len(graph.updates) :]
        self.updates = list(zip([leaf for leaf, _ in graph.updates], lowered[len(graph.results) :], strict=False))
        known = {*graph.inputs, *graph.state}
        if any([node.op is None and node not in known for node in self.schedule.nodes]):
            raise TraceError(STRAY)
        self.passes = Passes(self.schedule)
        nested(self.schedule, self.passes, {node for node in lowered if isinstance(node, Symbol)})
        risky = risky_steps(self.schedule)
        self.schedule.steps = updates_last(self.schedule, self.updates, risky)
        self.homes = homes(self.schedule, self.updates, lowered, risky)

    def layout(self, scratch=(), without=()):
        """Places for what is stored and not handed in. `scratch` holds (buffer with `nbytes`, number of the step that needs
        it); the nodes `without` need no memory.
        """
        nodes = {o for o in self.results if isinstance(o, Symbol) and o.op is not None and o not in self.homes}
        fresh = [o for o in nodes if o.size * o.dtype.itemsize > SMALL]
        kept = [*nodes, *[n for n in (*self.held, *[n for _, n in self.updates]) if isinstance(n, Symbol)]]
        elsewhere = {*fresh, *without, *self.homes}
        requests = [
            (node, node.size * node.dtype.itemsize, *steps) for node, steps in lifetimes(self.schedule, kept).items()
            if node.shape is not None and node not in elsewhere
        ]
        arena = Arena([*requests, *[(buffer, buffer.nbytes, number, number) for buffer, number in scratch]])
        return Layout(self.results, self.updates, self.held, self.homes, fresh, arena.places, arena.size)


class Planned:
    """What a program with a `plan` tells of itself; it has `parts`, its steps as things that run alone, and `single_runs`."""

    @property
    def schedule(self):
        """The steps in order."""
        return self.plan.schedule

    def explain(self):
        """A report of the kernels."""
        return explained_program(self)

    def profile(self, arrays, repeats=20):
        """The report of the kernels with the time of each, one after the other, on copies of the state."""
        state = list(self.state_arrays)
        for i, array in enumerate(state):
            self.bind(i, array.copy())
        try:
            self(arrays)
            seconds = measured(self.single_runs(arrays), repeats)
        finally:
            for i, array in enumerate(state):
                self.bind(i, array)
        return explained_program(self, seconds)
