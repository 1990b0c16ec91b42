"""Program: a compiled graph, ready to be called."""

import ctypes

import numpy as np

from ..core.symbol import Symbol
from . import threads
from ..errors import OutOfRangeError
from .assemble import Launch, LibraryCall, Scratch, assemble
from .codegen.loop_plan import FLAG
from .fuse import Schedule
from .lower import lower
from .plan import Arena, homes, lifetimes
from .report import explained_program, measured
from .units import library

#: The first place of every table of pointers: the record of the threads that share parallel regions.
POOL = "pool"
#: Inputs and results up to this many bytes are copied in and out; larger ones are read and written where they are.
_SMALL = 4096


class Program:
    """Computes the outputs of a graph.

    inputs   the leaves whose arrays are handed in at each call
    state    the leaves whose arrays stay bound from call to call
    results  nodes whose values are returned
    updates  (leaf of state, node): what the leaf's memory holds after the call
    held     nodes whose values stay in the program's memory until the next call, for whoever asks
    """

    def __init__(self, inputs, state, results, updates, held=()):
        lowered = lower([*results, *[node for _, node in updates], *held])
        self._inputs, self._state = inputs, state
        self._results = lowered[: len(results)]
        self._held = lowered[len(results) + len(updates) :]
        self._updates = list(zip([leaf for leaf, _ in updates], lowered[len(results) :], strict=False))
        self.schedule = Schedule(lowered)
        self.homes = homes(self.schedule, self._updates, self._results)
        self.parts = assemble(self.schedule, self.homes)
        self.launches = [part for part in self.parts if isinstance(part, Launch)]
        library().load([launch.unit for launch in self.launches])
        self._slots, self._buffers, self._fixed = {}, [], {}
        self._reserve()
        self._lay_out()
        self._bind()

    def _slot(self, buffer):
        """The place of a buffer in the table of pointers."""
        buffer = self.homes.get(buffer, buffer) if isinstance(buffer, Symbol) else buffer
        if id(buffer) not in self._slots:
            self._slots[id(buffer)] = len(self._slots)
            self._buffers.append(buffer)  # kept alive, so that its identity stays its own
        return self._slots[id(buffer)]

    def _reserve(self):
        """Places in memory for all that is stored and not handed in."""
        for buffer in (POOL, FLAG, *self._inputs, *self._state):
            self._slot(buffer)
        self._flag = self._fixed[id(FLAG)] = np.zeros(1, np.int64)
        nodes = {o for o in self._results if isinstance(o, Symbol) and o.op is not None and o not in self.homes}
        self._fresh = {o: self._slot(o) for o in nodes if o.size * o.dtype.itemsize > _SMALL}
        kept = [*nodes, *[n for n in (*self._held, *[n for _, n in self._updates]) if isinstance(n, Symbol)]]
        arena = Arena()
        for node, (first, last) in lifetimes(self.schedule, kept).items():
            if node.shape is not None and node not in self.homes and node not in self._fresh:
                arena.place(node, node.size * node.dtype.itemsize, first, last)
        numbers = {id(step): i for i, step in enumerate(self.schedule.steps)}
        for launch in self.launches:
            for buffer in launch.buffers:
                if isinstance(buffer, Scratch):
                    arena.place(buffer, buffer.nbytes, numbers[id(launch.step)], numbers[id(launch.step)])
        self.arena_bytes = arena.size
        block = _aligned(arena.size)
        for leaf in self._inputs:
            if leaf.size * leaf.dtype.itemsize <= _SMALL:
                self._fixed[id(leaf)] = np.zeros(leaf.shape, leaf.dtype)
        for buffer, at in arena.places.items():
            if isinstance(buffer, Scratch):
                self._fixed[id(buffer)] = block[at : at + max(buffer.nbytes, 1)]
            else:
                part = block[at : at + buffer.size * buffer.dtype.itemsize]
                self._fixed[id(buffer)] = part.view(buffer.dtype).reshape(buffer.shape)

    def _lay_out(self):
        """The launches as the words that the runner reads; runs of them between library calls are segments."""
        slots = [[*[self._slot(b) for b in launch.buffers], *launch.words] for launch in self.launches]
        self._words = np.array([word for words in slots for word in words], np.int64)
        address, at = address_of(self._words), 0
        self._steps = np.zeros((len(slots), 4), np.int64)
        for i, (launch, words) in enumerate(zip(self.launches, slots, strict=True)):
            self._steps[i] = library().address(launch.entry), address + 8 * at, launch.chunks, launch.lasts
            at += len(words)
        self.is_parallel = any(launch.chunks > 1 for launch in self.launches)
        self.segments, first, place = [], 0, 0
        for part in (*self.parts, None):
            if isinstance(part, Launch):
                place += 1
                continue
            if place > first:
                self.segments.append((address_of(self._steps) + 32 * first, place - first))
            if part is not None:
                self.segments.append(part)
            first = place

    def _bind(self):
        """Fill in the pointers that stay."""
        self._table = np.zeros(len(self._slots), np.int64)
        self._pointers, self._table_address = memoryview(self._table), address_of(self._table)
        for buffer, number in zip(self._buffers, self._slots.values(), strict=True):
            array = self._fixed.get(id(buffer), buffer)
            if isinstance(array, np.ndarray):
                self._table[number] = address_of(array)
        self._run, self._pool = threads.runner(), None
        self._bound = [None] * len(self._state)
        self._input_places = [self._slot(leaf) for leaf in self._inputs]
        self._state_places = [self._slot(leaf) for leaf in self._state]
        self._inboxes = [self._fixed.get(id(leaf)) for leaf in self._inputs]
        self._outlets = [
            self._fixed.get(id(node)) if isinstance(node, Symbol) and node not in self.homes else None for node in self._results
        ]
        self._late = [(leaf, n) for leaf, n in self._updates if self.homes.get(n) is not leaf]
        is_kept = [isinstance(n, Symbol) and id(n) in self._fixed and n not in self.homes for n in self._held]
        self._moving = [i for i, kept in enumerate(is_kept) if not kept]
        self._latest = {}
        has_calls = any(isinstance(segment, LibraryCall) for segment in self.segments)
        is_elsewhere = [o is None and n not in self._fresh for o, n in zip(self._outlets, self._results, strict=True)]
        self._needs_arrays = has_calls or bool(self._late or self._moving) or any(is_elsewhere)

    def __call__(self, arrays, state):
        """The results, as new arrays. `arrays` and `state` are contiguous and have the leaves' shapes and dtypes."""
        pointers = self._pointers
        if self.is_parallel and (pool := threads.pool()) is not self._pool:
            self._pool = pool
            pointers[0] = pool.address
        for inbox, place, array in zip(self._inboxes, self._input_places, arrays, strict=True):
            if inbox is not None:
                inbox[...] = array
            else:
                pointers[place] = address_of(array)
        bound = self._bound
        for number, array in enumerate(state):
            if array is not bound[number]:
                bound[number] = array
                pointers[self._state_places[number]] = address_of(array)
        fresh = {}
        for node, place in self._fresh.items():
            fresh[node] = array = np.empty(node.shape, node.dtype)
            pointers[place] = address_of(array)
        found = None
        if self._needs_arrays:
            known = {**fresh, **dict(zip(self._inputs, arrays, strict=True)), **dict(zip(self._state, state, strict=True))}
            found = _Arrays(self.homes, self._fixed, known)
        for segment in self.segments:
            if segment.__class__ is tuple:
                self._run(self._table_address, *segment)
            else:
                segment.run(found)
        if self._flag[0]:
            self._flag[0] = 0
            raise OutOfRangeError("an index was negative or too great; nothing was written. Call the function without jit to "
                                  "see which op and which index")
        return self._finished(found, fresh)

    def explain(self):
        """A report of the kernels."""
        return explained_program(self)

    def profile(self, arrays, state, repeats=20):
        """The report of the kernels with the time of each, one after the other, on copies of `state`."""
        state = [array.copy() for array in state]
        self(arrays, state)
        known = {**dict(zip(self._inputs, arrays, strict=True)), **dict(zip(self._state, state, strict=True))}
        fresh = {node: np.empty(node.shape, node.dtype) for node in self._fresh}
        for node, array in fresh.items():
            self._pointers[self._fresh[node]] = address_of(array)
        found = _Arrays(self.homes, self._fixed, {**known, **fresh})
        places, count = {}, 0
        for i, part in enumerate(self.parts):
            if isinstance(part, Launch):
                places[i], count = address_of(self._steps) + 32 * count, count + 1

        def run(i):
            if i in places:
                self._run(self._table_address, places[i], 1)
            else:
                self.parts[i].run(found)

        seconds = measured(run, len(self.parts), repeats)
        self._bound = [None] * len(self._state)
        return explained_program(self, seconds)

    def held(self, number):
        """The value of a held node after the latest call, as a new array."""
        found = self._latest.get(number)
        return self._fixed[id(self._held[number])].copy() if found is None else found.copy()

    def _finished(self, found, fresh):
        results = [
            outlet.copy() if outlet is not None else fresh[node] if node in fresh else found.taken(node)
            for outlet, node in zip(self._outlets, self._results, strict=True)
        ]
        self._latest = {i: found.taken(self._held[i]) for i in self._moving}
        if self._late:
            late = [(found[leaf], np.array(found[n] if isinstance(n, Symbol) else n)) for leaf, n in self._late]
            for target, value in late:
                np.copyto(target, value)
        return results


class _Arrays:
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


def _aligned(nbytes):
    """Memory of `nbytes` that starts where a cache line does."""
    block = np.empty(nbytes + 64, np.uint8)
    start = -address_of(block) % 64
    return block[start : start + nbytes]


def address_of(array):
    """The address of an array's first element."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):  # read-only, or empty
        return array.__array_interface__["data"][0]
