"""Building native programs: the kernels of a planned graph are compiled, and it is ready to run."""

from functools import partial

import numpy as np

from ... import cost
from ...inspection.inspection import Inspected
from ...kernels.kernel import Scratch
from ...run.failures import FLAG
from . import threads
from .launches import Launch
from .loop_launch import LoopLaunch
from .native import Code, NativeProgram
from .table import POOL, STEP_WORDS, Words, address_of, laid_out
from .units import library

#: What runs as steps of the native runner.
NATIVE = (Launch, LoopLaunch)


class BuiltProgram(Inspected, NativeProgram):
    """A native program that was planned in this process."""

    def __init__(self, graph, draft, parts):
        self.draft, self.parts = draft, parts
        super().__init__(graph, code_of(graph, draft, parts, loaded(parts)))

    def single_runs(self, arrays):
        """For each part a function that runs it alone."""
        fresh = {node: np.empty(node.shape, node.dtype) for node in self.fresh}
        for node, array in fresh.items():
            self._pointers[self._fresh_places[node]] = address_of(array)
        found, place, runs = self.arrays(arrays, fresh), self._steps, []
        for part in self.parts:
            if isinstance(part, NATIVE):
                runs.append(partial(self._run_step, place, found))
                place += 8 * STEP_WORDS
            else:
                runs.append(partial(part.run, found))
        return runs

    def _run_step(self, place, _arrays):
        """Run one step; its caller keeps the arrays that it writes to."""
        self._run(self._table_address, place, 1)


def loaded(parts):
    """The units of the parts of a program by name, which are compiled and loaded then, with that which runs steps."""
    units = {unit.name: unit for part in parts if isinstance(part, NATIVE) for unit in part.units}
    library().load([threads.unit(), *units.values()])
    return units


def code_of(graph, draft, parts, units):
    """The code of a program from its parts."""
    launches = [part for part in parts if isinstance(part, NATIVE)]
    numbers = {step: number for number, step in draft.schedule.numbered()}
    scratch = {b: numbers[launch.step] for launch in launches for b in launch.buffers if isinstance(b, Scratch)}
    return code_with(graph, draft.layout(scratch.items(), draft.local), parts, units, draft.storage)


def code_with(graph, layout, parts, units, storage):
    """The code of a program whose layout is known; buffers live where `storage(buffer)` says."""
    launches = [part for part in parts if isinstance(part, NATIVE)]
    slots, words = _Slots(storage), Words()
    # These have the first places, in this order, whatever the steps read: whoever calls the program knows them without asking.
    for buffer in (POOL, FLAG, *graph.inputs, *graph.state, *layout.fresh):
        slots(buffer)
    steps = laid_out(launches, slots, words)
    is_parallel = sum([launch.shared_seconds for launch in launches]) > cost.SHARED_SECONDS
    return Code(layout, slots.buffers, words, steps, _segments(parts), is_parallel, list(units))


class _Slots:
    """The places of buffers in the table of pointers, in the order in which they are asked for."""

    def __init__(self, storage):
        self._storage, self._places, self.buffers = storage, {}, []

    def __call__(self, buffer):
        buffer = self._storage(buffer)
        # By identity: scratch memory and constants have no equality that would tell them apart.
        place = self._places.get(id(buffer))
        if place is None:
            place = self._places[id(buffer)] = len(self._places)
            self.buffers.append(buffer)  # kept alive, so that its identity stays its own
        return place


def _segments(parts):
    """Runs of native steps between library calls, as (first step, how many), and the calls."""
    found, first, place = [], 0, 0
    for part in (*parts, None):
        if isinstance(part, NATIVE):
            place += 1
            continue
        if place > first:
            found.append((first, place - first))
        if part is not None:
            found.append(part)
        first = place
    return found
