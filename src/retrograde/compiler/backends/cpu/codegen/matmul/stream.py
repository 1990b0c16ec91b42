"""One row times a matrix too large for the caches: rows of B are read from end to end, a few at a time.

Nothing is used twice, so memory sets the pace, and long runs of consecutive addresses are what it reads fastest. Sums
stay in the row of C, which fits the first cache.
"""

from .. import emit
from ..emit import BYTE, I64, address
from .part import Part

# Rows of B for each walk over the sums: these are read and written once for all of them.
_ROWS = 8


def build(module, spec, name):
    """Emit the function of a chunk of a streamed row times matrix."""
    part = Part(module, name)
    builder, numbers = part.builder, part.numbers
    batches, rows, columns = part.chunk()
    whole = builder.and_(numbers.k, I64(-_ROWS))
    with (
        part.each_batch(*batches),
        emit.loop(builder, *rows),
        emit.loop(builder, *columns, numbers.column_tiles_block) as block,
    ):
        end = emit.minimum(builder, builder.add(block.index, numbers.column_tiles_block), columns[1])
        for where, _, mask in _vectors(part, spec, block.index, end):
            emit.store(builder, emit.zeros(spec.vector), where, mask)
        for start, stop, step in ((0, whole, _ROWS), (whole, numbers.k, 1)):
            with emit.loop(builder, start, stop, step) as k:
                _add_rows(part, spec, (block.index, end), [builder.add(k.index, I64(row)) for row in range(step)])
    builder.ret_void()
    return part.function


def _vectors(part, spec, first, end):
    """Each vector of C as (where, column, mask): what is done with one is emitted for full tiles and for the tail."""
    builder, total = part.builder, part.numbers.column_tiles
    full = builder.sub(total, I64(1)) if spec.tail else total
    if spec.has_full:
        with emit.loop(builder, first, emit.minimum(builder, end, full)) as tile:
            yield from _vectors_of(part, spec, tile.index, spec.vectors, False)
    if spec.tail:
        with builder.if_then(builder.icmp_signed("==", end, total)):
            yield from _vectors_of(part, spec, full, spec.tail, spec.is_tail_masked)


def _vectors_of(part, spec, tile, vectors, is_masked):
    builder = part.builder
    for j in range(vectors):
        column, mask = builder.add(builder.mul(tile, I64(spec.width)), I64(j * spec.lanes)), None
        if is_masked and j == vectors - 1:
            mask = emit.lane_mask(builder, builder.sub(part.numbers.n, column), spec.lanes)
        yield address(builder, part.c, column, spec.item), column, mask


def _add_rows(part, spec, tiles, depths):
    """Add some rows of B, each times its number of A, to the row of C."""
    builder, numbers = part.builder, part.numbers
    places = [address(builder, part.a, builder.mul(depth, numbers.a_column), BYTE) for depth in depths]
    factors = [emit.splat(builder, emit.load(builder, place, spec.item), spec.lanes) for place in places]
    lines = [address(builder, part.b, builder.mul(depth, numbers.b_row), BYTE) for depth in depths]
    for where, column, mask in _vectors(part, spec, *tiles):
        value = emit.load(builder, where, spec.vector, mask)
        for factor, line in zip(factors, lines, strict=True):
            right = emit.load(builder, address(builder, line, column, spec.item), spec.vector, mask)
            value = emit.multiply_add(builder, factor, right, value, spec.is_fused)
        emit.store(builder, value, where, mask)
