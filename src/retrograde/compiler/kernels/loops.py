"""Loops: what elementwise ops, reductions and views become together, in one pass over a domain."""

from math import prod

from ...core.symbol import Symbol
from ...dtypes import name_of, parts_dtype
from ...shapes import row_major
from .. import cost
from ..index.box import Store
from ..index.elements import has_elements
from ..index.expression import Load, doubled
from ..index.row_dependences import met_by_loops, row_counts
from .kernel import Kernel, Scratch
from .kind import Kind


class Loops(Kernel):
    """Loops over a domain."""

    name = "loop"
    is_apart, may_wait = False, False
    fuses = may_interchange = True

    def group(self, node, stage, domain, reduced):
        return stage, domain, reduced

    def read(self, step, schedule):
        return schedule.below(step)

    def may_fail_in(self, step, schedule, fragile):
        return bool(fragile) and not fragile.isdisjoint(schedule.computed_by(step))

    def rows(self, step, accesses):
        return row_counts(step.domain)

    def met(self, step, rows, accesses):
        form, buffers = accesses.form(step)
        found = form.once(("met", rows), lambda: met_by_loops(form.box, rows))
        return None if found is None else found.renamed(form.names(buffers))

    def is_worth_tiling(self, step):
        # A fold of rows is what others go over the same rows for again. Elementwise passes alone are fused, or have nothing in
        # common.
        return bool(step.reduced) and prod(step.domain) >= cost.TILED_NUMBERS

    def rows_read(self, step, accesses):
        form, buffers = accesses.form(step)
        read = form.once("read", lambda: [e.buffer for e in form.box.entries if isinstance(e, Load)])
        return form.counterparts(read, buffers)

    def launches(self, step, assembler):
        return self._launches(step, assembler, None)

    def rows_launches(self, step, nest, assembler, panels):
        return self._launches(step, assembler, nest)

    @staticmethod
    def _launches(step, assembler, nest):
        form, buffers = assembler.form(step)
        local = None if nest is None else tuple([_local(nest, buffer) for buffer in buffers])
        asked = None if nest is None else (nest.rows, nest.block, nest.frame, local)
        plan, unit = form.once(("plan", assembler.target, asked), lambda: _planned(form, asked, assembler))
        scratch = {id(p): Scratch(p.nbytes) for p in plan.partials}
        if plan.tape is not None:
            # One for each chunk, since they may run at the same time.
            scratch[id(plan.tape)] = Scratch(plan.tape.nbytes * plan.chunks)
        slots = tuple([scratch.get(id(b), b) for b in form.counterparts(plan.buffers, buffers)])
        seconds = plan.work * cost.ENTRY_SECONDS
        launch = assembler.launch(step, unit, unit.name, slots, tuple(plan.words), plan.chunks, assembler.lasts(step), seconds)
        if not plan.partials:
            return [launch]
        # One thread, after all chunks: parts are added in the same order whoever made them.
        return [launch, launch._replace(entry=f"{unit.name}_finish", chunks=1, seconds=0.0, role="finish")]

    def computed(self, step, schedule):
        return sorted(schedule.computed_by(step), key=schedule.places.__getitem__)


LOOPS = Loops()


class Reduction(Kind):
    """A sum, a product or an extremum over axes."""

    kernel, is_apart = LOOPS, True

    def matches(self, node, facts):
        if not node.size or not has_elements(node):
            return False
        named, x = node.named, node.args[0]
        # Folds of loops are in the dtype of the result; extrema of truth values have become `any` and `all`.
        kinds = "b" if node.op.name in ("any", "all") else "fi"
        # Simplifying has made these out of others: it converts first, and selects by `where` (see `simplify`). What is left is
        # the library's.
        return x.dtype == node.dtype and node.dtype.kind in kinds and named.get("where") is None and x.size > 0

    def domain(self, node, facts):
        return node.args[0].shape, reduced_axes(node)

    def stores(self, node, step, expression):
        shape = tuple([1 if i in step.reduced else n for i, n in enumerate(step.domain)])
        value = expression.add(node.args[0])
        return [Store(node, value, 0, result_steps(shape), name_of(node.dtype), node.op.name)]

    def at_point(self, node, facts):
        return [a for a in node.args[:1] if isinstance(a, Symbol)]

    def flops(self, node):
        return node.args[0].size if reduced_axes(node) else node.size


class Pair(Kind):
    """Complex numbers in memory, made of their parts."""

    kernel, is_apart = LOOPS, True

    def matches(self, node, facts):
        return bool(node.size)

    def stores(self, node, step, expression):
        return [_half(node, number, expression.add(part)) for number, part in enumerate(node.args)]


def _local(nest, buffer):
    """The bytes of a block of a buffer that lies in the frames of a nest, and its place there; None of others."""
    place = nest.local.get(buffer) if isinstance(buffer, Symbol) else None
    return None if place is None else (nest.block_bytes(buffer), place)


def _planned(form, asked, assembler):
    """(plan, unit) of the loops of a form; `asked` says of which rows of a nest, None outside of nests."""
    plans, rows = assembler.code("loop_plan"), None
    if asked is not None:
        count, block, frame, local = asked
        framed = {id(buffer): where for buffer, where in zip(form.buffers, local, strict=True) if where is not None}
        rows = plans.Rows(count, block, frame, framed)
    plan = plans.plan_loops(form.box, assembler.target, rows)
    return plan, assembler.unit(plan.key(), lambda module, name: assembler.code("loops").write_loops(module, name, plan))


def reduced_axes(node):
    """The axes, counted from the front, that a reduction folds."""
    axis = node.named["axis"]
    ndim = node.args[0].ndim
    axes = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(sorted(a % ndim for a in axes)) if ndim else ()


def result_steps(shape):
    """How the address of a result of a shape moves with each loop of that length."""
    return tuple([0 if n == 1 else step for n, step in zip(shape, row_major(shape), strict=True)])


def _half(node, part, value):
    """The store of one part of complex numbers."""
    return Store(node, value, 0, doubled(result_steps(node.shape)), name_of(parts_dtype(node.dtype)), part=part)
