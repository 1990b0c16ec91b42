"""Linear algebra: factors of matrices, equations with triangular and with factorized matrices."""

from math import prod
from typing import NamedTuple

from ...core.dispatch import operands_of
from ...dtypes import name_of
from .. import cost
from ..index.elements import has_float_operands
from ..run.failures import FLAG, NOT_DEFINITE, SINGULAR
from .kernel import Kernel, Scratch, launch

#: Operations for each number of the result and each row of the matrix.
_COSTS = {"cholesky": 1 / 3, "cholesky_gradient": 2 / 3, "solve_triangular": 1, "lu_factor": 2 / 3, "lu_solve": 2}
#: What the kernel of a node leaves where there is no answer. Factors there always are.
_FAILURES = {"cholesky": NOT_DEFINITE, "lu_factor": 0,
             **dict.fromkeys(["cholesky_gradient", "solve_triangular", "lu_solve"], SINGULAR)}
#: Matrices of so many rows are small, if all that belongs to one has no more numbers than this.
_SMALL, _MOST_NUMBERS = 8, 200


class LinearAlgebra(Kernel):
    """A factorization, or the solution of equations."""

    name = "linalg"

    def matches(self, node, facts):
        operands = operands_of(node.op, node.args)
        return node.shape is not None and bool(node.size) and has_float_operands([node, *operands])

    def memory(self, node, facts):
        return [facts.base(x) for x in node.inputs]

    def may_fail_in(self, step, schedule, fragile):
        return _FAILURES[step.roots[0].op.name] != 0

    def launches(self, step, assembler):
        node, code = step.roots[0], assembler.code("linalg")
        read, spec = operands_of(node.op, node.args), code.spec_for(assembler.target, name_of(node.dtype))
        # What more an op may be told has been expanded.
        shapes, options = [x.shape for x in read], tuple([bool(x) for x in node.args[len(read) : len(read) + 1]])
        layouts = [assembler.layout(step, x) for x in read]
        found = [_Matrices(buffer, first, x.shape, steps) for x, (buffer, first, steps) in zip(read, layouts, strict=True)]
        is_column = shapes[-1][1:] == () and len(read) > 1
        if is_column:
            found[-1] = found[-1]._replace(shape=(*shapes[-1], 1), steps=(*found[-1].steps, 0))
        shape = (*node.shape, 1) if is_column else node.shape
        batch = _batch(shape[:-2], found)
        name = node.op.name
        plan, write = _lanes(code, name, spec, options, found, shape, batch) or _PLANS[name](code, spec, options, found, batch)
        slots = (*[x.buffer for x in found], assembler.storage(node), FLAG, Scratch(plan.room * node.dtype.itemsize * plan.chunks))
        return launch(step, plan, write, slots, self.flops(node) * cost.FACTOR_SECONDS, assembler)

    def flops(self, node):
        return int(_COSTS[node.op.name] * node.args[0].shape[-1] * node.size)


class _Matrices(NamedTuple):
    """An operand or the result of a step: its memory, the first number, its shape and the step of each axis."""

    buffer: object
    first: int
    shape: tuple
    steps: tuple

    @property
    def place(self):
        """The first number and the steps along a column and along a row."""
        return self.first, *self.steps[-2:]


def _batch(lengths, operands):
    """For each leading axis its length, and the step of each operand, which is 0 where it is the same for all."""
    found = []
    for axis, length in enumerate(lengths):
        places = [axis - len(lengths) + len(x.shape) - 2 for x in operands]
        steps = [0 if at < 0 or x.shape[at] == 1 else x.steps[at] for at, x in zip(places, operands, strict=True)]
        if length == 1:
            continue
        # Neighbouring axes that every operand crosses evenly are one: shorter loops in the kernel, and more shapes share its
        # words.
        if found and all([before == step * length for before, step in zip(found[-1][1:], steps, strict=True)]):
            length *= found.pop()[0]
        found.append((length, *steps))
    return tuple(found)


def _lanes(code, name, spec, options, operands, shape, batch):
    """How many small matrices are done at once; None for others."""
    sizes = [x.shape[-2:] for x in operands] + [shape[-2:]]
    # Half of the lanes at least have a matrix of their own. The code is written out number by number, so that matrices must be
    # small.
    if len(batch) != 1 or batch[0][0] < spec.lanes // 2 or sizes[0][1] > _SMALL or sum(map(prod, sizes)) > _MOST_NUMBERS:
        return None
    count, *steps = batch[0]
    places = [code.Operand(*x.shape[-2:], *x.steps[-2:], step, x.first) for x, step in zip(operands, steps, strict=True)]
    method = getattr(code.methods, name)
    return code.LanesPlan(spec, method, options, _FAILURES[name], tuple(places), *shape[-2:], count), code.write_lanes


def _cholesky(code, spec, options, operands, batch):
    (x,) = operands
    return code.CholeskyPlan(spec, x.shape[-1], x.place, *options, batch), code.write_cholesky


def _definite(code, spec, _, operands, batch):
    factor, slope = operands
    return code.DefinitePlan(spec, factor.shape[-1], factor.place, slope.place, batch), code.write_definite


def _elimination(code, spec, _, operands, batch):
    (x,) = operands
    return code.EliminationPlan(spec, x.shape[-1], x.place, batch), code.write_elimination


def _equations(has_factors):
    def plan(code, spec, options, operands, batch):
        x, y = operands
        sizes = x.shape[-1], y.shape[-1]
        return code.EquationsPlan(spec, has_factors, *sizes, x.place, y.place, *options, batch), code.write_equations

    return plan


_PLANS = {"cholesky": _cholesky, "cholesky_gradient": _definite, "solve_triangular": _equations(False), "lu_factor": _elimination,
          "lu_solve": _equations(True)}
