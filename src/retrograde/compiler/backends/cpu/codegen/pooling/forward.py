"""Pooling forward: the greatest element of each window, with its place, or the mean."""

from .. import emit, ir
from ..convolution.entry import Entry, pieces, read_every_other, read_run, width_for
from ..emit import I64, at
from .pool import TAP


def write_forward(module, name, pool):
    """The entry that pools the planes of a chunk. Its buffers are images, results and places; its words planes and chunks."""
    entry = Entry(module, name, ("source", "result", "taps"), ("planes", "chunks"), {None: pool.item, "taps": TAP})
    b, (tall, wide) = entry.builder, pool.image
    size = pool.result[0] * pool.result[1]
    first, end = entry.share(entry.words["planes"], entry.words["chunks"])
    with emit.loop(b, first, end) as plane:
        source = at(b, entry.pointers["source"], pool.item, (plane.index, tall * wide))
        result = at(b, entry.pointers["result"], pool.item, (plane.index, size))
        taps = at(b, entry.pointers["taps"], TAP, (plane.index, size))
        for rows in pool.runs(0):
            with emit.loop(b, 0, rows.count) as row:
                line = b.add(row.index, I64(rows.first))
                lines = [at(b, source, pool.item, (row.index, pool.stride[0] * wide), pool.start(0, rows.first, k) * wide)
                         for k in rows.places]
                here = at(b, result, pool.item, (line, pool.result[1])), at(b, taps, TAP, (line, pool.result[1]))
                for columns in pool.runs(1):
                    _run(b, pool, rows, columns, lines, here)
    b.ret_void()
    return entry.function


def _run(b, pool, rows, columns, lines, here):
    """The windows of one row that have the same places inside the image."""
    width = width_for(columns.count, pool.lanes)
    for start in pieces(b, columns.count, width):
        result = at(b, here[0], pool.item, start, columns.first)
        numbers = _numbers(b, pool, rows, columns, lines, start, width)
        if pool.is_mean:
            emit.store(b, _mean(b, pool, rows, columns, numbers, width), result)
            continue
        value, place = _greatest(b, pool, numbers, width)
        if pool.has_values:
            emit.store(b, value, result)
        if pool.has_taps:
            emit.store(b, b.trunc(place, emit.like(value.type, TAP)), at(b, here[1], TAP, start, columns.first))


def _numbers(b, pool, rows, columns, lines, start, width):
    """The elements of `width` windows as (number of the place, vector), in row-major order."""
    found = []
    for k, line in zip(rows.places, lines, strict=True):
        for place, value in _row_of(b, pool, columns, line, start, width):
            found.append((k * pool.kernel[1] + place, value))
    return found


def _row_of(b, pool, columns, line, start, width):
    """(place, vector) for the places of one row of windows."""
    # Two loads for both columns of a vector of windows, where each column alone would take two.
    if pool.is_by_pairs and len(columns.places) == 2 and width > 1:
        kind = ir.VectorType(pool.item, width)
        first = at(b, line, pool.item, (start, 2), pool.start(1, columns.first, 0))
        low, high = emit.load(b, first, kind), emit.load(b, at(b, first, pool.item, width), kind)
        return [(k, emit.shuffle(b, low, high, range(k, 2 * width, 2))) for k in (0, 1)]
    step = pool.stride[1]
    found = []
    for k in columns.places:
        first = at(b, line, pool.item, (start, step), pool.start(1, columns.first, k))
        if step == 1 or width == 1:
            value = read_run(b, first, pool.item, width)
        # Every other number needs a shuffle; steps that are larger still are read number by number, since vectors would be
        # mostly waste.
        elif step == 2:
            value = read_every_other(b, first, pool.item, width)
        else:
            places = (at(b, first, pool.item, lane * step) for lane in range(width))
            value = emit.gathered(b, places, ir.VectorType(pool.item, width))
        found.append((k, value))
    return found


def _mean(b, pool, rows, columns, numbers, width):
    kind = pool.item if width == 1 else ir.VectorType(pool.item, width)
    # From +0, as NumPy's sums begin: windows of nothing but -0 have the mean +0.
    total = emit.zeros(kind)
    for _, value in numbers:
        total = b.fadd(total, value)
    return b.fdiv(total, filled(kind, pool.count(rows, columns)))


def _greatest(b, pool, numbers, width):
    """The greatest element of each window and its place: of equal ones the first, and the last NaN before all.

    The first element inside the image is where it starts, so that a place in the border is never found.
    """
    kind = pool.item if width == 1 else ir.VectorType(pool.item, width)
    places = emit.like(kind, ir.IntType(8 * emit.item_bytes(kind)))
    if not numbers:
        return filled(kind, float("-inf")), filled(places, 0)
    # Not from -inf: a window of nothing but -inf has a place as well.
    (first, best), *others = numbers
    place = filled(places, first)
    for number, value in others:
        # A NaN wins against all, and no number is greater than one; above holds "greater" only, so that equal ones leave the
        # first.
        is_better = b.or_(b.fcmp_ordered(">", value, best), b.fcmp_unordered("uno", value, value))
        best, place = b.select(is_better, value, best), b.select(is_better, filled(places, number), place)
    return best, place


def filled(kind, number):
    """`number` in every lane."""
    return ir.Constant(kind, [number] * kind.count) if isinstance(kind, ir.VectorType) else ir.Constant(kind, number)
