"""Transforms: what a Fourier transform becomes."""

from .codegen.line_transforms import plan_lines, write_lines
from .codegen.transforms import plan_transform, write_transform
from .launches import Launch
from .table import Scratch
from .transforming import has_many_lines, transform_of
from .units import unit_of

#: What one thread takes for each number; rough.
_SECONDS = 2e-9


def transform(step, layout, home, lasts):
    """The launch of a transform."""
    node = step.roots[0]
    found = transform_of(node)
    plan_of, write = (plan_transform, write_transform) if has_many_lines(found) else (plan_lines, write_lines)
    plan = plan_of(found)
    unit = unit_of(plan.key, lambda module, name: write(module, name, plan))
    buffers = layout(node.args[0])[0], home(node), plan.table, Scratch(2 * plan.buffer_bytes * plan.chunks)
    return [Launch(step, unit, unit.name, buffers, plan.words, plan.chunks, lasts, node.size * _SECONDS)]
