"""Convolutions of images: forward, and the gradients of input and weight."""

from typing import NamedTuple

from ...core.symbol import Symbol
from ...dtypes import name_of
from ...ops.images._convolving import Geometry
from ...shapes import row_major
from .. import cost
from ..index.access_maps import AccessMaps
from ..index.elements import has_float_operands
from ..index.row_dependences import Met
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

    def rows(self, step, accesses):
        # What each group makes of each image. Where all channels meet, rows would be whole images, which leave the cache.
        node = step.roots[0]
        geometry = geometry_of(node)
        rows = geometry.batch * geometry.groups
        is_of_groups = node.op.name != "conv2d_weight" and geometry.groups > 1
        return [rows] if is_of_groups and (node.nbytes + node.args[0].nbytes) // rows <= cost.ROW_BYTES else []

    def met(self, step, rows, accesses):
        if [rows] != self.rows(step, accesses):
            return None
        x, *others = _operands(step.roots[0])
        buffer, *place = accesses.layout(step, x)
        read, groups = {id(accesses.layout(step, a)[0]) for a in others}, geometry_of(step.roots[0]).groups
        return Met({id(buffer), *read}, read if _is_in_row(x, groups, buffer.size // rows, *place) else {id(buffer), *read}, set())

    def is_worth_tiling(self, step):
        # What reads it finds it in cache then, and so does it what it reads itself.
        return step.roots[0].size >= cost.TILED_NUMBERS

    def rows_read(self, step, accesses):
        return [accesses.layout(step, step.roots[0].args[0])[0]]

    def rows_launches(self, step, nest, assembler, panels):
        node, operands, code = step.roots[0], operands_of(step, assembler), assembler.code("convolution")
        plan, item, (source, _, bias) = _plan(step, operands, assembler, 1), node.dtype.itemsize, operands[1:4]
        first, packed = packing_launch(step, assembler, operands, plan, code.write_packing, 1)
        rows = _unit(step, assembler, plan, "rows", code.write_correlation_rows)
        bias, x = bias or source, assembler.buffer(step, node.args[0])
        (start, *from_x), (place, *to_z) = nest.moves(x, source[1] * item), nest.moves(node, 0)
        words = start // item, 0, bias[1], place // item, 0, nest.block, nest.rows, *from_x, *to_z
        buffers = source[0], packed, bias[0], assembler.storage(node), Scratch(plan.room * item * nest.frames)
        seconds, lasts = operands.flops * cost.PRODUCT_SECONDS, assembler.lasts(step)
        return [first, assembler.launch(step, rows, rows.name, buffers, words, nest.chunks, lasts, seconds)]

    def launches(self, step, assembler):
        return (_weight if step.roots[0].op.name == "conv2d_weight" else _images)(step, assembler)

    def flops(self, node):
        geometry = geometry_of(node)
        return 2 * geometry.batch * geometry.outputs * geometry.depth * geometry.result[0] * geometry.result[1]


def _is_in_row(x, groups, size, start, steps):
    """Whether what a group of an image reads lies within the `size` elements that belong to its row of a nest."""
    channels = x.shape[1] // groups
    reach = [step * (n - 1) for step, n in zip(steps[1:], (channels, *x.shape[2:]), strict=True)]
    is_row_by_row = steps[0] == size * groups and steps[1] * channels == size
    return is_row_by_row and min(start, *reach) >= 0 and start + sum(reach) < size


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
    node, (source, _, bias) = step.roots[0], operands[1:4]
    item, wanted = node.dtype.itemsize, wanted_chunks(operands, assembler)
    first, packed = packing_launch(step, assembler, operands, plan, write["packing"], wanted)
    images, chunks = _unit(step, assembler, plan, "images", write["images"]), min(wanted, tasks)
    bias = bias or source
    words = source[1], 0, bias[1], 0, 0, tasks, chunks, *more
    buffers = source[0], packed, bias[0], assembler.storage(node), Scratch(plan.room * item * chunks)
    seconds, lasts = operands.flops * cost.PRODUCT_SECONDS, assembler.lasts(step)
    return [first, assembler.launch(step, images, images.name, buffers, words, chunks, lasts, seconds)]


def packing_launch(step, assembler, operands, plan, write, wanted):
    """The launch that packs the weights, in so many chunks as are `wanted` if that pays, and the room for what it makes."""
    packing, correlation, taps = _unit(step, assembler, plan, "packing", write), operands.correlation, operands.weight
    packed = Scratch(plan.packed * step.roots[0].dtype.itemsize)
    parts = min(wanted, correlation.groups * correlation.outputs) if plan.packed > cost.SHARED_NUMBERS else 1
    launch = assembler.launch(step, packing, packing.name, (taps[0], packed), (taps[1], 0, parts), parts, False, role="pack")
    return launch, packed


def _unit(step, assembler, plan, part, write):
    """The unit of a part of a convolution, whose code `write(module, name, plan)` writes."""
    return assembler.unit((part, step.kernel.name, repr(plan)), lambda module, name: write(module, name, plan), is_final=True)


def weight_launches(step, assembler, plan, write, counts, parts, shares=1):
    """Sums of fixed parts of the batch, each by so many `shares`, then their total: `write` are the functions that write the
    code of both, by a name for what they write; `counts` are the words of the sums' code.
    """
    node = step.roots[0]
    item, (x, y) = node.dtype.itemsize, [assembler.layout(step, a) for a in node.args[:2]]
    sums, total = (_unit(step, assembler, plan, *what) for what in write.items())
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
    operands, batch, code = operands_of(step, assembler), geometry_of(step.roots[0]).batch, assembler.code("convolution")
    plan = _plan(step, operands, assembler, -(-wanted_chunks(operands, assembler) // batch))
    write = {"packing": code.write_packing, "images": code.write_correlation}
    return image_launches(step, assembler, operands, plan, write, batch * plan.layout.bands)


def _plan(step, operands, assembler, bands):
    """The plan of a convolution in at least so many bands an image."""
    node, code, (row, column) = step.roots[0], assembler.code("convolution"), operands.places
    kernel, bias = geometry_of(node).kernel, operands.bias
    layout = code.layout_of(operands.correlation, assembler.target, name_of(node.dtype), bands)
    places = tuple([i * row + j * column for i in range(kernel[0]) for j in range(kernel[1])])
    return code.Correlating(layout, operands.source[2], operands.steps, places, bias and bias[2][0])


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
