"""The native way: the steps of a program as machine code, one native call for each run of them."""

from functools import partial

import numpy as np

from ..core.symbol import Symbol
from ..errors import OutOfRangeError
from . import threads
from .assemble import assemble
from .codegen.loop_plan import FLAG
from .launches import Launch
from .plan import numbered
from .program import SMALL, Program
from .repeat import Repeat
from .table import POOL, Scratch, address_of, laid_out
from .units import library

#: What runs as steps of the native runner.
_NATIVE = (Launch, Repeat)
#: To wake threads pays for a program that could share at least this much work.
_SHARED_SECONDS = 3e-4


class NativeProgram(Program):
    """A program whose steps are machine code. Small inputs are copied in; larger ones are read where they are."""

    def __init__(self, inputs, state, results, updates, held=()):
        super().__init__(inputs, state, results, updates, held)
        self.parts = assemble(self.schedule, self.passes, self.homes)
        self.launches = [part for part in self.parts if isinstance(part, _NATIVE)]
        threads.runner()
        library().load([unit for launch in self.launches for unit in launch.units])
        self._slots, self._buffers = {}, []
        for buffer in (POOL, FLAG, *self.inputs, *self.state):
            self._slot(buffer)
        numbers = {step: number for number, step in numbered(self.schedule)}
        scratch = {b: numbers[launch.step] for launch in self.launches for b in launch.buffers if isinstance(b, Scratch)}
        self.reserve(scratch.items(), without={n for step in self.schedule.steps if step.nest is not None for n in step.nest.local})
        self._fresh_places = {node: self._slot(node) for node in self.fresh}
        self._flag = self.fixed[id(FLAG)] = np.zeros(1, np.int64)
        for leaf in self.inputs:
            if leaf.size * leaf.dtype.itemsize <= SMALL:
                self.fixed[id(leaf)] = np.zeros(leaf.shape, leaf.dtype)
        self._lay_out()
        self._bind()

    def _slot(self, buffer):
        """The place of a buffer in the table of pointers."""
        buffer = self.homes.get(buffer, buffer) if isinstance(buffer, Symbol) else buffer
        if id(buffer) not in self._slots:
            self._slots[id(buffer)] = len(self._slots)
            self._buffers.append(buffer)  # kept alive, so that its identity stays its own
        return self._slots[id(buffer)]

    def _lay_out(self):
        """The launches as the words that the runner reads; runs of them between library calls are segments."""
        self._words, self._steps = laid_out(self.launches, self._slot)
        self.is_parallel = sum([launch.shared_seconds for launch in self.launches]) > _SHARED_SECONDS
        self.segments, first, place = [], 0, 0
        for part in (*self.parts, None):
            if isinstance(part, _NATIVE):
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
            array = self.fixed.get(id(buffer), buffer)
            if isinstance(array, np.ndarray):
                self._table[number] = address_of(array)
        self._run, self._pool = threads.runner(), None
        self._pointers[0] = threads.alone()
        self._flag_word = memoryview(self._flag)
        self._state_places = [self._slot(leaf) for leaf in self.state]
        inputs = [(i, self._slot(leaf), self.fixed.get(id(leaf))) for i, leaf in enumerate(self.inputs)]
        self._small_inputs = [(i, inbox) for i, _, inbox in inputs if inbox is not None]
        self._large_inputs = [(i, place) for i, place, inbox in inputs if inbox is None]
        self._is_simple = not self.late and not self.moving and len(self.segments) == 1 and all(
            o is not None for o in self.outlets
        ) and isinstance(self.segments[0], tuple)

    def quick_parts(self):
        """What a quick call needs of a small program with one result."""
        if not self._is_simple or self.is_parallel or self._large_inputs or len(self.outlets) != 1:
            return None
        call, inboxes = partial(self._run, self._table_address, *self.segments[0]), [inbox for _, inbox in self._small_inputs]
        return {"call": call, "flag": self._flag_word, "fail": self._fail, "inboxes": inboxes, "outlet": self.outlets[0]}

    def bind(self, number, array):
        """Let leaf `number` of the state be `array`, which is contiguous, from here on; returns it."""
        self._pointers[self._state_places[number]] = address_of(array)
        return super().bind(number, array)

    def __call__(self, arrays):
        """The results, as new arrays. `arrays` have the inputs' shapes and dtypes, and large ones are contiguous."""
        if not self.is_parallel:
            return self._run_on(arrays)
        pool = threads.pool()
        if pool is not self._pool:
            self._pool = pool
            self._pointers[0] = pool.address
        with pool.lock:
            return self._run_on(arrays)

    def _run_on(self, arrays):
        pointers = self._pointers
        for i, inbox in self._small_inputs:
            inbox[...] = arrays[i]
        for i, place in self._large_inputs:
            pointers[place] = address_of(arrays[i])
        if self._is_simple:
            self._run(self._table_address, *self.segments[0])
            if self._flag_word[0]:
                self._fail()
            return [outlet.copy() for outlet in self.outlets]
        return self._called(arrays)

    def _called(self, arrays):
        """The results of a program that has library calls, or results and updates that lie elsewhere."""
        fresh = {}
        for node, place in self._fresh_places.items():
            fresh[node] = array = np.empty(node.shape, node.dtype)
            self._pointers[place] = address_of(array)
        found = self.arrays(arrays, fresh)
        try:
            for segment in self.segments:
                if segment.__class__ is tuple:
                    self._run(self._table_address, *segment)
                else:
                    segment.run(found)
        except BaseException:
            self._flag_word[0] = 0
            raise
        if self._flag_word[0]:
            self._fail()
        return self.finished(found, fresh)

    def _fail(self):
        self._flag_word[0] = 0
        raise OutOfRangeError("an index was negative or too great; nothing was written. Call the function without jit to see "
                              "which op and which index")

    def _run_step(self, place, _arrays):
        """Run one step; its caller keeps the arrays that it writes to."""
        self._run(self._table_address, place, 1)

    def single_runs(self, arrays):
        """For each part a function that runs it alone."""
        fresh = {node: np.empty(node.shape, node.dtype) for node in self.fresh}
        for node, array in fresh.items():
            self._pointers[self._fresh_places[node]] = address_of(array)
        found, place, runs = self.arrays(arrays, fresh), address_of(self._steps), []
        for part in self.parts:
            if isinstance(part, _NATIVE):
                runs.append(partial(self._run_step, place, found))
                place += 32
            else:
                runs.append(partial(part.run, found))
        return runs
