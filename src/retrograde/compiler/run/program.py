"""Program: a graph that can be called. What it takes to run one is all here, in `native` and in `reference`; what plans one
is loaded only where there is something to plan.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core import writes
from ...core.symbol import Symbol
from .capacity import check_fits

#: Results up to this many bytes lie in the program's memory and are copied out; larger ones are given out as they are.
SMALL = 4096


class Graph(NamedTuple):
    """What a program computes.

    inputs   the leaves whose arrays are handed in at each call
    state    the leaves whose arrays stay bound from call to call
    results  nodes whose values are returned
    updates  (leaf of state, node): what the leaf's memory holds after the call
    held     nodes whose values stay in the program's memory until the next call, for whoever asks
    """

    inputs: list
    state: list
    results: list
    updates: list
    held: list


@dataclass
class Layout:
    """Where all lies that a program stores.

    results, updates, held   as in `Graph`, lowered
    aliases                    for nodes that live in another buffer's memory, that buffer
    fresh                    the results that are made anew at each call
    places                   where buffers begin in the block of memory that is the program's own, in bytes
    arena_bytes              the size of that block
    """

    results: list
    updates: list
    held: list
    aliases: dict
    fresh: list
    places: dict
    arena_bytes: int


class Program:
    """Computes the outputs of a graph. Base of what runs it, which has `__call__`."""

    def __init__(self, graph, layout):
        self.graph = graph
        #: The precision of convolutions that it was made with; None where none was asked for.
        self.precision: Any = None
        self.inputs, self.state, self.results = graph.inputs, graph.state, layout.results
        self.layout = layout
        self.aliases, self.fresh, self.arena_bytes = layout.aliases, layout.fresh, layout.arena_bytes
        self.state_arrays = [None] * len(self.state)
        _check_fits(layout)
        placed = {id(buffer) for buffer in layout.places}
        self._are_outlets = [isinstance(n, Symbol) and n not in self.aliases and id(n) in placed for n in self.results]
        #: The block of memory that is computed in; None before the first call.
        self._block: Any = None
        self.fixed, self.latest, self.outlets = {}, {}, []
        # Updates that lie in no leaf's memory are copied there when all steps are over.
        self.late = [(leaf, n) for leaf, n in layout.updates if not isinstance(n, Symbol) or self.aliases.get(n) is not leaf]
        is_kept = [isinstance(n, Symbol) and id(n) in placed and n not in self.aliases for n in layout.held]
        self.moving = [i for i, is_fixed in enumerate(is_kept) if not is_fixed]

    # Where it computes: in memory of its own, unless programs share some (`room.py`).
    def block(self):
        """Memory that is large enough for this program."""
        return _aligned(self.arena_bytes)

    def settle(self, block):
        """Compute in `block` from here on."""
        self._block = block
        self.fixed.update(_parts(self.layout, block))
        pairs = zip(self.results, self._are_outlets, strict=True)
        self.outlets = [self.fixed[id(node)] if is_outlet else None for node, is_outlet in pairs]

    def leave(self):
        """Let go of the memory, so that it can be freed."""
        self._block, self.outlets = None, []
        for buffer in self.layout.places:
            del self.fixed[id(buffer)]

    def arrays(self, arrays, fresh):
        """The arrays of one call: of the inputs, of the state, and `fresh` by node."""
        if self._block is None:
            self.settle(self.block())
        inputs, state = zip(self.inputs, arrays, strict=True), zip(self.state, self.state_arrays, strict=True)
        return Arrays(self.aliases, self.fixed, {**fresh, **dict(inputs), **dict(state)})

    def finished(self, found, fresh):
        """The results of a call that has run, and the updates that could not be made on the way."""
        results, unused = [], dict(fresh)  # what is asked for twice is given out as two arrays
        for outlet, node in zip(self.outlets, self.results, strict=True):
            is_computed = outlet is None and isinstance(node, Symbol)
            array = unused.pop(node, None) if is_computed else None
            results.append(outlet.copy() if outlet is not None else found.taken(node) if array is None else array)
        self.latest = {i: found.taken(self.layout.held[i]) for i in self.moving}
        if self.late:
            # All values before any write: an update may be what another leaf held, as where two are exchanged.
            late = [(found[leaf], np.array(found[n] if isinstance(n, Symbol) else n)) for leaf, n in self.late]
            for target, value in late:
                np.copyto(writes.into(target), value)
        return results

    def held(self, number):
        """The value of a held node after the latest call, as a new array."""
        found = self.latest.get(number)
        return self.fixed[id(self.layout.held[number])].copy() if found is None else found.copy()

    def bind(self, number, array):
        """Let leaf `number` of the state be `array`, which is contiguous, from here on; returns it."""
        self.state_arrays[number] = array
        return array

    def quick_parts(self):
        """What a quick call needs of the program; None if it is none for that."""


class Arrays:
    """The array of each stored node during one call."""

    def __init__(self, aliases, fixed, known):
        self._aliases, self._fixed, self._known = aliases, fixed, known

    def __getitem__(self, node):
        node = self._aliases.get(node, node)
        return self._known[node] if node in self._known else self._fixed[id(node)]

    def __contains__(self, node):
        node = self._aliases.get(node, node)
        return node in self._known or id(node) in self._fixed

    def __setitem__(self, node, value):
        self._known[node] = value

    def taken(self, node):
        """The array of a result, which the caller may keep."""
        if not isinstance(node, Symbol):
            return np.array(node)
        return self[node].copy()


def _check_fits(layout):
    nodes = [*layout.fresh, *[buffer for buffer in layout.places if isinstance(buffer, Symbol)]]
    check_fits(layout.arena_bytes + sum([node.nbytes for node in layout.fresh]), nodes)


def _parts(layout, block):
    """By identity, the arrays in a block of memory."""
    found = {}
    for buffer, at in layout.places.items():
        if isinstance(buffer, Symbol):
            part = block[at : at + buffer.size * buffer.dtype.itemsize]
            found[id(buffer)] = part.view(buffer.dtype).reshape(buffer.shape)
        else:
            found[id(buffer)] = block[at : at + max(buffer.nbytes, 1)]
    return found


def _aligned(nbytes):
    """Memory of `nbytes` that starts where a cache line does."""
    block = np.empty(nbytes + 64, np.uint8)
    start = -block.ctypes.data % 64
    return block[start : start + nbytes]
