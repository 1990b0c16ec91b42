"""Pooling backward: what each result hands back goes to the place of the greatest element, or to all of its window."""

from .. import emit, ir
from ..convolution.correlate import table_of
from ..convolution.entry import Entry, clear, pieces, width_for
from ..emit import I64, at
from .forward import filled
from .pool import TAP


def write_backward(module, name, pool):
    """The entry that hands back to the planes of a chunk.

    Its buffers are cotangents, the places of greatest elements, and images; its words planes and chunks.
    """
    entry = Entry(module, name, ("source", "taps", "image"), ("planes", "chunks"), {None: pool.item, "taps": TAP})
    b, (tall, wide) = entry.builder, pool.image
    size = pool.result[0] * pool.result[1]
    tables = None if pool.is_mean else _tables(module, name, pool)
    first, end = entry.share(entry.words["planes"], entry.words["chunks"])
    with emit.loop(b, first, end) as plane:
        source = at(b, entry.pointers["source"], pool.item, (plane.index, size))
        taps = at(b, entry.pointers["taps"], TAP, (plane.index, size))
        image = at(b, entry.pointers["image"], pool.item, (plane.index, tall * wide))
        # What is added to must begin with zeros, and what no window shows is zero. Where each element is written once it need
        # not.
        if not _covers(pool):
            clear(b, pool.item, pool.lanes, image, tall * wide)
        for rows in pool.runs(0):
            with emit.loop(b, 0, rows.count) as row:
                line = b.add(row.index, I64(rows.first))
                there = at(b, source, pool.item, (line, pool.result[1])), at(b, taps, TAP, (line, pool.result[1]))
                for columns in pool.runs(1):
                    _run(b, pool, rows, columns, (row.index, line), there, image, tables)
    b.ret_void()
    return entry.function


def _covers(pool):
    """Whether each element of the image is written just once."""
    has_all = pool.is_by_pairs and pool.has_apart_rows and pool.stride[0] == pool.kernel[0]
    return has_all and all(p == 0 and n * s == size for p, n, s, size in zip(
        pool.padding, pool.result, pool.stride, pool.image, strict=True))


def _run(b, pool, rows, columns, row, there, image, tables):
    if pool.is_by_pairs and pool.has_apart_rows and len(columns.places) == 2:
        _pairs(b, pool, rows, columns, row[0], there, image)
    elif pool.is_mean:
        _spread(b, pool, rows, columns, row[0], there, image)
    else:
        _scatter(b, pool, columns, row[1], there, image, tables)


def _pairs(b, pool, rows, columns, row, there, image):
    """Windows of two columns side by side: two vectors become one row of neighbours, and nothing is added."""
    width, wide = width_for(columns.count, pool.lanes), pool.image[1]
    kind = pool.item if width == 1 else ir.VectorType(pool.item, width)
    for start in pieces(b, columns.count, width):
        value = emit.load(b, at(b, there[0], pool.item, start, columns.first), kind)
        # What is added to zeros is never -0.
        value = b.fadd(value, emit.zeros(kind))
        place = None
        if pool.is_mean:
            value = b.fdiv(value, filled(kind, pool.count(rows, columns)))
        else:
            place = emit.load(b, at(b, there[1], TAP, start, columns.first), emit.like(kind, TAP))
            place = b.zext(place, emit.like(kind, ir.IntType(8 * emit.item_bytes(kind))))
        for k in rows.places:
            line = (row, pool.stride[0] * wide), pool.start(0, rows.first, k) * wide
            to = at(b, image, pool.item, *line, (start, 2), pool.start(1, columns.first, 0))
            left, right = (_share(b, value, place, k * 2 + side) for side in (0, 1))
            _store_pairs(b, pool, left, right, to, width)


def _share(b, value, place, number):
    """What an element gets: all if it was the greatest."""
    if place is None:
        return value
    return b.select(b.icmp_unsigned("==", place, filled(place.type, number)), value, emit.zeros(value.type))


def _store_pairs(b, pool, left, right, target, width):
    if width == 1:
        emit.store(b, left, target)
        emit.store(b, right, at(b, target, pool.item, 1))
        return
    # Left and right elements are neighbours in memory: the two vectors are merged lane by lane, and stored as two.
    for half in (0, 1):
        picks = [lane for i in range(half * width // 2, (half + 1) * width // 2) for lane in (i, width + i)]
        emit.store(b, emit.shuffle(b, left, right, picks), at(b, target, pool.item, half * width))


def _spread(b, pool, rows, columns, row, there, image):
    """Each part of the mean is added to every element of its window, one window after the other."""
    wide = pool.image[1]
    with emit.loop(b, 0, columns.count) as column:
        value = emit.load(b, at(b, there[0], pool.item, column.index, columns.first), pool.item)
        value = b.fdiv(value, ir.Constant(pool.item, pool.count(rows, columns)))
        # Window by window, since windows may overlap: two lanes of a vector would write to one place.
        corner = at(b, image, pool.item, (row, pool.stride[0] * wide), (column.index, pool.stride[1]))
        for k in rows.places:
            for place in columns.places:
                to = at(b, corner, pool.item, pool.start(0, rows.first, k) * wide + pool.start(1, columns.first, place))
                emit.store(b, b.fadd(emit.load(b, to, pool.item), value), to)


def _tables(module, name, pool):
    """For each place of a window, how far down and to the right of its corner it is."""
    tall, wide = pool.kernel
    rows = [k * pool.dilation[0] - pool.padding[0] for k in range(tall) for _ in range(wide)]
    columns = [k * pool.dilation[1] - pool.padding[1] for _ in range(tall) for k in range(wide)]
    return table_of(module, f"{name}_rows", rows), table_of(module, f"{name}_columns", columns)


def _scatter(b, pool, columns, row, there, image, tables):
    """Each number is added to the place of the greatest element of its window, unless that lies outside the image."""
    (tall, wide), item = pool.image, pool.item
    with emit.loop(b, 0, columns.count) as number:
        value = emit.load(b, at(b, there[0], item, number.index, columns.first), item)
        place = b.zext(emit.load(b, at(b, there[1], TAP, number.index, columns.first), TAP), I64)
        last = I64(pool.kernel[0] * pool.kernel[1] - 1)
        # Places come from memory that a caller can have written: what is no place must not be an address.
        is_place = b.icmp_unsigned("<=", place, last)
        place = b.select(is_place, place, last)
        down, right = (b.load(at(b, table, I64, place), typ=I64) for table in tables)
        line = b.add(b.mul(row, I64(pool.stride[0])), down)
        column = b.add(b.mul(b.add(number.index, I64(columns.first)), I64(pool.stride[1])), right)
        is_inside = b.and_(b.icmp_unsigned("<", line, I64(tall)), b.icmp_unsigned("<", column, I64(wide)))
        with b.if_then(b.and_(is_place, is_inside)):
            to = at(b, image, item, (line, wide), column)
            emit.store(b, b.fadd(emit.load(b, to, item), value), to)
