"""Positions that are data: lines that are written there, and which of them are the same."""

from math import prod

from ...core.symbol import Symbol
from ...dtypes import name_of
from .. import cost
from ..index.elements import are_within, is_checked, is_in_memory, positions_of
from ..run.failures import FLAG
from .kernel import Kernel, Scratch, launch

_INDEX_BITS = {"int32": 32, "int64": 64}


class Written(Kernel):
    """Lines that are written over those at positions along the first axis; all others stay what they are."""

    name = "written"

    def matches(self, node, facts):
        x, y, index = node.args
        positions = positions_of(index)
        if positions is None or not node.size or not isinstance(x, Symbol) or not hasattr(y, "shape"):
            return False
        if not x.dtype == y.dtype == node.dtype:
            return False
        # As many lines as positions, so that nothing is broadcast.
        return x.ndim > 0 and y.size > 0 and is_in_memory(node) and y.shape == (*positions.shape, *x.shape[1:])

    def updated(self, node):
        x, y, index = node.args
        return None if x is y or x is positions_of(index) else x

    def may_fail_in(self, step, schedule, fragile):
        x, _, index = step.roots[0].args
        return not is_checked(positions_of(index)) and not are_within(positions_of(index), x.shape[0])

    def launches(self, step, assembler):
        node, code = step.roots[0], assembler.code("positions")
        x, y, index = node.args
        positions, target = positions_of(index), assembler.storage(node)
        source, numbers, lines = (assembler.layout(step, a)[0] for a in (x, positions, y))
        plan = code.WrittenPlan(_INDEX_BITS[name_of(positions.dtype)], source is target, prod(positions.shape), x.shape[0],
                                prod(x.shape[1:]) * node.dtype.itemsize)
        moved = y.size if plan.is_in_place else x.size + y.size
        buffers = source, numbers, lines, target, FLAG
        return launch(step, plan, code.write_written, buffers, moved * cost.ENTRY_SECONDS, assembler)


class FirstPlaces(Kernel):
    """Where each of some positions stands first."""

    name, is_linked = "first places", False

    def matches(self, node, facts):
        x = node.args[0]
        return bool(node.size) and isinstance(x, Symbol) and name_of(x.dtype) in _INDEX_BITS

    def launches(self, step, assembler):
        node, code = step.roots[0], assembler.code("positions")
        x = node.args[0]
        plan = code.FirstPlan(_INDEX_BITS[name_of(x.dtype)], self.is_linked, x.size)
        buffers = assembler.layout(step, x)[0], assembler.storage(node), Scratch(plan.room)
        return launch(step, plan, code.write_first, buffers, x.size * cost.FIRST_SECONDS, assembler)


class NextPlaces(FirstPlaces):
    """Where each of some positions stands next."""

    name, is_linked = "next places", True
