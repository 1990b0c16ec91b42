"""Panels of B made of the blocks of quantised weights, whose numbers are in registers on the way.

A row of weights is a row of blocks. In a product with inputs, rows of weights are columns of B and blocks lie along k; in the
product of a cotangent rows of weights are rows of B, and blocks lie across k. Packing begins and ends with whole blocks along k.
"""

from .. import emit
from ..emit import BYTE, I64, address
from ..quantized_blocks import BLOCKS, Reader


def along_k(w):
    """Columns of B are rows of blocks: as many of them as a vector has lanes at a time, turned in squares."""
    builder, spec, block = w.builder, w.spec, BLOCKS[w.spec.blocks.format]
    reader, line = Reader(builder, spec.blocks), _bytes_of(builder, w.numbers.k, block)
    start, count = _bytes_of(builder, w.first_k, block), builder.sdiv(w.k, I64(block.size))
    last = builder.sub(w.numbers.n, I64(1))
    with emit.loop(builder, w.first_tile, w.end_tile) as tile, emit.loop(builder, 0, spec.vectors) as group:
        inside = builder.mul(group.index, I64(spec.lanes))
        first = builder.add(builder.mul(tile.index, I64(spec.width)), inside)
        # Columns past the end repeat the last one: they fill lanes that are never stored.
        columns = [emit.minimum(builder, builder.add(first, I64(lane)), last) for lane in range(spec.lanes)]
        lines = [address(builder, w.source, builder.add(builder.mul(column, line), start), BYTE) for column in columns]
        panel = w.panel(tile.index)
        with emit.loop(builder, 0, count) as place:
            there = builder.mul(place.index, I64(block.nbytes))
            target = w.row_of(panel, builder.mul(place.index, I64(block.size)), inside)
            readers = [block.weights(reader, address(builder, source, there, BYTE)) for source in lines]
            row = 0
            for square in zip(*readers, strict=True):
                for value in emit.transpose(builder, list(square), emit.item_bytes(spec.item)):
                    emit.store(builder, value, address(builder, target, row * spec.width, spec.item))
                    row += 1


def across_k(w):
    """Rows of B are rows of blocks, each of which has columns of one tile or of several."""
    builder, spec, block = w.builder, w.spec, BLOCKS[w.spec.blocks.format]
    reader, line = Reader(builder, spec.blocks), _bytes_of(builder, w.numbers.n, block)
    tiles = block.size // spec.width
    first, end = builder.sdiv(w.first_tile, I64(tiles)), builder.sdiv(builder.add(w.end_tile, I64(tiles - 1)), I64(tiles))
    with emit.loop(builder, 0, w.k) as k:
        source = address(builder, w.source, builder.mul(builder.add(w.first_k, k.index), line), BYTE)
        with emit.loop(builder, first, end) as place:
            there = address(builder, source, builder.mul(place.index, I64(block.nbytes)), BYTE)
            vectors = list(block.weights(reader, there))
            for part in range(tiles):
                tile = builder.add(builder.mul(place.index, I64(tiles)), I64(part))
                with builder.if_then(_is_within(builder, tile, w.first_tile, w.end_tile)):
                    target = w.row_of(w.panel(tile), k.index)
                    for j, value in enumerate(vectors[part * spec.vectors : (part + 1) * spec.vectors]):
                        emit.store(builder, value, address(builder, target, j * spec.lanes, spec.item))


def _bytes_of(builder, count, block):
    """The bytes of so many numbers, whole blocks of them."""
    return builder.mul(builder.sdiv(count, I64(block.size)), I64(block.nbytes))


def _is_within(builder, tile, first, end):
    return builder.and_(builder.icmp_signed(">=", tile, first), builder.icmp_signed("<", tile, end))
