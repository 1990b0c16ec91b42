"""Convolutions of kernels of 3x3 by Winograd's tiles, which take fewer multiplications."""

from ...dtypes import name_of
from ...ops.images._convolving_winograd import tile_of
from .. import cost
from ..target import ITEM_BYTES
from .convolution import Convolution, geometry_of
from .kernel import Scratch


class Winograd(Convolution):
    """A convolution, or one of its two gradients, where that pays."""

    name = "winograd"

    def matches(self, node, facts):
        return super().matches(node, facts) and bool(_tile(node))

    def launches(self, step, assembler):
        return (_weight if step.roots[0].op.name == "conv2d_weight" else _images)(step, assembler)


def _tile(node):
    return tile_of(node.op.name, geometry_of(node))


def _images(step, assembler):
    """Transforming the weights, then block by block the images."""
    node = step.roots[0]
    geometry, code, shapes = geometry_of(node), assembler.code("winograd"), assembler.code("convolution")
    x, weight, *rest = node.args
    source, taps = assembler.layout(step, x), assembler.layout(step, weight)
    # The gradient of the image is the convolution with the kernel the other way round, in a border that makes up for it.
    is_back = node.op.name == "conv2d_input"
    correlation = (shapes.backward_of if is_back else shapes.forward_of)(geometry)
    border = tuple([2 - before if is_back else before for before, _ in geometry.padding])
    o, c, *places = taps[2]
    outer, inner = (c, o) if is_back else (o, c)
    # From one group to the next: as many of the weight's first axis as a group has.
    by_group = geometry.outputs // geometry.groups * o
    first, places = (2 * sum(places), [-step for step in places]) if is_back else (0, places)
    bias = None if is_back or rest[0] is None else assembler.layout(step, rest[0])
    flops = 2 * geometry.batch * correlation.products
    # Chunks may follow the threads here: each number of the result is made by one of them.
    wanted = assembler.threads if flops > cost.SHARED_FLOPS else 1
    plan = code.correlating_of(_tile(node), correlation, border, name_of(node.dtype), assembler.target, source[2],
                               (first, outer, inner, by_group, *places), bias and bias[2][0], -(-wanted // geometry.batch))
    key, item = ("winograd", repr(plan)), ITEM_BYTES[plan.dtype]
    factors = assembler.unit(("factors", *key), lambda module, name: code.write_factors(module, name, plan), is_final=True)
    images = assembler.unit(key, lambda module, name: code.write_images(module, name, plan), is_final=True)
    made, tasks = Scratch(plan.factors * item), plan.tasks(geometry.batch)
    chunks = min(wanted, tasks)
    parts = min(wanted, correlation.groups * correlation.outputs) if plan.factors > cost.SHARED_NUMBERS else 1
    first = assembler.launch(step, factors, factors.name, (taps[0], made), (taps[1], 0, parts), parts, False, role="pack")
    bias = bias or source
    buffers = source[0], made, bias[0], assembler.storage(node), Scratch(plan.room * item * chunks)
    words = source[1], 0, bias[1], 0, 0, tasks, chunks, geometry.batch
    seconds, lasts = flops * cost.PRODUCT_SECONDS, assembler.lasts(step)
    return [first, assembler.launch(step, images, images.name, buffers, words, chunks, lasts, seconds)]


def _weight(step, assembler):
    """Sums of fixed parts of the batch, then their total."""
    node = step.roots[0]
    geometry, code = geometry_of(node), assembler.code("winograd")
    x, y = (assembler.layout(step, a) for a in node.args[:2])
    correlation = assembler.code("convolution").forward_of(geometry)
    border = tuple([before for before, _ in geometry.padding])
    plan = code.weighing_of(_tile(node), correlation, border, name_of(node.dtype), assembler.target, x[2], y[2])
    key, item = ("winograd weight", repr(plan)), ITEM_BYTES[plan.dtype]
    sums = assembler.unit(key, lambda module, name: code.write_sums(module, name, plan), is_final=True)
    total = assembler.unit(("total", *key), lambda module, name: code.write_total(module, name, plan), is_final=True)
    flops, tasks = 2 * geometry.batch * correlation.products, plan.tasks(geometry.batch)
    # Parts must not depend on threads, since each has sums of its own; chunks are shares of the output channels of a part.
    parts = max(1, min(tasks, cost.WEIGHT_PARTS, 1 + flops // cost.SHARED_FLOPS, cost.WEIGHT_SUMS // plan.partial))
    chunks = parts * plan.shares
    partial, scratch = Scratch(parts * plan.partial * item), Scratch(chunks * plan.room * item)
    buffers, words = (x[0], y[0], partial, scratch), (x[1], y[1], 0, 0, tasks, parts, geometry.batch)
    first = assembler.launch(step, sums, sums.name, buffers, words, chunks, False, flops * cost.PRODUCT_SECONDS)
    chunks = min(assembler.threads, cost.WEIGHT_PARTS) if parts * plan.partial > cost.SHARED_NUMBERS else 1
    buffers, words = (partial, assembler.storage(node)), (0, 0, parts, chunks)
    return [first, assembler.launch(step, total, total.name, buffers, words, chunks, assembler.lasts(step), role="finish")]
