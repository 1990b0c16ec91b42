"""The code of functions: a function of values, recorded on symbols that stand for arrays, and written as code."""

from ....core.symbol import Symbol
from ...pipeline import planned
from ...run.failures import SeveralStepsError
from ...run.program import Graph
from ...trace.outcome import outcome_of
from .codegen.loop_plan import plan_loops
from .codegen.loops import write_loops

#: Kernels are planned for so many elements, and serve any number that vectors divide.
_MANY = 1 << 20


def write_function(module, name, function, dtype, count):
    """Write the kernel of an elementwise function of `count` arrays: its slots are these, the result, the number of elements
    and that of a chunk.
    """
    leaves = [Symbol(None, (), (_MANY,), dtype) for _ in range(count)]
    draft = planned(Graph(leaves, [], [outcome_of(function, leaves)], [], []))
    if len(draft.schedule.steps) != 1 or not draft.schedule.steps[0].kernel.fuses:
        raise SeveralStepsError(f"{name} is not one loop over elements")
    (step,), (result,) = draft.schedule.steps, draft.outputs
    loops = plan_loops(draft.accesses.box(step), module.target)
    numbers = dict.fromkeys((("length", 0), "chunk_length"))
    write_loops(module, name, loops.with_slots((*leaves, result), numbers))
