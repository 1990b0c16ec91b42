"""Transforms in registers: a matrix on both sides of a square of vectors, which have a lane for each tile; and the tiles of a
task.
"""

from .. import emit, ir
from ..convolution.correlate import band_of
from ..emit import I64, at


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


def transformed(b, plan, layout, matrix, planes, row, column):
    """The transform of tiles of one channel, which is laid out in `planes`: those of a row from a column on, a lane each, as a
    list of a vector for each place. Lanes behind the end of a row hold nothing of use.
    """
    here, side = at(b, planes, plan.item, (row, layout.pitch), column), range(len(matrix[0]))
    taps = [layout.offset(tap) for tap in layout.correlation.grids[0].taps]
    square = [[emit.load(b, at(b, here, plan.item, taps[i * len(side) + j]), plan.vector) for j in side] for i in side]
    return [value for line in both_sides(b, matrix, square, plan.is_fused) for value in line]


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
