"""Scatter: lines that are added at positions along one axis."""

from math import prod

from ...dtypes import name_of
from .. import cost
from ..index.elements import has_elements, is_checked
from ..run.failures import FLAG
from .kernel import Kernel, launch


class Scatter(Kernel):
    """A sum of lines at positions."""

    name = "scatter"

    def matches(self, node, facts):
        return bool(node.size) and has_elements(node) and _scattered(node) is not None

    def may_fail_in(self, step, schedule, fragile):
        return not is_checked(_scattered(step.roots[0])[1])

    def launches(self, step, assembler):
        node, code = step.roots[0], assembler.code("positions")
        x, positions, axis = _scattered(node)
        buffers = [assembler.layout(step, a)[0] for a in (x, positions)]
        plan = code.ScatterPlan(
            name_of(node.dtype), name_of(positions.dtype), assembler.target.lanes(name_of(node.dtype)), prod(node.shape[:axis]),
            prod(positions.shape), node.shape[axis], prod(node.shape[axis + 1 :]))
        buffers = (*buffers, assembler.storage(node), FLAG)
        return launch(step, plan, code.write_scatter, buffers, (x.size + node.size) * cost.ENTRY_SECONDS, assembler)


def _scattered(node):
    """(what is added, the positions, along which axis) of a node that adds lines at positions along one axis; None of others."""
    x, shape, index = node.args
    index = index if isinstance(index, tuple) else (index,)
    axis = len(index) - 1
    is_plain = axis >= 0 and all(isinstance(i, slice) and i == slice(None) for i in index[:-1])
    if not is_plain or not hasattr(index[-1], "dtype") or name_of(index[-1].dtype) not in ("int32", "int64"):
        return None
    fits = node.dtype.kind == "f" and getattr(x, "dtype", None) == node.dtype
    fits = fits and x.shape == (*shape[:axis], *index[-1].shape, *shape[axis + 1 :])
    return (x, index[-1], axis) if fits else None
