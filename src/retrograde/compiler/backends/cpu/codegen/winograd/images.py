"""Results of images: kernels are transformed once; then, block by block, tiles of the image are transformed, multiplied place
by place, and transformed back.
"""

from functools import partial

from ..... import cost
from .. import emit
from ..convolution.entry import Entry, adding, clear_vectors, copy_row
from ..convolution.image import lay_out
from ..convolution.layout import heights
from ..emit import I64, at
from ..micro_kernel import Blocks, Functions, Tile, broadcast, contiguous, store
from .matrices import TAPS
from .transform import both_sides, each_image, tiles_of, transformed


def write_kernels(module, name, plan):
    """The entry that transforms kernels: for each group and place, a row of input channels for each output channel.

    Its buffers are the weight and the room for what is made of it; its word the number of chunks.
    """
    entry = Entry(module, name, ("weight", "kernels"), ("chunks",), {None: plan.item})
    b, side = entry.builder, range(TAPS)
    start, by_output, by_input, by_group, by_row, by_column = plan.weight
    first, end = entry.share(plan.groups * plan.outputs, entry.words["chunks"])
    with emit.loop(b, first, end) as line:
        group, output = b.sdiv(line.index, I64(plan.outputs)), b.srem(line.index, I64(plan.outputs))
        source = at(b, entry.pointers["weight"], plan.item, start, (group, by_group), (output, by_output))
        target = at(b, entry.pointers["kernels"], plan.item, (group, plan.places * plan.kernels_place),
                    (output, plan.kernels_line))
        with emit.loop(b, 0, plan.inputs, plan.lanes) as channel:
            # The last vector repeats the last channel, so that nothing behind the weight is read.
            places = [emit.minimum(b, b.add(channel.index, I64(lane)), plan.inputs - 1) for lane in range(plan.lanes)]
            lines = [at(b, source, plan.item, (place, by_input)) for place in places]
            kernel = [[_gathered(b, plan, lines, i * by_row + j * by_column) for j in side] for i in side]
            found = both_sides(b, plan.matrices.kernel, kernel, plan.is_fused)
            for place, value in enumerate([x for row in found for x in row]):
                emit.store(b, value, at(b, target, plan.item, channel.index, place * plan.kernels_place))
    b.ret_void()
    return entry.function


def _gathered(b, plan, lines, place):
    """A vector of the numbers at a place of each line."""
    vector = emit.undefined(plan.vector)
    for lane, line in enumerate(lines):
        vector = b.insert_element(vector, emit.load(b, at(b, line, plan.item, place), plan.item), emit.I32(lane))
    return vector


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
    planes = at(b, products, plan.item, plan.places * plan.products_place)
    rows = at(b, planes, plan.item, plan.planes)
    clear_vectors(b, plan, planes, plan.planes)
    first, end = entry.share(entry.words["tasks"], entry.words["chunks"])
    with emit.loop(b, first, end) as task, emit.loop(b, 0, plan.groups) as group:
        _transform(entry, plan, task.index, group.index, planes, image)
        kernels = at(b, entry.pointers["kernels"], plan.item, (group.index, plan.places * plan.kernels_place))
        count = tiles_of(b, plan, task.index, entry.words["batch"])
        _multiply(b, plan, tiles, kernels, image, products, count)
        _transform_back(entry, plan, task.index, group.index, products, rows)
    b.ret_void()
    return entry.function


def _transform(entry, plan, task, group, planes, image):
    """All channels of a block: for each place of a tile a line of tiles for each channel."""
    b, layout = entry.builder, plan.image_layout
    for number, place, first_row, rows in each_image(b, plan, task, entry.words["batch"]):
        before = b.mul(place, I64(plan.band_rows * plan.columns))
        with emit.loop(b, 0, plan.inputs) as channel:
            at_channel = b.add(b.mul(group, I64(plan.inputs)), channel.index)
            source = at(b, entry.pointers["source"], plan.item, (number, plan.source[0]), (at_channel, plan.source[1]))
            lay_out(b, layout, plan.item, source, plan.source[1:], planes, first_row)
            line = at(b, image, plan.item, (channel.index, plan.line), before)
            with emit.loop(b, 0, rows) as row, emit.loop(b, 0, plan.columns, plan.lanes) as column:
                # The tiles of the next row are written over what is behind the end of this one.
                there = at(b, line, plan.item, (row.index, plan.columns), column.index)
                found = transformed(b, plan, layout, plan.matrices.image, planes, row.index, column.index)
                store(b, found, [at(b, there, plan.item, i * plan.image_place) for i in range(plan.places)])


def _multiply(b, plan, tiles, kernels, image, products, count):
    """A product of matrices for each place: output channels by input channels, and these by tiles."""
    vectors = b.sdiv(b.add(count, I64(plan.lanes - 1)), I64(plan.lanes))
    whole = b.mul(b.sdiv(vectors, I64(plan.vectors)), I64(plan.vectors))
    with emit.loop(b, 0, plan.places) as place:
        left = at(b, kernels, plan.item, (place.index, plan.kernels_place))
        right = at(b, image, plan.item, (place.index, plan.image_place))
        result = at(b, products, plan.item, (place.index, plan.products_place))
        row = 0
        for height, tall in heights(plan.outputs, plan.height):
            with emit.loop(b, 0, tall) as tile:
                output = b.add(b.mul(tile.index, I64(height)), I64(row))
                lines = at(b, left, plan.item, (output, plan.kernels_line)), at(b, result, plan.item, (output, plan.line))
                _row_of_tiles(b, plan, tiles, height, lines, right, (vectors, whole))
            row += tall * height


def _row_of_tiles(b, plan, tiles, height, lines, image, numbers):
    """A few output channels: register tiles of full width, and a narrower last one."""
    vectors, whole = numbers
    left, result = lines

    def call(width, vector):
        tiles.call(b, (height, width), [left, *[at(b, p, plan.item, (vector, plan.lanes)) for p in (image, result)]])

    with emit.loop(b, 0, whole, plan.vectors) as place:
        call(plan.vectors, place.index)
    for width in range(1, plan.vectors):
        with b.if_then(b.icmp_signed("==", b.sub(vectors, whole), I64(width))):
            call(width, whole)


def _write_tile(plan, b, arguments, height, vectors):
    """One size of register tile: (transformed kernels, image, products)."""
    kernels, image, products = arguments
    tile, columns = Tile(plan.vector, height, vectors, plan.is_fused), range(0, vectors * plan.lanes, plan.lanes)
    group = min(cost.CHANNELS, plan.inputs)
    left = Blocks(kernels, 1, range(group), plan, range(0, height * plan.kernels_line, plan.kernels_line), broadcast(plan))
    right = Blocks(image, plan.line, range(0, group * plan.line, plan.line), plan, columns, contiguous(plan))
    whole = plan.inputs - plan.inputs % group
    ranges = [(start, stop, step, step) for start, stop, step in ((0, whole, group), (whole, plan.inputs, 1)) if start < stop]
    totals = tile.over(b, ranges, left, right, tile.zeros())
    store(b, totals, [at(b, products, plan.item, i * plan.line + j) for i in range(height) for j in columns])


def _transform_back(entry, plan, task, group, products, rows):
    """All output channels of a block: their sums become rows of results, with the bias."""
    b = entry.builder
    for number, place, first_row, count in each_image(b, plan, task, entry.words["batch"]):
        before = b.mul(place, I64(plan.band_rows * plan.columns))
        with emit.loop(b, 0, plan.outputs) as channel:
            output = b.add(b.mul(group, I64(plan.outputs)), channel.index)
            bias = None
            if plan.bias is not None:
                bias = emit.load(b, at(b, entry.pointers["bias"], plan.item, (output, plan.bias)), plan.item)
            plane = b.add(b.mul(number, I64(plan.groups * plan.outputs)), output)
            result = at(b, entry.pointers["result"], plan.item, (plane, plan.result[0] * plan.result[1]))
            line = at(b, products, plan.item, (channel.index, plan.line), before)
            with emit.loop(b, 0, count) as row:
                _row_of_results(b, plan, at(b, line, plan.item, (row.index, plan.columns)), rows)
                _store_rows(b, plan, rows, b.add(first_row, row.index), result, bias)


def _row_of_results(b, plan, products, rows):
    """Transform a row of tiles back, into as many rows of results as a tile has."""
    side = range(plan.size)
    with emit.loop(b, 0, plan.columns, plan.lanes) as column:
        here = at(b, products, plan.item, column.index)
        square = [[emit.load(b, at(b, here, plan.item, (plan.size * i + j) * plan.products_place), plan.vector) for j in side]
                  for i in side]
        for i, line in enumerate(both_sides(b, plan.matrices.result, square, plan.is_fused)):
            there = at(b, rows, plan.item, (column.index, plan.results), i * plan.row)
            for number, vector in enumerate(_interleaved(b, line)):
                emit.store(b, vector, at(b, there, plan.item, number * plan.lanes))


def _interleaved(b, vectors):
    """The first lanes of all vectors, a power of two, then the second ones, and so on."""
    if len(vectors) == 1:
        return vectors
    even, odd = _interleaved(b, vectors[::2]), _interleaved(b, vectors[1::2])
    half, lanes = vectors[0].type.count // 2, vectors[0].type.count
    picks = [[lane + part for lane in range(start, start + half) for part in (0, lanes)] for start in (0, half)]
    return [emit.shuffle(b, x, y, numbers) for x, y in zip(even, odd, strict=True) for numbers in picks]


def _store_rows(b, plan, rows, row, result, bias):
    """Store the rows of results of a row of tiles; there may be fewer in the last one."""
    tall, wide = plan.result
    change = None if bias is None else adding(b, bias)
    for i in range(plan.results):
        number = b.add(b.mul(row, I64(plan.results)), I64(i))

        def copy(number=number, i=i):
            there = at(b, result, plan.item, (number, wide))
            copy_row(b, plan.item, plan.lanes, at(b, rows, plan.item, i * plan.row), there, wide, change=change)

        if tall % plan.results and i >= tall % plan.results:
            with b.if_then(b.icmp_signed("<", number, I64(tall))):
                copy()
        else:
            copy()
