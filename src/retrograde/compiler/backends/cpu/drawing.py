"""Drawing outside of compiled functions: arrays filled by the kernels of random numbers."""

import numpy as np

from ....dtypes import name_of
from ....ops.random._streams import CALL
from ... import cost
from ...kernels.random_plan import RandomPlan, has_kernel
from . import threads
from .host import target
from .table import STEP_WORDS, address_of
from .units import library
from .writer import Writer


class Filler:
    """The kernels that are loaded. One that an earlier process has left on disk is loaded at once; another is compiled when so many
    numbers of its kind have been drawn that NumPy has taken longer for them than compiling takes.
    """

    def __init__(self, patience=1 << 24):
        self._patience, self._addresses, self._drawn = patience, {}, {}

    def __call__(self, kind, key, block, result, parameters):
        """Fill an array with numbers of a kind from a block on; whether that was done."""
        name = f"random_{kind.name}", name_of(kind.dtype)
        plan = RandomPlan(*name, result.size, parameters=parameters)
        if name not in self._addresses:
            self._look_for(name, plan)
        address = self._addresses.get(name)
        if address is not None:
            _run(plan, address, key, block, result)
        return address is not None

    def _look_for(self, name, plan):
        if not has_kernel(*name):
            self._addresses[name] = None
            return
        unit, is_first = plan.unit(Writer(target())), name not in self._drawn
        self._drawn[name] = self._drawn.get(name, 0) + max(plan.count, CALL)
        # The disk is asked once: what is not there at first will not be there until this process compiles it.
        if not (is_first and library().load_stored([threads.unit().name, unit.name])):
            if self._drawn[name] < self._patience:
                return
            library().load([threads.unit(), unit])
        self._addresses[name] = library().address(unit.name)


fill = Filler()


def _run(plan, kernel, key, block, result):
    """Run one step: its function, its slots, its chunks, and that it writes nothing that lasts. In one array follow the slots,
    the table of pointers to the pool, a flag, the state and the result, and then the flag and the state themselves.
    """
    words = [kernel, 0, plan.chunks, 0, 2, 3, *plan.words]
    table = len(words)
    words += [threads.alone(), 0, 0, address_of(result), 0, _signed(key), _signed(block)]
    array = np.array(words, np.int64)
    start = address_of(array)
    array[1], array[table + 1], array[table + 2] = start + 8 * STEP_WORDS, start + 8 * (table + 4), start + 8 * (table + 5)
    arguments = start + 8 * table, start, 1
    if plan.chunks > 1 and plan.seconds > cost.SHARED_SECONDS:
        threads.run_shared(array[table:], *arguments)
    else:
        threads.runner()(*arguments)


def _signed(word):
    return word - (word >> 63 << 64)
