"""Program: a compiled graph, ready to be called."""

import ctypes
from functools import partial

import numpy as np

from ..core.symbol import Symbol
from ..errors import OutOfRangeError
from . import threads
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


#: To wake threads pays for a program that could share at least this much work.
_SHARED_SECONDS = 5e-5


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
        self.homes = homes(self.schedule, self._updates, lowered)
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
        self.is_parallel = sum([launch.seconds for launch in self.launches if launch.chunks > 1]) > _SHARED_SECONDS
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
        self._pointers[0] = threads.alone()
        self._flag_word = memoryview(self._flag)
        self._state_places = [self._slot(leaf) for leaf in self._state]
        self._state_arrays = [None] * len(self._state)
        inputs = [(i, self._slot(leaf), self._fixed.get(id(leaf))) for i, leaf in enumerate(self._inputs)]
        self._small_inputs = [(i, inbox) for i, _, inbox in inputs if inbox is not None]
        self._large_inputs = [(i, place) for i, place, inbox in inputs if inbox is None]
        self._outlets = [
            self._fixed.get(id(node)) if isinstance(node, Symbol) and node not in self.homes else None for node in self._results
        ]
        self._late = [(leaf, n) for leaf, n in self._updates if self.homes.get(n) is not leaf]
        is_kept = [isinstance(n, Symbol) and id(n) in self._fixed and n not in self.homes for n in self._held]
        self._moving = [i for i, kept in enumerate(is_kept) if not kept]
        self._latest = {}
        self._is_simple = not self._late and not self._moving and len(self.segments) == 1 and all(
            o is not None for o in self._outlets
        ) and not isinstance(self.segments[0], LibraryCall)

    def bind(self, number, array):
        """Let leaf `number` of the state be `array`, which is contiguous, from here on; returns it."""
        self._state_arrays[number] = array
        self._pointers[self._state_places[number]] = address_of(array)
        return array

    def __call__(self, arrays):
        """The results, as new arrays. `arrays` are contiguous and have the inputs' shapes and dtypes."""
        pointers = self._pointers
        if self.is_parallel and (pool := threads.pool()) is not self._pool:
            self._pool = pool
            pointers[0] = pool.address
        for i, inbox in self._small_inputs:
            inbox[...] = arrays[i]
        for i, place in self._large_inputs:
            pointers[place] = address_of(arrays[i])
        if self._is_simple:
            self._run(self._table_address, *self.segments[0])
            if self._flag_word[0]:
                self._fail()
            return [outlet.copy() for outlet in self._outlets]
        return self._called(arrays)

    def _called(self, arrays):
        """The results of a program that has library calls, or results and updates that lie elsewhere."""
        fresh = {}
        for node, place in self._fresh.items():
            fresh[node] = array = np.empty(node.shape, node.dtype)
            self._pointers[place] = address_of(array)
        found = self._arrays(arrays, fresh)
        for segment in self.segments:
            if segment.__class__ is tuple:
                self._run(self._table_address, *segment)
            else:
                segment.run(found)
        if self._flag_word[0]:
            self._fail()
        return self._finished(found, fresh)

    def _arrays(self, arrays, fresh):
        inputs, state = zip(self._inputs, arrays, strict=True), zip(self._state, self._state_arrays, strict=True)
        return _Arrays(self.homes, self._fixed, {**fresh, **dict(inputs), **dict(state)})

    def _fail(self):
        self._flag_word[0] = 0
        raise OutOfRangeError("an index was negative or too great; nothing was written. Call the function without jit to see "
                              "which op and which index")

    def explain(self):
        """A report of the kernels."""
        return explained_program(self)

    def profile(self, arrays, repeats=20):
        """The report of the kernels with the time of each, one after the other, on copies of the state."""
        state = list(self._state_arrays)
        for i, array in enumerate(state):
            self.bind(i, array.copy())
        try:
            self(arrays)
            seconds = measured(self._single_runs(arrays), repeats)
        finally:
            for i, array in enumerate(state):
                self.bind(i, array)
        return explained_program(self, seconds)

    def _single_runs(self, arrays):
        """For each part a function that runs it alone."""
        fresh = {node: np.empty(node.shape, node.dtype) for node in self._fresh}
        for node, array in fresh.items():
            self._pointers[self._fresh[node]] = address_of(array)
        found, place, runs = self._arrays(arrays, fresh), address_of(self._steps), []
        for part in self.parts:
            if isinstance(part, Launch):
                runs.append(partial(self._run, self._table_address, place, 1))
                place += 32
            else:
                runs.append(partial(part.run, found))
        return runs

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
