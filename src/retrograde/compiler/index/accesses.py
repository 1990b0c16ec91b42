"""Accesses: what each step of a schedule does to memory, found once: its loops as a box, its product as a problem."""

from typing import NamedTuple

import numpy as np

from ...dtypes import name_of
from ...shapes import row_major
from .box import Box
from .expression import Expression
from .forms import Forms
from .problem import Problem


class Product(NamedTuple):
    """The problem of a matrix product, and for each of its operands (buffer, first element)."""

    problem: Problem
    a: tuple
    b: tuple

    @property
    def matrix(self):
        """What tells the second operand from other matrices."""
        return id(self.b[0]), self.b[1], self.problem.b, self.problem.k, self.problem.n

    def swapped(self):
        """The same work written as Cᵀ = Bᵀ · Aᵀ."""
        return Product(self.problem.swapped(), self.b, self.a)


class Operand(NamedTuple):
    """An operand of a product: its shape, and where it is in memory; steps are those of numbers, also where these are in blocks."""

    shape: tuple
    buffer: object
    first: int
    steps: tuple


class Accesses:
    """The boxes and the products of the steps of a schedule; their buffers are nodes and arrays."""

    def __init__(self, schedule):
        self._schedule, self._forms, self._products, self._constants = schedule, Forms(schedule, self._boxed), {}, {}

    def form(self, step):
        """(`Form`, buffers) of the loops of a step."""
        return self._forms.of(step)

    def box(self, step):
        """The loops of a step."""
        form, buffers = self.form(step)
        return form.box_of(buffers)

    def product(self, step):
        """The matrix product of a step."""
        if step not in self._products:
            a, b = step.kernel.operands(step, self)
            self._products[step] = Product(_problem(step.roots[0], a, b), (a.buffer, a.first), (b.buffer, b.first))
        return self._products[step]

    def layout(self, step, node):
        """(buffer, first element, steps per axis) of a node that is a view of memory which a step reads."""
        if isinstance(node, np.ndarray):
            array = self._constants.setdefault(id(node), np.ascontiguousarray(node))
            return array, 0, row_major(array.shape)
        if 0 in node.shape:  # which no step computes
            return self._constants.setdefault(id(node), np.empty(node.shape, node.dtype)), 0, row_major(node.shape)
        # Found as loops would find it: whatever views there are between a node and its memory are folded into one load.
        memory = set(self._schedule.read_by(step))
        expression = Expression(node.shape, self._schedule.facts, memory.__contains__)
        load = expression.entries[expression.add(node)]
        return load.buffer, load.start + (load.part or 0), load.steps

    def _boxed(self, step):
        """The loops of a step, what they compute and what they store."""
        schedule = self._schedule
        is_loaded = lambda node: schedule.is_loaded(node, step.stage)
        expression = Expression(step.domain, schedule.facts, is_loaded, schedule.rounded)
        stores = [store for root in step.roots for store in schedule.facts.kind(root).stores(root, step, expression)]
        is_reduced = tuple(i in step.reduced for i in range(len(step.domain)))
        return Box(step.domain, is_reduced, tuple(expression.entries), tuple(stores))


def _problem(node, a, b):
    """The matrix product `node` of operands `a` and `b`, with its batch dimensions."""
    shape, rank = node.shape, node.ndim
    c = row_major(shape)

    def step(operand, axis):
        at = axis - (rank - len(operand.shape))
        return 0 if at < 0 or operand.shape[at] == 1 else operand.steps[at]

    batch = tuple((shape[i], step(a, i), step(b, i), c[i]) for i in range(rank - 2))
    problem = Problem(name_of(node.dtype), shape[-2], shape[-1], a.shape[-1], a.steps[-2:], b.steps[-2:], c[-2:], batch)
    return problem.with_tall_rows()
