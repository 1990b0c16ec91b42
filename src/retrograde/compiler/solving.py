"""Linear algebra as launches of generated code."""

from ..dtypes import name_of
from .codegen.linalg import CholeskyPlan, TriangularPlan, spec_for, write_cholesky, write_triangular
from .codegen.target import host
from .launches import Launch
from .solvers import flops_of
from .table import FLAG, Scratch
from .units import unit_of

#: What one thread takes for one operation; rough.
_FLOP_SECONDS = 3e-11


def solver(step, layout_in_memory, home, lasts):
    """The launches of a step: `layout_in_memory(node)` is (buffer, first element, steps), `home(node)` the memory of a result."""
    node = step.roots[0]
    buffers, plan, write = _KINDS[node.op.name](node, spec_for(host(), name_of(node.dtype)), layout_in_memory)
    unit = unit_of(plan.key, lambda module, name: write(module, name, plan))
    room = Scratch(plan.room * node.dtype.itemsize * plan.chunks)
    slots, seconds = (*buffers, home(node), FLAG, room), flops_of(node) * _FLOP_SECONDS
    return [Launch(step, unit, unit.name, slots, plan.words, plan.chunks, lasts, seconds)]


def _cholesky(node, spec, layout_in_memory):
    x, is_upper = node.args
    buffer, first, steps = layout_in_memory(x)
    plan = CholeskyPlan(spec, x.shape[-1], (first, *steps[-2:]), bool(is_upper), _batch(node.shape[:-2], (x.shape, steps)))
    return [buffer], plan, write_cholesky


def _triangular(node, spec, layout_in_memory):
    x, y, is_upper = node.args
    (x_buffer, x_first, x_steps), (y_buffer, y_first, y_steps) = (layout_in_memory(a) for a in (x, y))
    shapes = y.shape, node.shape
    if y.ndim == 1:  # a column
        y_steps, shapes = (*y_steps, 0), [(*shape, 1) for shape in shapes]
    batch = _batch(shapes[1][:-2], (x.shape, x_steps), (shapes[0], y_steps))
    plan = TriangularPlan(
        spec, x.shape[-1], shapes[1][-1], (x_first, *x_steps[-2:]), (y_first, *y_steps[-2:]), bool(is_upper), batch)
    return [x_buffer, y_buffer], plan, write_triangular


def _batch(lengths, *operands):
    """For each leading axis its length, and the step of each operand, which is 0 where it is the same for all."""
    found = []
    for axis, length in enumerate(lengths):
        places = [axis - len(lengths) + len(shape) - 2 for shape, _ in operands]
        steps = [0 if at < 0 or shape[at] == 1 else steps[at] for at, (shape, steps) in zip(places, operands, strict=True)]
        found.append((length, *steps))
    return tuple([dimension for dimension in found if dimension[0] != 1])


_KINDS = {"cholesky": _cholesky, "solve_triangular": _triangular}
