"""Native programs: the steps of a program as machine code, one native call for each run of them."""

from functools import partial
from typing import NamedTuple

import numpy as np

from ...run.failures import ABANDONED, EXCHANGE, FLAG, failure
from ...run.program import SMALL, Layout, Program
from . import threads
from .table import STEP_WORDS, Words, address_of
from .units import library


class Code(NamedTuple):
    """All that it takes to run a program whose units are loaded.

    buffers      what each place in the table of pointers is for
    words        what the steps read; the steps themselves begin at word `steps`
    segments     (first step, how many), and library calls, in order
    is_parallel  whether there is enough work to wake threads
    units        the names of the units that are called
    """

    layout: Layout
    buffers: list
    words: Words
    steps: int
    segments: list
    is_parallel: bool
    units: list


class NativeProgram(Program):
    """A program whose steps are machine code. Small inputs are copied in; larger ones are read where they are."""

    def __init__(self, graph, code):
        super().__init__(graph, code.layout)
        self.code, self.is_parallel = code, code.is_parallel
        self._run = threads.runner()
        self._words = code.words.array(library().address)
        self._steps = address_of(self._words) + 8 * code.steps
        self.segments = [
            (self._steps + 8 * STEP_WORDS * part[0], part[1]) if part.__class__ is tuple else part for part in code.segments
        ]
        self._flag = self.fixed[id(FLAG)] = np.zeros(1, np.int64)
        for leaf in self.inputs:
            if leaf.size * leaf.dtype.itemsize <= SMALL:
                self.fixed[id(leaf)] = np.zeros(leaf.shape, leaf.dtype)
        self._bind()

    def _bind(self):
        """Fill in the pointers that stay."""
        buffers = self.code.buffers
        self._table = np.zeros(len(buffers), np.int64)
        self._pointers, self._table_address = memoryview(self._table), address_of(self._table)
        for number, buffer in enumerate(buffers):
            array = self.fixed.get(id(buffer), buffer)
            if isinstance(array, np.ndarray):
                self._table[number] = address_of(array)
        self._pointers[0] = threads.alone()
        self._flag_word = memoryview(self._flag)
        slots = {id(buffer): number for number, buffer in enumerate(buffers)}
        moved = [(slots[id(buffer)], at) for buffer, at in self.layout.places.items() if id(buffer) in slots]
        #: The places in the table of what lies in the block, and where in it that begins.
        self._moved = np.array(moved, np.int64).reshape(-1, 2).T
        self._fresh_places = {node: slots[id(node)] for node in self.fresh}
        self._state_places = [slots[id(leaf)] for leaf in self.state]
        inputs = [(i, slots[id(leaf)], self.fixed.get(id(leaf))) for i, leaf in enumerate(self.inputs)]
        self._small_inputs = [(i, inbox) for i, _, inbox in inputs if inbox is not None]
        self._large_inputs = [(i, place) for i, place, inbox in inputs if inbox is None]
        # One native call, and results that lie in the program's own memory: the shortest way, for steps of a few microseconds.
        is_alone = len(self.segments) == 1 and isinstance(self.segments[0], tuple)
        self._is_simple = is_alone and not self.late and not self.moving and all(self._are_outlets)

    def settle(self, block):
        """Compute in `block` from here on, which is large enough."""
        super().settle(block)
        numbers, offsets = self._moved
        self._table[numbers] = address_of(block) + offsets

    def quick_parts(self):
        """What a quick call needs of a small program with one result."""
        if not self._is_simple or self.is_parallel or self._large_inputs or len(self.results) != 1:
            return None
        if self._block is None:
            self.settle(self.block())
        call, inboxes = partial(self._run, self._table_address, *self.segments[0]), [inbox for _, inbox in self._small_inputs]
        return {"call": call, "flag": self._flag_word, "fail": self._fail, "inboxes": inboxes, "outlet": self.outlets[0]}

    def bind(self, number, array):
        """Let leaf `number` of the state be `array`, which is contiguous, from here on; returns it."""
        self._pointers[self._state_places[number]] = address_of(array)
        return super().bind(number, array)

    def __call__(self, arrays):
        """The results, as new arrays. `arrays` have the inputs' shapes and dtypes, and large ones are contiguous."""
        if self._block is None:
            self.settle(self.block())
        pointers, run = self._pointers, self._shared_run if self.is_parallel else self._run
        for i, inbox in self._small_inputs:
            inbox[...] = arrays[i]
        for i, place in self._large_inputs:
            pointers[place] = address_of(arrays[i])
        if self._is_simple:
            run(self._table_address, *self.segments[0])
            if self._flag_word[0]:
                self._fail()
            return [outlet.copy() for outlet in self.outlets]
        return self._called(arrays, run)

    def _called(self, arrays, run):
        """The results of a program that has library calls, or results and updates that lie elsewhere."""
        fresh = {}
        for node, place in self._fresh_places.items():
            fresh[node] = array = np.empty(node.shape, node.dtype)
            self._pointers[place] = address_of(array)
        found = self.arrays(arrays, fresh)
        try:
            for segment in self.segments:
                if segment.__class__ is tuple:
                    run(self._table_address, *segment)
                    if self._flag_word[0] == EXCHANGE:  # what comes next would talk to processes that are not there
                        self._fail()
                else:
                    segment.run(found)
        # Whatever stops a library call, Ctrl-C among it: the next call must not find what checks of this one have left.
        except BaseException:
            self._flag_word[0] = 0
            for abandon in ABANDONED:
                abandon()
            raise
        if self._flag_word[0]:
            self._fail()
        return self.finished(found, fresh)

    def _shared_run(self, table, *steps):
        """Run steps with the workers of this process. They are not held through library calls, which may run programs too."""
        threads.run_shared(self._pointers, table, *steps)

    def _fail(self):
        found, self._flag_word[0] = self._flag_word[0], 0
        raise failure(found)
