"""Rows of arrays laid side by side in tiles, and tiles back to rows.

A tile has for each of its lines one number of each of its rows. Rows past the last one repeat it: what comes of them is
left out, or overwritten by what the last row gives.
"""

from llvmlite import ir

from ..convolution.entry import at
from ..matmul import emit
from ..matmul.emit import I32, I64


def pack(b, plan, source, steps, rows, depth, target, change, item=None):
    """Lay a tile of rows of `source` side by side: `rows` are the number of the first one and of the last there is.

    `depth` numbers of each are taken, `change(vector)` makes them what is stored.
    """
    item = item or plan.item
    for v in range(plan.vectors):
        first = b.add(rows[0], I64(v * plan.lanes))
        lines = _lines(b, plan, item, source, steps[0], first, rows[1])
        start = 0
        if steps[1] == 1 and steps[0]:
            start = _whole(b, depth, plan.lanes)
            with emit.loop(b, 0, start, plan.lanes) as place:
                found = [change(emit.load(b, at(b, line, item, place.index), ir.VectorType(item, plan.lanes))) for line in lines]
                for k, vector in enumerate(emit.transpose(b, found, emit.item_bytes(plan.item))):
                    emit.store(b, vector, at(b, target, plan.item, (place.index, plan.tile), k * plan.tile + v * plan.lanes))
        with emit.loop(b, start, depth) as place:
            found = _gathered(b, plan, item, lines, (place.index, steps[1])) if steps[0] else emit.splat(
                b, emit.load(b, at(b, lines[0], item, (place.index, steps[1])), item), plan.lanes)
            emit.store(b, change(found), at(b, target, plan.item, (place.index, plan.tile), v * plan.lanes))


def unpack(b, plan, tile, target, step, rows, depth, change):
    """Store the rows of a tile `step` apart; the last ones first, so that the last row of all is written last."""
    for v in reversed(range(plan.vectors)):
        first = b.add(rows[0], I64(v * plan.lanes))
        lines = _lines(b, plan, plan.item, target, step, first, rows[1])
        whole = depth - depth % plan.lanes
        with emit.loop(b, 0, whole, plan.lanes) as place:
            here = at(b, tile, plan.item, (place.index, plan.tile), v * plan.lanes)
            found = [change(emit.load(b, at(b, here, plan.item, k * plan.tile), plan.vector), v) for k in range(plan.lanes)]
            found = emit.transpose(b, found, emit.item_bytes(plan.item))
            for line, vector in zip(reversed(lines), reversed(found), strict=True):
                emit.store(b, vector, at(b, line, plan.item, place.index))
        with emit.loop(b, whole, depth) as place:
            vector = emit.load(b, at(b, tile, plan.item, (place.index, plan.tile), v * plan.lanes), plan.vector)
            scatter(b, change(vector, v), [at(b, line, plan.item, place.index) for line in lines])


def scatter(b, vector, places):
    """Store each lane in a place of its own, the last one first."""
    for lane in reversed(range(len(places))):
        emit.store(b, b.extract_element(vector, I32(lane)), places[lane])


def _lines(b, plan, item, array, step, first, last):
    """The address of each of a vector of rows."""
    rows = [emit.minimum(b, b.add(first, I64(lane)), last) for lane in range(plan.lanes)]
    return [at(b, array, item, (row, step)) for row in rows]


def _gathered(b, plan, item, lines, place):
    value = ir.Constant(ir.VectorType(item, plan.lanes), ir.Undefined)
    for lane, line in enumerate(lines):
        value = b.insert_element(value, emit.load(b, at(b, line, item, place), item), I32(lane))
    return value


def _whole(b, count, lanes):
    return count - count % lanes if isinstance(count, int) else b.and_(count, I64(-lanes))


def clear(b, plan, target, count):
    """Fill `count` numbers, in whole vectors, with zeros."""
    with emit.loop(b, 0, count, plan.lanes) as place:
        emit.store(b, emit.zeros(plan.vector), at(b, target, plan.item, place.index))
