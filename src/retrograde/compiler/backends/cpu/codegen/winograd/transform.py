"""Transforms in registers: a matrix on both sides of a square of vectors, which have a lane for each channel; and the tiles of a
task.
"""

from typing import NamedTuple

from .. import emit, ir
from ..convolution.correlate import band_of
from ..emit import I64, at
from ..micro_kernel import store
from .pixels import Frame, read_pixels


def both_sides(b, matrix, square, is_fused):
    """M X M^T, of a square X of vectors; zeros and ones of M cost nothing."""
    lines = [_times(b, matrix, column, is_fused) for column in zip(*square, strict=True)]
    return [_times(b, matrix, row, is_fused) for row in zip(*lines, strict=True)]


def _times(b, matrix, values, is_fused):
    return [_combined(b, row, values, is_fused) for row in matrix]


def _combined(b, factors, values, is_fused):
    """The sum of values by factors; those by one come first, since they need no multiplication."""
    terms = sorted([(f, x) for f, x in zip(factors, values, strict=True) if f], key=lambda term: (term[0] != 1, abs(term[0]) != 1))
    (factor, value), *rest = terms
    total = value if factor == 1 else b.fneg(value) if factor == -1 else b.fmul(_number(value, factor), value)
    for factor, value in rest:
        if abs(factor) == 1:
            total = b.fadd(total, value) if factor == 1 else b.fsub(total, value)
        else:
            total = emit.multiply_add(b, _number(value, factor), value, total, is_fused)
    return total


def _number(value, factor):
    """A factor in all lanes."""
    return ir.Constant(value.type, [float(factor)] * value.type.count)


def transformed(b, plan, matrix, frame, pixels, row, column):
    """The transform of the tile of a row and column whose pixels are in a frame at `pixels`: a vector for each place, with a lane
    for each channel.
    """
    here = at(b, pixels, plan.item, (row, plan.results * frame.pitch * plan.lanes), (column, plan.results * plan.lanes))
    side = range(len(matrix[0]))
    square = [[emit.load(b, at(b, here, plan.item, (i * frame.pitch + j) * plan.lanes), plan.vector) for j in side] for i in side]
    return [value for line in both_sides(b, matrix, square, plan.is_fused) for value in line]


class Images(NamedTuple):
    """What is transformed: images in a `buffer` with `steps` from one image, channel, row and column to the next, of which so many
    `channels` from `channel` on, by a `matrix`, as pixels in a `frame`.
    """

    buffer: str
    steps: tuple
    channel: ir.Value
    channels: int | ir.Value
    matrix: tuple
    frame: Frame


class Lines(NamedTuple):
    """Where it goes: for each place, `place` numbers apart, a line of channels for each tile, `line` numbers apart."""

    pointer: ir.Value
    place: int
    line: int


def transform(entry, plan, task, images, lines, pixels):
    """Some channels of a block of images, a vector of them at a time, whose pixels are put in a frame at `pixels` before."""
    b, lanes, frame, steps, channels = entry.builder, plan.lanes, images.frame, images.steps, images.channels
    for number, place, first_row, rows in each_image(b, plan, task, entry.words["batch"]):
        before = b.mul(place, I64(plan.band_rows * plan.columns))
        with emit.loop(b, 0, channels, lanes) as start:
            channel = b.add(images.channel, start.index)
            source = at(b, entry.pointers[images.buffer], plan.item, (number, steps[0]), (channel, steps[1]))
            is_full = isinstance(channels, int) and channels % lanes == 0
            some = lanes if is_full else emit.minimum(b, lanes, b.sub(emit.number(channels), start.index))
            read_pixels(b, plan, frame, source, steps[1:], some, pixels, b.mul(first_row, I64(plan.results)))
            with emit.loop(b, 0, rows) as row, emit.loop(b, 0, plan.columns) as column:
                tile = b.add(b.add(before, b.mul(row.index, I64(plan.columns))), column.index)
                found = transformed(b, plan, images.matrix, frame, pixels, row.index, column.index)
                there = at(b, lines.pointer, plan.item, (tile, lines.line), start.index)
                store(b, found, [at(b, there, plan.item, i * lines.place) for i in range(plan.places)])


def each_image(b, plan, task, batch):
    """Run over the images of a task as (image, its number in the task, first row of tiles, rows): those of a few small images, or a
    band of one.
    """
    if plan.bands == 1:
        first = b.mul(task, I64(plan.images))
        with emit.loop(b, 0, emit.minimum(b, plan.images, b.sub(batch, first))) as number:
            yield b.add(first, number.index), number.index, I64(0), I64(plan.band_rows)
        return
    image, first, rows = band_of(b, plan, task)
    yield image, I64(0), first, rows


def tiles_of(b, plan, task, batch):
    """How many tiles a task has."""
    if plan.bands == 1:
        count = emit.minimum(b, plan.images, b.sub(batch, b.mul(task, I64(plan.images))))
        return b.mul(count, I64(plan.band_rows * plan.columns))
    _, _, rows = band_of(b, plan, task)
    return b.mul(rows, I64(plan.columns))
