"""Kernel: what computes stored nodes in one pass over memory. One file of this folder has one kernel.

A kernel says which nodes it computes, what it reads, what it costs, whether it may fail, and by which launches of compiled code it
runs. Code is the backend's: a kernel asks the `assembler` for what writes it (`code`), for the unit that it becomes (`unit`), for
its launch (`launch`), and for what both depend on (`target`, `threads`); see `backends.cpu.writer`.
"""

from dataclasses import dataclass

from ..graph.recorder import PICK
from .kind import Kind


@dataclass(frozen=True, eq=False)
class Scratch:
    """Memory that a kernel needs while it runs."""

    nbytes: int


class Kernel(Kind):
    """A kernel of its own, as a kind of node.

    name             as reports show it
    fuses            whether results of several nodes are computed together, and operands on the way
    may_wait         whether an operand that is read long after it was made may be computed again (see `passes.rematerialise`)
    fewest_rows      how many rows a pass of a nest computes at least
    is_alone         whether its code is of use without other processes
    may_interchange  whether rows of it can go through all iterations of a loop, each chunk on a thread of its own
    """

    name = ""
    is_apart = True
    fuses = may_interchange = False
    fewest_rows = 1
    may_wait = is_alone = True

    @property
    def kernel(self):
        """A kernel computes the nodes of its kind itself."""
        return self

    def can_reorder(self, node, order):
        """Whether a result can be written with its axes in another order."""
        return False

    def maker(self, node):
        """What tells the pass that computes a node from others: the node that a kernel of several results is for, or the node."""
        return node

    def group(self, node, stage, domain, reduced):
        """Nodes of one group are computed by one pass."""
        return self.maker(node)

    def domain(self, node, facts):
        return (), ()

    def memory(self, node, facts):
        """The nodes that must be in memory: by default the operands, each whole and in row-major order, so that a view is copied
        first. A kernel that reads views itself gives `facts.base` of them, and uses the first element and the strides of each.
        """
        return node.inputs

    def read(self, step, schedule):
        """The stored nodes that a step reads."""
        # Once each and in order: equal graphs have equal slots, and so equal code.
        found = [a for root in step.roots for a in self.memory(root, schedule.facts)]
        return list(dict.fromkeys([a for a in found if a in schedule.stored]))

    def updated(self, node):
        """The operand in whose memory a node may be computed although the step reads it, since it is read at the very elements that
        are written, or not at all; None where there is none.
        """
        return

    def rows_written(self, step):
        """The positions at which a step writes rows over those of its results, each of them once; None of others."""
        return

    def may_fail_in(self, step, schedule, fragile):
        """Whether a step may find that there is no result; the nodes `fragile` are those that may have no value in loops."""
        return False

    # Rows: passes over the same rows run block by block (see `nests`)

    def rows(self, step, accesses):
        """How many rows a step has by its own axes, the most first; none if it cannot be in a nest."""
        return []

    def met(self, step, rows, accesses):
        """What a step over so many rows meets, as `Met`; None if it does not go over so many."""
        return

    def is_worth_tiling(self, step):
        """Whether a step is so large, and goes over what it reads so often, that it had better be in a nest."""
        return False

    def product(self, step, accesses):
        """The matrix product of a step; None of others."""
        return

    def rows_read(self, step, accesses):
        """The buffers of which a step reads rows."""
        return []

    def rows_launches(self, step, nest, assembler, panels):
        """The launches of a step in a nest; `panels` holds the matrices that these have packed."""
        raise NotImplementedError

    # Code

    def launches(self, step, assembler):
        """A step as launches of compiled code, or as what Python runs; `assembler` says where buffers are."""
        raise NotImplementedError

    def called(self, step, program):
        """What runs a step that has no code; None where NumPy can compute its nodes one by one. `program(graph)` makes programs."""
        return

    # Reports

    def computed(self, step, schedule):
        """The nodes that a step computes, in order."""
        return step.roots

    def loops(self, step):
        """The lengths of the loops of a step, as reports show them."""
        return step.domain or step.roots[0].shape or ()


def source(node):
    """The node that a kernel is for: of one of several results, what they are results of."""
    return node.args[0] if node.op is PICK else node


def launch(step, plan, write, buffers, seconds, assembler, role=""):
    """The launch of a step by its plan, whose code `write(module, name, plan)` writes. The plan has a `key`, plain data on which
    all of the code depends, `words`, the numbers that it is handed after its buffers, and `chunks`. With a `role` it writes no
    result, but scratch memory for another launch.
    """
    unit, lasts = assembler.unit(plan.key, lambda module, name: write(module, name, plan)), not role and assembler.lasts(step)
    return [assembler.launch(step, unit, unit.name, buffers, plan.words, plan.chunks, lasts, seconds, role=role)]
