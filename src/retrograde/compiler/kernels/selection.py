"""Selection: the places of the numbers of given ranks, without sorting the row."""

from math import prod

import numpy as np

from ...core.symbol import Symbol
from ...dtypes import name_of
from .. import cost
from ..index.elements import has_elements
from .kernel import Kernel, launch

#: Each rank takes some passes over its row; more than so many are found faster in the whole order.
_MOST_SELECTED = 8


class Selection(Kernel):
    """The places of the numbers of given ranks."""

    name = "selection"

    def matches(self, node, facts):
        x, ranks = node.args
        has_ranks = hasattr(ranks, "shape") and ranks.dtype == np.int64 and ranks.size > 0
        if not node.size or not has_ranks or not isinstance(x, Symbol) or not has_elements(node):
            return False
        is_plain = name_of(x.dtype) in ("float32", "float64") and x.size < 1 << 31
        few = ranks.shape[-1] <= _MOST_SELECTED
        return is_plain and few and ranks.shape in (ranks.shape[-1:], (*x.shape[:-1], ranks.shape[-1]))

    def launches(self, step, assembler):
        node, code = step.roots[0], assembler.code("selection")
        (x, ranks), dtype = node.args, name_of(node.args[0].dtype)
        apart = ranks.shape[-1] if len(ranks.shape) > 1 else 0
        plan = code.SelectionPlan(dtype, assembler.target.lanes(dtype), prod(x.shape[:-1]), x.shape[-1], ranks.shape[-1], apart)
        buffers = (*[assembler.layout(step, a)[0] for a in (x, ranks)], assembler.storage(node))
        seconds = x.size * plan.ranks * cost.SELECTION_COST * cost.ENTRY_SECONDS
        return launch(step, plan, code.write_selection, buffers, seconds, assembler)
