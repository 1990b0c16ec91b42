"""Convolutions of images: forward, and the gradients of input and weight."""

from ...core.symbol import Symbol
from ...dtypes import name_of
from ...ops.images._convolving import Geometry
from ...shapes import row_major
from .. import cost
from ..index.access_maps import AccessMaps
from ..index.elements import has_float_operands
from ..target import ITEM_BYTES
from .kernel import Kernel, Scratch

#: For each convolution, what stands for the shapes of its input and of its weight: an argument, or the shape itself.
_GEOMETRIES = {"conv2d": ("x", "weight"), "conv2d_input": ("shape", "weight"), "conv2d_weight": ("x", "shape")}
#: Rows are laid out in vectors of numbers that are so far from each other.
_MOST_APART = 2


class Convolution(Kernel):
    """A convolution, or one of its two gradients."""

    name = "convolution"

    def matches(self, node, facts):
        operands = _operands(node)
        is_known = not any([isinstance(a, Symbol) for a in operands])
        return bool(node.size) and not is_known and has_float_operands(operands) and all([a.size > 0 for a in operands])

    def memory(self, node, facts):
        # Views are read as they are, but images whose neighbours lie apart are brought together first.
        operands = _operands(node)
        images = operands if node.op.name == "conv2d_weight" else operands[:1]
        apart = [id(a) for a in images if isinstance(a, Symbol) and _lies_apart(a, facts)]
        return [a if id(a) in apart else facts.base(a) for a in operands if isinstance(a, Symbol)]

    def launches(self, step, assembler):
        return _LAUNCHES[step.roots[0].op.name](step, assembler)

    def flops(self, node):
        geometry = geometry_of(node)
        return 2 * geometry.batch * geometry.outputs * geometry.depth * geometry.result[0] * geometry.result[1]


def _operands(node):
    return [a for a in node.args[:3] if hasattr(a, "dtype")]


def _lies_apart(image, facts):
    """Whether an image is a view in which the numbers of a row do not follow each other, nor are every other number."""
    places, node = AccessMaps(image.shape), image
    place = places.start
    while node.op is not None and (index_map := facts.kind(node).index_map(node, facts)) is not None:
        place, node = places.moved(index_map, place), node.args[0]
    step = sum([stride * along[-1] for stride, (_, along) in zip(row_major(node.shape), places[place], strict=True)])
    return node is not image and abs(step) > _MOST_APART and image.shape[-1] > 1


def geometry_of(node):
    """The sizes of a convolution."""
    named = node.named
    shapes = [getattr(named[name], "shape", named[name]) for name in _GEOMETRIES[node.op.name]]
    return Geometry.of(*shapes, *[named[name] for name in ("stride", "padding", "dilation", "groups")])


def _forward(step, assembler):
    x, weight, bias, *_ = step.roots[0].args
    source, taps = assembler.layout(step, x), assembler.layout(step, weight)
    correlation = assembler.code("convolution").forward_of(geometry_of(step.roots[0]))
    o, c, *places = taps[2]
    steps = o, c, correlation.outputs * o
    offset = assembler.layout(step, bias) if bias is not None else None
    return _correlated(step, correlation, source, taps, steps, places, offset, assembler)


def _backward(step, assembler):
    x, weight, *_ = step.roots[0].args
    source, taps = assembler.layout(step, x), assembler.layout(step, weight)
    correlation = assembler.code("convolution").backward_of(geometry_of(step.roots[0]))
    o, c, *places = taps[2]
    return _correlated(step, correlation, source, taps, (c, o, correlation.inputs * o), places, None, assembler)


def _correlated(step, correlation, source, taps, steps, places, bias, assembler):
    """Packing the weights, then the images."""
    node = step.roots[0]
    geometry, code = geometry_of(node), assembler.code("convolution")
    flops = 2 * geometry.batch * correlation.products
    # Chunks may follow the threads here: each number of the result is summed by one of them.
    wanted = assembler.threads if flops > cost.SHARED_FLOPS else 1
    layout = code.layout_of(correlation, assembler.target, name_of(node.dtype), -(-wanted // geometry.batch))
    kernel = tuple([i * places[0] + j * places[1] for i in range(geometry.kernel[0]) for j in range(geometry.kernel[1])])
    plan = code.Correlating(layout, source[2], steps, kernel, bias and bias[2][0])
    key = "correlation", repr(plan)
    packing = assembler.unit(("packing", *key), lambda module, name: code.write_packing(module, name, plan), is_final=True)
    images = assembler.unit(key, lambda module, name: code.write_correlation(module, name, plan), is_final=True)
    item = ITEM_BYTES[layout.dtype]
    packed = Scratch(plan.packed * item)
    tasks = geometry.batch * layout.bands
    chunks = min(wanted, tasks)
    scratch = Scratch(plan.room * item * chunks)
    parts = min(wanted, correlation.groups * correlation.outputs) if plan.packed > cost.SHARED_NUMBERS else 1
    bias = bias or source
    first = assembler.launch(step, packing, packing.name, (taps[0], packed), (taps[1], 0, parts), parts, False, role="pack")
    words = source[1], 0, bias[1], 0, 0, tasks, chunks
    buffers = source[0], packed, bias[0], assembler.storage(node), scratch
    seconds, lasts = flops * cost.PRODUCT_SECONDS, assembler.lasts(step)
    return [first, assembler.launch(step, images, images.name, buffers, words, chunks, lasts, seconds)]


def _weight(step, assembler):
    """Sums of fixed parts of the batch, then their total."""
    node = step.roots[0]
    geometry, code, target = geometry_of(node), assembler.code("convolution"), assembler.target
    x, y = (assembler.layout(step, a) for a in node.args[:2])
    plan = code.weighing_of(code.layout_of(code.forward_of(geometry), target, name_of(node.dtype)), x[2], y[2], target)
    key, item = ("weighing", repr(plan)), ITEM_BYTES[plan.layout.dtype]
    sums = assembler.unit(key, lambda module, name: code.write_weighing(module, name, plan), is_final=True)
    total = assembler.unit(("total", *key), lambda module, name: code.write_total(module, name, plan), is_final=True)
    flops = 2 * geometry.batch * plan.layout.correlation.products
    tasks = geometry.batch * plan.layout.bands
    blocks = -(-tasks // plan.images)
    # Parts must not depend on threads, since each has sums of its own.
    most = max(cost.FEW_WEIGHT_PARTS, cost.WEIGHT_SUMS // plan.partial)
    parts = min(blocks, cost.WEIGHT_PARTS, 1 + flops // cost.SHARED_FLOPS, most)
    # Each part has sums and images of its own, since parts run at the same time.
    partial, scratch = Scratch(parts * plan.partial * item), Scratch(parts * plan.room * item)
    words = x[1], y[1], 0, 0, tasks, blocks, parts
    buffers, seconds = (x[0], y[0], partial, scratch), flops * cost.PRODUCT_SECONDS
    first = assembler.launch(step, sums, sums.name, buffers, words, parts, False, seconds)
    chunks = min(assembler.threads, cost.WEIGHT_PARTS) if parts * plan.partial > cost.SHARED_NUMBERS else 1
    buffers, words = (partial, assembler.storage(node)), (0, 0, parts, chunks)
    return [first, assembler.launch(step, total, total.name, buffers, words, chunks, assembler.lasts(step), role="finish")]


_LAUNCHES = {"conv2d": _forward, "conv2d_input": _backward, "conv2d_weight": _weight}
