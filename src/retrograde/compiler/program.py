"""Program: a graph that is planned, ready to be called. What runs its steps is in `native` and in `reference`."""

import numpy as np

from ..core.symbol import STRAY, Symbol
from ..errors import TraceError
from .capacity import check_fits
from .fuse import Schedule
from .lower import lower
from .nesting import nested
from .passes import Passes
from .plan import Arena, homes, lifetimes, updates_last
from .recompute import recomputed
from .report import explained_program, measured

#: Results up to this many bytes lie in the program's memory and are copied out; larger ones are given out as they are.
SMALL = 4096


class Program:
    """Computes the outputs of a graph. Base of what runs it.

    inputs   the leaves whose arrays are handed in at each call
    state    the leaves whose arrays stay bound from call to call
    results  nodes whose values are returned
    updates  (leaf of state, node): what the leaf's memory holds after the call
    held     nodes whose values stay in the program's memory until the next call, for whoever asks

    A subclass sets `parts`, the steps as things that run alone, and has `bind`, `__call__` and `single_runs`.
    """

    def __init__(self, inputs, state, results, updates, held=()):
        lowered = recomputed(lower([*results, *[node for _, node in updates], *held]))
        self.inputs, self.state = list(inputs), list(state)
        self.results = lowered[: len(results)]
        self.held_nodes = lowered[len(results) + len(updates) :]
        self.updates = list(zip([leaf for leaf, _ in updates], lowered[len(results) :], strict=False))
        self.schedule = Schedule(lowered)
        known = {*self.inputs, *self.state}
        if any([node.op is None and node not in known for node in self.schedule.nodes]):
            raise TraceError(STRAY)
        self.schedule.steps = updates_last(self.schedule, self.updates)
        self.passes = Passes(self.schedule)
        nested(self.schedule, self.passes, {node for node in lowered if isinstance(node, Symbol)})
        self.homes = homes(self.schedule, self.updates, lowered)
        self.state_arrays = [None] * len(self.state)
        self.parts, self.fixed, self.latest = [], {}, {}

    def reserve(self, scratch=(), without=()):
        """Lay out what is stored and not handed in: `fixed` has the arrays by identity, `fresh` the results that are made anew
        at each call. `scratch` holds (buffer with `nbytes`, number of the step that needs it); the nodes `without` need no memory.
        """
        nodes = {o for o in self.results if isinstance(o, Symbol) and o.op is not None and o not in self.homes}
        self.fresh = [o for o in nodes if o.size * o.dtype.itemsize > SMALL]
        kept = [*nodes, *[n for n in (*self.held_nodes, *[n for _, n in self.updates]) if isinstance(n, Symbol)]]
        arena, given_out = Arena(), set(self.fresh)
        for node, (first, last) in lifetimes(self.schedule, kept).items():
            if node.shape is not None and node not in self.homes and node not in given_out and node not in without:
                arena.place(node, node.size * node.dtype.itemsize, first, last)
        for buffer, number in scratch:
            arena.place(buffer, buffer.nbytes, number, number)
        self.arena_bytes = arena.size
        check_fits(arena.size + sum([node.nbytes for node in self.fresh]), [*self.fresh, *filter(_is_node, arena.places)])
        block = _aligned(arena.size)
        for buffer, at in arena.places.items():
            if isinstance(buffer, Symbol):
                part = block[at : at + buffer.size * buffer.dtype.itemsize]
                self.fixed[id(buffer)] = part.view(buffer.dtype).reshape(buffer.shape)
            else:
                self.fixed[id(buffer)] = block[at : at + max(buffer.nbytes, 1)]
        self.outlets = [
            self.fixed.get(id(node)) if isinstance(node, Symbol) and node not in self.homes else None for node in self.results
        ]
        self.late = [(leaf, n) for leaf, n in self.updates if self.homes.get(n) is not leaf]
        is_kept = [isinstance(n, Symbol) and id(n) in self.fixed and n not in self.homes for n in self.held_nodes]
        self.moving = [i for i, is_fixed in enumerate(is_kept) if not is_fixed]

    def arrays(self, arrays, fresh):
        """The arrays of one call: of the inputs, of the state, and `fresh` by node."""
        inputs, state = zip(self.inputs, arrays, strict=True), zip(self.state, self.state_arrays, strict=True)
        return Arrays(self.homes, self.fixed, {**fresh, **dict(inputs), **dict(state)})

    def finished(self, found, fresh):
        """The results of a call that has run, and the updates that could not be made on the way."""
        results, unused = [], dict(fresh)  # what is asked for twice is given out as two arrays
        for outlet, node in zip(self.outlets, self.results, strict=True):
            array = None if outlet is not None else unused.pop(node, None)
            results.append(outlet.copy() if outlet is not None else found.taken(node) if array is None else array)
        self.latest = {i: found.taken(self.held_nodes[i]) for i in self.moving}
        if self.late:
            late = [(found[leaf], np.array(found[n] if isinstance(n, Symbol) else n)) for leaf, n in self.late]
            for target, value in late:
                np.copyto(target, value)
        return results

    def held(self, number):
        """The value of a held node after the latest call, as a new array."""
        found = self.latest.get(number)
        return self.fixed[id(self.held_nodes[number])].copy() if found is None else found.copy()

    def bind(self, number, array):
        """Let leaf `number` of the state be `array`, which is contiguous, from here on; returns it."""
        self.state_arrays[number] = array
        return array

    def quick_parts(self):
        """What a quick call needs of the program; None if it is none for that."""

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


class Arrays:
    """The array of each stored node during one call."""

    def __init__(self, homes, fixed, known):
        self._homes, self._fixed, self._known = homes, fixed, known

    def __getitem__(self, node):
        node = self._homes.get(node, node)
        return self._known[node] if node in self._known else self._fixed[id(node)]

    def __contains__(self, node):
        node = self._homes.get(node, node)
        return node in self._known or id(node) in self._fixed

    def __setitem__(self, node, value):
        self._known[node] = value

    def taken(self, node):
        """The array of a result, which the caller may keep."""
        if not isinstance(node, Symbol):
            return np.array(node)
        return self[node].copy()


def _is_node(buffer):
    return isinstance(buffer, Symbol)


def _aligned(nbytes):
    """Memory of `nbytes` that starts where a cache line does."""
    block = np.empty(nbytes + 64, np.uint8)
    start = -block.ctypes.data % 64
    return block[start : start + nbytes]
