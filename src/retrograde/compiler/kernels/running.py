"""Running sums, products and linear recurrences along an axis."""

from math import prod

from ...core.dispatch import operands_of
from ...core.symbol import Symbol
from ...dtypes import name_of, parts_dtype
from .. import cost
from ..index.elements import has_elements
from .kernel import Kernel, launch

#: What joins two numbers, and whether this starts with the last element.
_OPS = {"cumsum": ("fadd", False), "cumprod": ("fmul", False), "cumsum_from_end": ("fadd", True),
        "linear_recurrence": ("recur", False)}


class Running(Kernel):
    """Numbers of which each needs the one before it."""

    name = "running"

    def matches(self, node, facts):
        axis, operands = node.args[len(node.op.operands)], operands_of(node.op, node.args)
        has_kernel = node.dtype.kind == "c" or node.dtype.kind == "f" and has_elements(node)
        is_plain = bool(node.size) and has_kernel and axis is not None and node.ndim > 0
        has_dtype = all([getattr(x, "dtype", None) == node.dtype for x in operands])
        return is_plain and has_dtype and any([isinstance(x, Symbol) for x in operands])

    def launches(self, step, assembler):
        node, code = step.roots[0], assembler.code("running")
        read = operands_of(node.op, node.args)
        buffers = [assembler.layout(step, x)[0] for x in read]
        axis, dtype = node.args[len(read)] % node.ndim, name_of(parts_dtype(node.dtype))
        width = 2 if node.dtype.kind == "c" else 1
        sizes = prod(node.shape[:axis]), node.shape[axis], prod(node.shape[axis + 1 :]) * width
        plan = code.RunningPlan(dtype, assembler.target.lanes(dtype), *_OPS[node.op.name], *sizes, width)
        buffers = (*buffers, assembler.storage(node))
        return launch(step, plan, code.write_running, buffers, node.size * cost.RUNNING_COST * cost.ENTRY_SECONDS, assembler)
