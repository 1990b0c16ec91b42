"""Results of images: kernels are transformed once; then, block by block, tiles of the image are transformed, multiplied place
by place, and transformed back.
"""

from functools import partial

from ..... import cost
from .. import emit
from ..convolution.entry import Entry, clear_vectors
from ..emit import I64, at
from ..micro_kernel import Blocks, Functions, Tile, broadcast, contiguous, each_height, store
from .matrices import TAPS
from .pixels import gathered, lines_of, write_pixels
from .transform import Images, Lines, both_sides, each_image, tiles_of, transform


def write_kernels(module, name, plan):
    """The entry that transforms kernels: for each group and place, panels of as many output channels as a register tile has, of a
    row for each input channel.

    Its buffers are the weight and the room for what is made of it; its words the number of chunks.
    """
    entry = Entry(module, name, ("weight", "kernels"), ("chunks",), {None: plan.item})
    b, side = entry.builder, range(TAPS)
    start, by_output, by_input, by_group, by_row, by_column = plan.weight
    first, end = entry.share(plan.groups * plan.across, entry.words["chunks"])
    with emit.loop(b, first, end) as vector:
        group, number = b.sdiv(vector.index, I64(plan.across)), b.srem(vector.index, I64(plan.across))
        output = b.mul(number, I64(plan.lanes))
        lines = lines_of(b, plan.lanes, b.sub(I64(plan.outputs), output), by_output)
        source = at(b, entry.pointers["weight"], plan.item, start, (group, by_group), (output, by_output))
        place, width = _in_panels(b, plan, number)
        target = at(b, entry.pointers["kernels"], plan.item, (group, plan.places * plan.kernels_place), place)
        with emit.loop(b, 0, plan.inputs) as channel:
            here = at(b, source, plan.item, (channel.index, by_input))
            kernel = [[gathered(b, plan, here, lines, i * by_row + j * by_column) for j in side] for i in side]
            found = both_sides(b, plan.matrices.kernel, kernel, plan.is_fused)
            there = at(b, target, plan.item, (channel.index, width))
            places = [at(b, there, plan.item, i * plan.kernels_place) for i in range(plan.places)]
            store(b, [x for row in found for x in row], places)
    b.ret_void()
    return entry.function


def _in_panels(b, plan, number):
    """Where a vector of output channels stands in the kernels of a place, and the numbers of a row of its panel."""
    panels, rest = divmod(plan.across, plan.vectors)
    panel, place = b.sdiv(number, I64(plan.vectors)), b.srem(number, I64(plan.vectors))
    start = b.add(b.mul(panel, I64(plan.vectors * plan.lanes * plan.inputs)), b.mul(place, I64(plan.lanes)))
    width = I64(plan.vectors * plan.lanes)
    return start, b.select(b.icmp_signed("<", panel, I64(panels)), width, I64(rest * plan.lanes)) if rest else width


def write_images(module, name, plan):
    """The entry that computes all results of the images of a chunk.

    Its buffers are the source, transformed kernels, bias, result and scratch memory; its words the number of tasks, which are
    blocks of tiles, of chunks, and of images.
    """
    buffers = "source", "kernels", "bias", "result", "scratch"
    entry = Entry(module, name, buffers, ("tasks", "chunks", "batch"), {None: plan.item})
    b, tiles = entry.builder, Functions(module, name, partial(_write_tile, plan))
    image = at(b, entry.pointers["scratch"], plan.item, (entry.chunk, plan.room))
    products = at(b, image, plan.item, plan.places * plan.image_place)
    pixels = at(b, products, plan.item, plan.places * plan.result_place)
    results = at(b, pixels, plan.item, plan.image_frame.pixels * plan.lanes)
    clear_vectors(b, plan, pixels, plan.image_frame.pixels * plan.lanes)
    first, end = entry.share(entry.words["tasks"], entry.words["chunks"])
    with emit.loop(b, first, end) as task, emit.loop(b, 0, plan.groups) as group:
        channel = b.mul(group.index, I64(plan.inputs))
        images = Images("source", plan.source, channel, plan.inputs, plan.matrices.image, plan.image_frame)
        transform(entry, plan, task.index, images, Lines(image, plan.image_place, plan.inputs_line), pixels)
        kernels = at(b, entry.pointers["kernels"], plan.item, (group.index, plan.places * plan.kernels_place))
        _multiply(b, plan, tiles, kernels, image, products, tiles_of(b, plan, task.index, entry.words["batch"]))
        _transform_back(entry, plan, task.index, group.index, products, results)
    b.ret_void()
    return entry.function


def _multiply(b, plan, tiles, kernels, image, products, count):
    """A product of matrices for each place: tiles by input channels, and these by output channels."""
    panels, rest = divmod(plan.across, plan.vectors)
    with emit.loop(b, 0, plan.places) as place:
        left = at(b, image, plan.item, (place.index, plan.image_place))
        right = at(b, kernels, plan.item, (place.index, plan.kernels_place))
        result = at(b, products, plan.item, (place.index, plan.result_place))
        with emit.loop(b, 0, panels) as panel:
            _column_of_tiles(b, plan, tiles, plan.vectors, (left, right, result), panel.index, count)
        if rest:
            _column_of_tiles(b, plan, tiles, rest, (left, right, result), panels, count)


def _column_of_tiles(b, plan, tiles, width, operands, panel, count):
    """All tiles by the output channels of a panel, which are so many vectors."""
    left, right, result = operands
    columns = plan.vectors * plan.lanes
    right = at(b, right, plan.item, (panel, columns * plan.inputs))
    for height, tile in each_height(b, I64(0), count, plan.height):
        here = at(b, left, plan.item, (tile, plan.inputs_line))
        tiles.call(b, (height, width), [here, right, at(b, result, plan.item, (tile, plan.outputs_line), (panel, columns))])


def _write_tile(plan, b, arguments, height, vectors):
    """One size of register tile: (transformed image, kernels, products)."""
    image, kernels, products = arguments
    tile, columns = Tile(plan.vector, height, vectors, plan.is_fused), range(0, vectors * plan.lanes, plan.lanes)
    group, row = min(cost.CHANNELS, plan.inputs), vectors * plan.lanes
    left = Blocks(image, 1, range(group), plan, range(0, height * plan.inputs_line, plan.inputs_line), broadcast(plan))
    right = Blocks(kernels, row, range(0, group * row, row), plan, columns, contiguous(plan))
    whole = plan.inputs - plan.inputs % group
    ranges = [(start, stop, step, step) for start, stop, step in ((0, whole, group), (whole, plan.inputs, 1)) if start < stop]
    totals = tile.over_blocks(b, ranges, left, right)
    store(b, totals, [at(b, products, plan.item, i * plan.outputs_line + j) for i in range(height) for j in columns])


def _transform_back(entry, plan, task, group, products, results):
    """All output channels of a block: their sums become the pixels of results, with the bias, and these rows of each channel."""
    b, whole = entry.builder, plan.outputs - plan.outputs % plan.lanes
    for number, place, first_row, rows in each_image(b, plan, task, entry.words["batch"]):
        here = at(b, products, plan.item, (b.mul(place, I64(plan.band_rows * plan.columns)), plan.outputs_line))
        plane = b.mul(b.add(b.mul(number, I64(plan.groups)), group), I64(plan.outputs))
        band = first_row, rows, plane, b.mul(group, I64(plan.outputs))
        with emit.loop(b, 0, whole, plan.lanes) as channel:
            _channels_back(entry, plan, here, results, channel.index, plan.lanes, band)
        if whole < plan.outputs:
            _channels_back(entry, plan, here, results, I64(whole), plan.outputs - whole, band)


def _channels_back(entry, plan, products, results, channel, some, band):
    """The same of the vector of channels from one of them on, of which there are `some`."""
    b, frame, step, side = entry.builder, plan.result_frame, plan.results, range(plan.size)
    first_row, rows, plane, first = band
    bias = None
    if plan.bias is not None:
        start = at(b, entry.pointers["bias"], plan.item, (b.add(first, channel), plan.bias))
        bias = gathered(b, plan, start, lines_of(b, plan.lanes, some, plan.bias))
    with emit.loop(b, 0, rows) as row, emit.loop(b, 0, plan.columns) as column:
        tile = b.add(b.mul(row.index, I64(plan.columns)), column.index)
        here = at(b, products, plan.item, (tile, plan.outputs_line), channel)
        square = [[emit.load(b, at(b, here, plan.item, (plan.size * i + j) * plan.result_place), plan.vector) for j in side]
                  for i in side]
        found = both_sides(b, plan.matrices.result, square, plan.is_fused)
        there = at(b, results, plan.item, (row.index, step * frame.pitch * plan.lanes), (column.index, step * plan.lanes))
        for i, line in enumerate(found):
            for j, value in enumerate(line):
                value = value if bias is None else b.fadd(value, bias)
                emit.store(b, value, at(b, there, plan.item, (i * frame.pitch + j) * plan.lanes))
    size = frame.image[0] * frame.image[1]
    target = at(b, entry.pointers["result"], plan.item, (b.add(plane, channel), size))
    write_pixels(b, plan, frame, results, target, size, some, b.mul(first_row, I64(step)), b.mul(emit.number(rows), I64(step)))
