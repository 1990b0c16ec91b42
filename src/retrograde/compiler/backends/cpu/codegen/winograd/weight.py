"""The gradient of a kernel: image and gradient of the result are transformed and multiplied place by place, which sums over
tiles, and the sums of all parts of the batch are transformed back.
"""

from functools import partial

from ..... import cost
from .. import emit, ir
from ..convolution.entry import Entry, clear_vectors
from ..convolution.layout import heights
from ..emit import I64, at
from ..micro_kernel import Blocks, Functions, Tile, broadcast, contiguous, each_height, loaded_if, store, unrolled
from .matrices import TAPS, transposed
from .transform import Images, Lines, both_sides, tiles_of, transform


def write_sums(module, name, plan):
    """The entry that makes the sums of one part of the batch, of one share of the output channels.

    Its buffers are input, output, the sums and scratch memory; its words the number of tasks, which are blocks of tiles, of
    parts, and of images.
    """
    entry = Entry(module, name, ("source", "other", "partial", "scratch"), ("tasks", "parts", "batch"), {None: plan.item})
    b, tiles = entry.builder, Functions(module, name, partial(_write_tile, plan))
    part, share = b.sdiv(entry.chunk, I64(plan.shares)), b.srem(entry.chunk, I64(plan.shares))
    # One after the other in scratch memory.
    image = at(b, entry.pointers["scratch"], plan.item, (entry.chunk, plan.room))
    result = at(b, image, plan.item, plan.places * plan.image_place)
    pixels = at(b, result, plan.item, plan.places * plan.result_place)
    pixels_too = at(b, pixels, plan.item, plan.image_frame.pixels * plan.lanes)
    clear_vectors(b, plan, pixels, (plan.image_frame.pixels + plan.result_frame.pixels) * plan.lanes)
    own_sums = at(b, entry.pointers["partial"], plan.item, (part, plan.partial))
    first, end = (b.sdiv(b.mul(i, entry.words["tasks"]), entry.words["parts"]) for i in (part, b.add(part, I64(1))))
    low, high = (b.sdiv(b.mul(i, I64(plan.outputs)), I64(plan.shares)) for i in (share, b.add(share, I64(1))))
    with emit.loop(b, first, end) as task, emit.loop(b, 0, plan.groups) as group:
        channel = b.mul(group.index, I64(plan.inputs))
        images = Images("source", plan.source, channel, plan.inputs, plan.matrices.image, plan.image_frame)
        transform(entry, plan, task.index, images, Lines(image, plan.image_place, plan.inputs_line), pixels)
        channel = b.add(b.mul(group.index, I64(plan.outputs)), low)
        some = plan.outputs if plan.shares == 1 else b.sub(high, low)
        images = Images("other", plan.other, channel, some, transposed(plan.matrices.result), plan.result_frame)
        transform(entry, plan, task.index, images, Lines(result, plan.result_place, plan.outputs_line), pixels_too)
        count = tiles_of(b, plan, task.index, entry.words["batch"])
        is_later = b.icmp_signed(">", task.index, first)
        sums = at(b, own_sums, plan.item, (group.index, plan.places * plan.sums_place))
        with emit.loop(b, 0, plan.places) as place:
            left = at(b, result, plan.item, (place.index, plan.result_place))
            right = at(b, image, plan.item, (place.index, plan.image_place))
            here = at(b, sums, plan.item, (place.index, plan.sums_place))
            for height, row in each_height(b, low, high, plan.height):
                lines = at(b, left, plan.item, b.sub(row, low)), at(b, here, plan.item, (row, plan.inputs_line))
                _row_of_tiles(b, plan, tiles, height, lines, right, count, is_later)
    b.ret_void()
    return entry.function


def _row_of_tiles(b, plan, tiles, height, lines, right, count, is_later):
    """A few output channels: register tiles over all input channels."""
    left, sums = lines
    vectors, column = -(-plan.inputs // plan.lanes), 0
    for width, wide in heights(vectors, plan.vectors):
        with emit.loop(b, 0, wide) as tile:
            place = b.add(b.mul(tile.index, I64(width * plan.lanes)), I64(column))
            arguments = [left, *[at(b, p, plan.item, place) for p in (right, sums)], count, is_later]
            tiles.call(b, (height, width), arguments)
        column += wide * width * plan.lanes


def _write_tile(plan, b, arguments, height, vectors):
    """One size of register tile: (gradient of the result, image, sums, tiles, whether there are sums already)."""
    result, image, sums, count, is_later = arguments
    tile, columns = Tile(plan.vector, height, vectors, plan.is_fused), range(0, vectors * plan.lanes, plan.lanes)
    steps = cost.TILE_STEPS
    left = Blocks(result, plan.outputs_line, range(0, steps * plan.outputs_line, plan.outputs_line), plan, range(height),
                  broadcast(plan))
    right = Blocks(image, plan.inputs_line, range(0, steps * plan.inputs_line, plan.inputs_line), plan, columns, contiguous(plan))
    places = [at(b, sums, plan.item, i * plan.inputs_line + j) for i in range(height) for j in columns]
    begun = loaded_if(b, is_later, places, plan.vector)
    store(b, tile.over(b, unrolled(b, count, steps), left, right, begun), places)


def write_total(module, name, plan):
    """The entry that adds up the sums of all parts, in order, transforms them back, and puts them in the places of the weight.

    Its buffers are the sums and the result; its words the number of parts and of chunks.
    """
    entry = Entry(module, name, ("partial", "result"), ("parts", "chunks"), {None: plan.item})
    b, taps = entry.builder, TAPS * TAPS
    found = emit.scratch(b, ir.ArrayType(plan.vector, taps))
    first, end = entry.share(plan.groups * plan.outputs, entry.words["chunks"])
    with emit.loop(b, first, end) as line:
        group, output = b.sdiv(line.index, I64(plan.outputs)), b.srem(line.index, I64(plan.outputs))
        source = at(b, entry.pointers["partial"], plan.item, (group, plan.places * plan.sums_place),
                    (output, plan.inputs_line))
        target = at(b, entry.pointers["result"], plan.item, (line.index, plan.inputs * taps))
        with emit.loop(b, 0, plan.inputs, plan.lanes) as channel:
            totals = _totals(entry, plan, at(b, source, plan.item, channel.index))
            square = [totals[i : i + plan.size] for i in range(0, plan.places, plan.size)]
            kernel = both_sides(b, transposed(plan.matrices.kernel), square, plan.is_fused)
            store(b, [x for row in kernel for x in row], [at(b, found, plan.item, i * plan.lanes) for i in range(taps)])
            with emit.loop(b, 0, emit.minimum(b, plan.lanes, b.sub(I64(plan.inputs), channel.index))) as lane:
                there = at(b, target, plan.item, (b.add(channel.index, lane.index), taps))
                for i in range(taps):
                    value = emit.load(b, at(b, found, plan.item, i * plan.lanes, lane.index), plan.item)
                    emit.store(b, value, at(b, there, plan.item, i))
    b.ret_void()
    return entry.function


def _totals(entry, plan, source):
    """For each place the sum of a vector of all parts: in their order, whoever made them, for the same bits on any number of
    threads.
    """
    b = entry.builder
    with emit.loop(b, 0, entry.words["parts"], 1, [emit.zeros(plan.vector)] * plan.places) as part:
        here = at(b, source, plan.item, (part.index, plan.partial))
        found = [emit.load(b, at(b, here, plan.item, i * plan.sums_place), plan.vector) for i in range(plan.places)]
        part.values = [b.fadd(total, value) for total, value in zip(part.values, found, strict=True)]
    return part.results
