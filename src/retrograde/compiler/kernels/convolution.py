"""Convolutions of images: forward, and the gradients of input and weight."""

from typing import NamedTuple

from ...core.symbol import Symbol
from ...dtypes import name_of
from ...ops.images._convolving import Geometry
from ...shapes import row_major
from .. import cost
from ..index.access_maps import AccessMaps
from ..index.elements import has_float_operands
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
        return (_weight if step.roots[0].op.name == "conv2d_weight" else _images)(step, assembler)

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


class Operands(NamedTuple):
    """What a convolution reads, or the gradient of its image, which is one too.

    source, weight, bias   memory, first number and strides of each; None where there is no bias
    steps                  from one of the weight's output channels to the next, of its input channels, of its groups
    places                 from one of the weight's rows to the next, and of its columns
    is_back                whether it is the gradient of the image, for which the kernel lies the other way round
    flops                  operations, without any that are spared
    """

    correlation: object
    source: tuple
    weight: tuple
    bias: tuple | None
    steps: tuple
    places: tuple
    is_back: bool
    flops: int


def operands_of(step, assembler):
    """The operands of a convolution or of the gradient of its image."""
    node = step.roots[0]
    x, weight, *rest = node.args
    code, is_back = assembler.code("convolution"), node.op.name == "conv2d_input"
    source, taps = assembler.layout(step, x), assembler.layout(step, weight)
    geometry = geometry_of(node)
    correlation = (code.backward_of if is_back else code.forward_of)(geometry)
    o, c, *places = taps[2]
    steps = (c, o, correlation.inputs * o) if is_back else (o, c, correlation.outputs * o)
    bias = None if is_back or rest[0] is None else assembler.layout(step, rest[0])
    flops = 2 * geometry.batch * correlation.products
    return Operands(correlation, source, taps, bias, steps, tuple(places), is_back, flops)


def wanted_chunks(operands, assembler):
    """How many chunks of images are worth having. They may follow the threads: each number of the result is summed by one."""
    return assembler.threads if operands.flops > cost.SHARED_FLOPS else 1


def image_launches(step, assembler, operands, plan, write, tasks, more=()):
    """Packing the weights, then the images: `write` are the functions that write the code of both, by a name for what they write;
    `tasks` says how many the images are, `more` has further words for their code.
    """
    node, correlation, (source, taps, bias) = step.roots[0], operands.correlation, operands[1:4]
    key, item, wanted = (step.kernel.name, repr(plan)), node.dtype.itemsize, wanted_chunks(operands, assembler)
    packing, images = (assembler.unit((part, *key), lambda module, name, write=write: write(module, name, plan), is_final=True)
                       for part, write in write.items())
    packed, chunks = Scratch(plan.packed * item), min(wanted, tasks)
    parts = min(wanted, correlation.groups * correlation.outputs) if plan.packed > cost.SHARED_NUMBERS else 1
    first = assembler.launch(step, packing, packing.name, (taps[0], packed), (taps[1], 0, parts), parts, False, role="pack")
    bias = bias or source
    words = source[1], 0, bias[1], 0, 0, tasks, chunks, *more
    buffers = source[0], packed, bias[0], assembler.storage(node), Scratch(plan.room * item * chunks)
    seconds, lasts = operands.flops * cost.PRODUCT_SECONDS, assembler.lasts(step)
    return [first, assembler.launch(step, images, images.name, buffers, words, chunks, lasts, seconds)]


def weight_launches(step, assembler, plan, write, counts, parts, shares=1):
    """Sums of fixed parts of the batch, each by so many `shares`, then their total: `write` are the functions that write the
    code of both, by a name for what they write; `counts` are the words of the sums' code.
    """
    node, key = step.roots[0], (step.kernel.name, repr(plan))
    item, (x, y) = node.dtype.itemsize, [assembler.layout(step, a) for a in node.args[:2]]
    sums, total = (assembler.unit((part, *key), lambda module, name, write=write: write(module, name, plan), is_final=True)
                   for part, write in write.items())
    # Each part has sums and images of its own, since parts run at the same time.
    partial, scratch = Scratch(parts * plan.partial * item), Scratch(parts * shares * plan.room * item)
    buffers, words = (x[0], y[0], partial, scratch), (x[1], y[1], 0, 0, *counts)
    seconds = step.kernel.flops(node) * cost.PRODUCT_SECONDS
    first = assembler.launch(step, sums, sums.name, buffers, words, parts * shares, False, seconds)
    chunks = min(assembler.threads, cost.WEIGHT_PARTS) if parts * plan.partial > cost.SHARED_NUMBERS else 1
    buffers, words = (partial, assembler.storage(node)), (0, 0, parts, chunks)
    return [first, assembler.launch(step, total, total.name, buffers, words, chunks, assembler.lasts(step), role="finish")]


def _images(step, assembler):
    """A convolution, or the gradient of its image."""
    node, operands = step.roots[0], operands_of(step, assembler)
    geometry, code = geometry_of(node), assembler.code("convolution")
    bands = -(-wanted_chunks(operands, assembler) // geometry.batch)
    layout = code.layout_of(operands.correlation, assembler.target, name_of(node.dtype), bands)
    (row, column), bias = operands.places, operands.bias
    kernel = tuple([i * row + j * column for i in range(geometry.kernel[0]) for j in range(geometry.kernel[1])])
    plan = code.Correlating(layout, operands.source[2], operands.steps, kernel, bias and bias[2][0])
    write = {"packing": code.write_packing, "images": code.write_correlation}
    return image_launches(step, assembler, operands, plan, write, geometry.batch * layout.bands)


def _weight(step, assembler):
    """The gradient of the weight."""
    node = step.roots[0]
    geometry, code, target = geometry_of(node), assembler.code("convolution"), assembler.target
    x, y = (assembler.layout(step, a)[2] for a in node.args[:2])
    plan = code.weighing_of(code.layout_of(code.forward_of(geometry), target, name_of(node.dtype)), x, y, target)
    tasks = geometry.batch * plan.layout.bands
    blocks = -(-tasks // plan.images)
    # Parts must not depend on threads, since each has sums of its own.
    most = max(cost.FEW_WEIGHT_PARTS, cost.WEIGHT_SUMS // plan.partial)
    parts = min(blocks, cost.WEIGHT_PARTS, 1 + step.kernel.flops(node) // cost.SHARED_FLOPS, most)
    write = {"sums": code.write_weighing, "total": code.write_total}
    return weight_launches(step, assembler, plan, write, (tasks, blocks, parts), parts)
