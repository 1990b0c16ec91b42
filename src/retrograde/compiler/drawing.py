"""Drawing outside of compiled functions: arrays filled by the kernels of random numbers."""

import numpy as np

from . import threads
from .random_plan import RandomPlan, has_kernel
from .table import STEP_WORDS, address_of
from .units import library
from .ways import way

#: Draws that take longer than this are shared with the threads of the pool.
_SHARED_SECONDS = 3e-4
#: For each kind of number the address of its kernel, None if there is none.
_KERNELS = {}


def fill(kind, key, block, result, parameters):
    """Fill an array with numbers of a kind from a block on; whether that was done."""
    name = f"random_{kind.name}", kind.dtype.name
    plan = RandomPlan(*name, result.size, parameters=parameters)
    if name not in _KERNELS:
        _KERNELS[name] = _loaded(plan) if has_kernel(*name) and way() == "native" else None
    address = _KERNELS[name]
    if address is not None:
        _run(plan, address, np.array([key, block], np.uint64), result)
    return address is not None


def _loaded(plan):
    unit = plan.unit
    library().load([threads.unit(), unit])
    return library().address(unit.name)


def _run(plan, address, state, result):
    """Run one step: its function, its slots, its chunks, and that it writes nothing that lasts. Slots 2 and 3 of the table are the
    state and the result, after the pool and a flag.
    """
    step, flag = np.array([address, 0, plan.chunks, 0, 2, 3, *plan.words], np.int64), np.zeros(1, np.int64)
    step[1] = address_of(step) + step.itemsize * STEP_WORDS
    table = np.array([threads.alone(), *map(address_of, (flag, state, result))], np.int64)
    arguments = address_of(table), address_of(step), 1
    if plan.chunks == 1 or plan.seconds <= _SHARED_SECONDS:
        threads.runner()(*arguments)
        return
    with threads.held_pool() as pool:
        table[0] = pool.address
        threads.runner()(*arguments)
