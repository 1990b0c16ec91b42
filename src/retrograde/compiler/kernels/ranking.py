"""Ranking: the places of the first few numbers of each row in their order."""

from math import prod

from ...core.symbol import Symbol
from ...dtypes import name_of
from .. import cost
from ..index.elements import has_elements
from .kernel import Kernel, launch


class Ranking(Kernel):
    """The places of the first few numbers."""

    name = "ranking"

    def matches(self, node, facts):
        x, ranked, axis, _ = node.args
        if not node.size or not isinstance(x, Symbol) or not has_elements(node):
            return False
        return name_of(x.dtype) in ("float32", "float64") and axis % x.ndim == x.ndim - 1 and ranked <= cost.MOST_RANKED

    def launches(self, step, assembler):
        node, code = step.roots[0], assembler.code("ranking")
        x, ranked, _, is_greatest = node.args
        dtype = name_of(x.dtype)
        plan = code.RankingPlan(dtype, assembler.target.lanes(dtype), prod(x.shape[:-1]), x.shape[-1], ranked, bool(is_greatest))
        buffers = assembler.layout(step, x)[0], assembler.storage(node)
        return launch(step, plan, code.write_ranking, buffers, x.size * cost.RANKING_COST * cost.ENTRY_SECONDS, assembler)
