"""Row updates: rows that are computed and written over those of a table, in one pass over their positions.

A row of the table is read, used and written while it is in a register, in place where `passes.alias` finds that right. Of equal
positions one row counts, so that no row is read after it was written, nor by two threads.
"""

from math import prod

from ...core.symbol import Symbol
from ...dtypes import name_of
from .. import cost
from ..index.box import Store
from ..index.elements import is_in_memory
from ..run.failures import FLAG
from .inline import Inline
from .kernel import launch
from .kind import Kind
from .loops import Loops


class RowLoops(Loops):
    """Loops over rows at positions and what they hold; those with the same positions are computed together."""

    name = "row update"
    may_interchange = False

    def group(self, node, stage, domain, reduced):
        return "rows", stage, domain, *map(id, node.args[2:])

    def rows(self, step, accesses):
        return []  # which rows of a table belong to a block is not known

    def met(self, step, rows, accesses):
        return

    def is_worth_tiling(self, step):
        return False

    def rows_written(self, step):
        return step.roots[0].args[2]

    def launches(self, step, assembler):
        # All copies first: what a loop writes in place may be copied to another table.
        copies = [copy for root in step.roots for copy in _copied(root, step, assembler)]
        return [*copies, *super().launches(step, assembler)]


def _copied(root, step, assembler):
    """What copies a table to where its rows are to be written; nothing where it is there."""
    source, target = assembler.layout(step, root.args[0])[0], assembler.storage(root)
    if source is target:
        return []
    code = assembler.code("positions")
    plan = code.WrittenPlan(64, False, 0, root.shape[0], prod(root.shape[1:]) * root.dtype.itemsize)
    return launch(step, plan, code.write_written, (source, source, source, target, FLAG), root.size * cost.ENTRY_SECONDS, assembler)


ROW_LOOPS = RowLoops()


class RowUpdate(Kind):
    """A table with rows written over others, those that count, at positions that were checked."""

    kernel, is_apart = ROW_LOOPS, True

    def matches(self, node, facts):
        x, y, positions, counts = node.args
        if not node.size or not isinstance(x, Symbol) or not is_in_memory(node):
            return False
        # Rows of one number each have no loop of their own.
        if x.dtype != getattr(y, "dtype", None) or not y.size or x.size == x.shape[0]:
            return False
        is_chosen = name_of(positions.dtype) in ("int32", "int64") and name_of(counts.dtype) == "bool"
        return is_chosen and counts.shape == positions.shape and y.shape == (*positions.shape, *x.shape[1:])

    def shown(self, node, facts):
        return facts.memory(node.args[0])

    def domain(self, node, facts):
        return node.args[1].shape, ()

    def at_point(self, node, facts):
        return [a for a in node.args[1:2] if isinstance(a, Symbol)]

    def stores(self, node, step, expression):
        _, rows, positions, counts = node.args
        start, steps, chosen, place = expression.rows(node, positions)
        value, counted = expression.add(rows), expression.add(counts, place)
        return [Store(node, value, start, steps, name_of(node.dtype), chosen=chosen, counts=counted)]


class SumAlongPlaces(Inline):
    """Sums of rows that are linked to each other."""

    is_moving = True

    def matches(self, node, facts):
        x, places = node.args
        is_linked = isinstance(x, Symbol) and isinstance(places, Symbol) and name_of(places.dtype) == "int64"
        return bool(node.size) and is_linked and name_of(x.dtype) in ("float32", "float64")

    def memory(self, node, facts):
        # Links too: they are followed from one to the next.
        return [facts.memory(node.args[0]), node.args[1]]

    def entry(self, node, place, guard, expression):
        return expression.gathered((node.args[0], 0, node.args[1], False), place, guard, follows=True)

    def operands(self, node, place, bounds, places, facts):
        positions, _ = places.chosen(place, (node.args[0], 0, node.args[1], False))
        return [(node.args[1], (positions, bounds))]
