"""Convolutions as launches of generated code: forward, and the gradients of input and weight."""

from ..dtypes import name_of
from . import threads
from .codegen.convolution import (
    Correlating,
    backward_of,
    forward_of,
    layout_of,
    weighing_of,
    write_correlation,
    write_packing,
    write_total,
    write_weighing,
)
from .codegen.target import ITEM_BYTES, host
from .launches import Launch
from .sliding import geometry_of
from .table import Scratch
from .units import unit_of

#: What one thread takes for one operation; rough. More operations than this are worth sharing.
_FLOP_SECONDS, _SHARED_FLOPS = 1.5e-11, 1_000_000
#: The most parts that a batch is cut in for sums over it, and the most where all sums would be more than the third numbers.
_MOST_PARTS, _FEW_PARTS, _MOST_SUMS = 16, 4, 2_000_000
#: So many numbers are worth moving on several threads.
_SHARED_NUMBERS = 100_000


def convolution(step, layout_in_memory, home, lasts):
    """The launches of a step: `layout_in_memory(node)` is (buffer, first element, steps), `home(node)` the memory of a result."""
    return _KINDS[step.roots[0].op.name](step, layout_in_memory, home, lasts)


def _forward(step, layout_in_memory, home, lasts):
    x, weight, bias, *_ = step.roots[0].args
    source, taps = layout_in_memory(x), layout_in_memory(weight)
    correlation = forward_of(geometry_of(step.roots[0]))
    o, c, *places = taps[2]
    steps = o, c, correlation.outputs * o
    offset = layout_in_memory(bias) if bias is not None else None
    return _correlated(step, correlation, source, taps, steps, places, offset, home, lasts)


def _backward(step, layout_in_memory, home, lasts):
    x, weight, *_ = step.roots[0].args
    source, taps = layout_in_memory(x), layout_in_memory(weight)
    correlation = backward_of(geometry_of(step.roots[0]))
    o, c, *places = taps[2]
    return _correlated(step, correlation, source, taps, (c, o, correlation.inputs * o), places, None, home, lasts)


def _correlated(step, correlation, source, taps, steps, places, bias, home, lasts):
    """Packing the weights, then the images."""
    node = step.roots[0]
    geometry = geometry_of(node)
    flops = 2 * geometry.batch * correlation.products
    wanted = threads.get_num_threads() if flops > _SHARED_FLOPS else 1
    layout = layout_of(correlation, host(), name_of(node.dtype), -(-wanted // geometry.batch))
    kernel = tuple([i * places[0] + j * places[1] for i in range(geometry.kernel[0]) for j in range(geometry.kernel[1])])
    plan = Correlating(layout, source[2], steps, kernel, bias and bias[2][0])
    key = "correlation", repr(plan)
    packing = unit_of(("packing", *key), lambda module, name: write_packing(module, name, plan), is_final=True)
    images = unit_of(key, lambda module, name: write_correlation(module, name, plan), is_final=True)
    item = ITEM_BYTES[layout.dtype]
    packed = Scratch(plan.packed * item)
    tasks = geometry.batch * layout.bands
    chunks = min(wanted, tasks)
    scratch = Scratch(plan.room * item * chunks)
    parts = min(wanted, correlation.groups * correlation.outputs) if plan.packed > _SHARED_NUMBERS else 1
    bias = bias or source
    first = Launch(step, packing, packing.name, (taps[0], packed), (taps[1], 0, parts), parts, False)
    words = source[1], 0, bias[1], 0, 0, tasks, chunks
    buffers = source[0], packed, bias[0], home(node), scratch
    return [first, Launch(step, images, images.name, buffers, words, chunks, lasts, flops * _FLOP_SECONDS)]


def _weight(step, layout_in_memory, home, lasts):
    """Sums of fixed parts of the batch, then their total."""
    node = step.roots[0]
    geometry = geometry_of(node)
    x, y = (layout_in_memory(a) for a in node.args[:2])
    plan = weighing_of(layout_of(forward_of(geometry), host(), name_of(node.dtype)), x[2], y[2], host())
    key, item = ("weighing", repr(plan)), ITEM_BYTES[plan.layout.dtype]
    sums = unit_of(key, lambda module, name: write_weighing(module, name, plan), is_final=True)
    total = unit_of(("total", *key), lambda module, name: write_total(module, name, plan), is_final=True)
    flops = 2 * geometry.batch * plan.layout.correlation.products
    tasks = geometry.batch * plan.layout.bands
    blocks = -(-tasks // plan.images)
    # Parts must not depend on threads, since each has sums of its own.
    parts = min(blocks, _MOST_PARTS, 1 + flops // _SHARED_FLOPS, max(_FEW_PARTS, _MOST_SUMS // plan.partial))
    partial, scratch = Scratch(parts * plan.partial * item), Scratch(parts * plan.room * item)
    words = x[1], y[1], 0, 0, tasks, blocks, parts
    first = Launch(step, sums, sums.name, (x[0], y[0], partial, scratch), words, parts, False, flops * _FLOP_SECONDS)
    chunks = min(threads.get_num_threads(), _MOST_PARTS) if parts * plan.partial > _SHARED_NUMBERS else 1
    return [first, Launch(step, total, total.name, (partial, home(node)), (0, 0, parts, chunks), chunks, lasts)]


_KINDS = {"conv2d": _forward, "conv2d_input": _backward, "conv2d_weight": _weight}
