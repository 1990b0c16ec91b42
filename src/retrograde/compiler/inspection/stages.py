"""Stages: the graph as each pass of the pipeline leaves it, as text, with what the pass has changed."""

from typing import NamedTuple

import numpy as np

from ...core.symbol import Symbol
from ..graph.loop_op import Loop
from ..pipeline import planned, planned_body

#: Longer arguments are cut.
_WIDEST = 60


class Stage(NamedTuple):
    """What a pass leaves.

    name     of the pass: "trace" for the graph as it was recorded, "body of loop 0: tile" for the body of a loop
    lines    of the graph, and of the steps from where there are some, in order; those that the pass made begin with "+"
    gone     the lines that were there before it, and are no more
    changes  what has changed in short, "" if nothing has
    """

    name: str
    lines: tuple
    gone: tuple
    changes: str

    def __str__(self):
        if not self.changes:
            return f"{self.name}: nothing has changed"
        return "\n".join([f"{self.name}: {self.changes}", *self.lines, *[f"- {line}" for line in self.gone]])


def stages_of(graph):
    """The `Stage`s of a program, and after them those of the bodies of its loops."""
    found = []
    _add_bodies(planned(graph, Stages("", found)), found, "")
    return tuple(found)


def _add_bodies(draft, found, outer):
    loops = [step for step in draft.schedule.steps if isinstance(step.roots[0].op, Loop)]
    for number, step in enumerate(loops):
        name = f"{outer}body of loop {number}: "
        _add_bodies(planned_body(step, draft.storage, Stages(name, found)), found, name)


class Stages:
    """Called after each pass: adds its stage to those `found`, under the name of the pass behind a `prefix`."""

    def __init__(self, prefix, found):
        self._prefix, self._found, self._numbers, self._before = prefix, found, {}, []

    def __call__(self, name, draft):
        lines = list(self._of_graph(draft.outputs.nodes))
        if draft.schedule is not None:
            lines += self._of_steps(draft)
        # As sets: a line has the number of its node, which it keeps, so that equal lines are the same node.
        before, now = set(self._before), set(lines)
        gone = tuple([line for line in self._before if line not in now])
        changes = f"{len(now - before)} lines new, {len(gone)} gone" if now != before else ""
        changes = changes or ("" if lines == self._before else "in another order")
        shown = tuple([f"{' ' if line in before else '+'} {line}" for line in lines])
        self._found.append(Stage(self._prefix + name, shown, gone, changes))
        self._before = lines

    def _name(self, node):
        """The number of a node, which stays the same from pass to pass."""
        return f"%{self._numbers.setdefault(node, len(self._numbers))}"

    def _of_graph(self, nodes):
        for node in nodes:
            spec = "several results" if node.shape is None else f"{node.dtype}{list(node.shape)}"
            call = "input" if node.op is None else f"{node.op.name}({', '.join([self._told(a) for a in node.args])})"
            yield f"{self._name(node)} = {call}  {spec}"

    def _told(self, argument):
        if isinstance(argument, Symbol):
            return self._name(argument)
        if argument.__class__ in (tuple, list):
            return f"({', '.join([self._told(a) for a in argument])})"
        # By its spec: the numbers of a constant would fill the page, and two that differ are two lines by their nodes anyway.
        if isinstance(argument, np.ndarray) and argument.size > 1:
            return f"{argument.dtype}{list(argument.shape)}"
        told = str(argument)
        return told if len(told) <= _WIDEST else f"{told[:_WIDEST]}..."

    def _of_steps(self, draft):
        nests = {}
        for step in draft.schedule.steps:
            domain = "×".join(map(str, step.domain))
            read, made = [", ".join([self._name(node) for node in nodes]) for nodes in (draft.schedule.read_by(step), step.roots)]
            line = f"step {step.kernel.name}{f' over {domain}' if domain else ''}: {read or 'nothing'} → {made}"
            if step.nest is not None:
                number = nests.setdefault(step.nest, len(nests))
                line += f"  in nest {number}, {step.nest.block} of {step.nest.rows} rows at a time"
            moved = [f"{self._name(root)} in {self._name(draft.aliases[root])}" for root in step.roots if root in draft.aliases]
            yield f"{line}  {', '.join(moved)}".rstrip()
