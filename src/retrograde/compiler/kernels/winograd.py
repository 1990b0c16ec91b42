"""Convolutions of kernels of 3x3 by Winograd's tiles, which take fewer multiplications."""

from ...dtypes import name_of
from ...ops.images._convolving_winograd import tile_of
from .. import cost
from .convolution import Convolution, geometry_of, image_launches, operands_of, wanted_chunks, weight_launches


class Winograd(Convolution):
    """A convolution, or one of its two gradients, where that pays."""

    name = "winograd"

    def matches(self, node, facts):
        return super().matches(node, facts) and bool(_tile(node))

    def rows(self, step, accesses):
        return []  # kernels of all channels are met by each block of tiles, which had better be many

    def launches(self, step, assembler):
        return (_weight if step.roots[0].op.name == "conv2d_weight" else _images)(step, assembler)


def _tile(node):
    return tile_of(node.op.name, geometry_of(node))


def _images(step, assembler):
    """A convolution, or the gradient of its image."""
    node, operands = step.roots[0], operands_of(step, assembler)
    geometry, code = geometry_of(node), assembler.code("winograd")
    border, first, (row, column) = [before for before, _ in geometry.padding], 0, operands.places
    # The gradient of the image is the convolution with the kernel the other way round, in a border that makes up for it.
    if operands.is_back:
        border, first, row, column = [2 - before for before in border], 2 * (row + column), -row, -column
    bands = -(-wanted_chunks(operands, assembler) // geometry.batch)
    plan = code.correlating_of(
        _tile(node), operands.correlation, tuple(border), name_of(node.dtype), assembler.target, operands.source[2],
        (first, *operands.steps, row, column), operands.bias and operands.bias[2][0], bands)
    write = {"packing": code.write_kernels, "images": code.write_images}
    return image_launches(step, assembler, operands, plan, write, plan.tasks(geometry.batch), (geometry.batch,))


def _weight(step, assembler):
    """The gradient of the weight."""
    node = step.roots[0]
    geometry, code = geometry_of(node), assembler.code("winograd")
    x, y = (assembler.layout(step, a)[2] for a in node.args[:2])
    correlation, border = assembler.code("convolution").forward_of(geometry), tuple([before for before, _ in geometry.padding])
    plan = code.weighing_of(_tile(node), correlation, border, name_of(node.dtype), assembler.target, x, y)
    # Parts must not depend on threads, since each has sums of its own; a chunk makes a share of the output channels of a part.
    tasks, most = plan.tasks(geometry.batch), 1 + step.kernel.flops(node) // cost.SHARED_FLOPS
    parts = max(1, min(tasks, cost.WEIGHT_PARTS, most, cost.WEIGHT_SUMS // plan.partial))
    write = {"sums": code.write_sums, "total": code.write_total}
    return weight_launches(step, assembler, plan, write, (tasks, parts, geometry.batch), parts, plan.shares)
