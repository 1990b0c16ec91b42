"""Transforms: what a Fourier transform of many lines becomes."""

from .codegen.transforms import plan_transform, write_transform
from .launches import Launch
from .table import Scratch
from .transforming import transform_of
from .units import unit_of

#: What one thread takes for each number; rough.
_SECONDS = 2e-9


def transform(step, layout, home, lasts):
    """The launch of a transform."""
    node = step.roots[0]
    plan = plan_transform(transform_of(node))
    unit = unit_of(plan.key, lambda module, name: write_transform(module, name, plan))
    buffers = layout(node.args[0])[0], home(node), plan.table, Scratch(2 * plan.buffer_bytes * plan.chunks)
    return [Launch(step, unit, unit.name, buffers, plan.words, plan.chunks, lasts, node.size * _SECONDS)]
