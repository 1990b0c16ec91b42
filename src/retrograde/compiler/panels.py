"""Panels: a matrix by which a loop multiplies in every turn is packed once, before the first."""

from dataclasses import replace

from .codegen.box import Box, Store
from .codegen.matmul import choose
from .codegen.matmul.plan import workspace_bytes
from .codegen.target import ITEM_BYTES
from .expression import Load
from .table import Scratch


class Panels:
    """The right matrix of a product, cut in panels as wide as a tile, each of which lies in memory row by row.

    problem  the product as a batch of narrow ones, one for each panel; `plan` is how it is computed
    scratch  the memory of the panels
    """

    def __init__(self, problem, plan):
        self.problem, self.plan = problem, plan
        ((self._count, *_),) = problem.batch
        self.scratch = Scratch(self._count * problem.k * problem.n * ITEM_BYTES[problem.dtype])

    def box(self, buffer, start, steps):
        """The loops that pack the matrix at element `start` of a buffer, whose rows and columns are `steps` apart."""
        row, column = steps
        k, width, dtype = self.problem.k, self.problem.n, self.problem.dtype
        load = Load(buffer, start, (width * column, row, column), dtype)
        store = Store(self.scratch, 0, 0, (k * width, width, 1), dtype)
        return Box((self._count, k, width), (False,) * 3, (load,), (store,))


def panels_of(target, problem, plan):
    """The `Panels` of a product; None where `plan` packs nothing, or panels would not fill it."""
    spec, width = plan.spec, plan.spec.width
    if spec.kind != "tiles" or spec.is_swapped or spec.b_layout == "direct" or problem.batch or problem.n % width:
        return None
    batch = ((problem.n // width, 0, problem.k * width, width * problem.c[1]),)
    narrow = replace(problem, n=width, b=(width, 1), batch=batch)
    plan = choose(target, narrow)
    if plan.spec.kind != "tiles" or plan.spec.is_swapped or plan.spec.width != width:
        return None
    spec = replace(plan.spec, b_layout="direct")
    return Panels(narrow, replace(plan, spec=spec, workspace_bytes=workspace_bytes(spec, plan.numbers)))
